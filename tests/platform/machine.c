/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gate/ip.h"
#include "lock.h"
#include "policy/policy.h"

const uint8_t machine_mac[6] = {0x02, 's', 'g', 0, 0, 2};
const uint8_t machine_gate_mac[6] = {0x02, 's', 'g', 0, 0, 1};
const uint8_t machine_everybody[6] = {255, 255, 255, 255, 255, 255};

enum { ICMPV6_HOPS_AT = 7 };

static struct ruleset *nothing_admitted(void)
{
	static const char yaml[] = "network: deny\n";
	struct ruleset *rules;
	struct policy p;
	struct err e;

	CHECK(policy_parse(span_of_string(yaml), POLICY_YAML, "test", &p, &e) == 0);
	rules = ruleset_compile(&p, 1, &e);
	CHECK(rules);
	policy_free(&p);
	return rules;
}

static void begin_gate(struct machine *m)
{
	static struct host_prefixes host;
	static struct resolver_config resolver = {.timeout_ms = 100, .tries = 1};
	struct gate_setup s = {
		.sandbox = "box",
		.tun = lock.gate.tun,
		.listen_v4 = lock.gate.listen_v4,
		.listen_v6 = lock.gate.listen_v6,
		.dhcp = lock.gate.dhcp,
		.router = lock.gate.router,
		.guest_mtu = m->setup.mtu,
		.door = -1,
		.verdicts = -1,
		.wake = -1,
		.host = &host,
		.resolver = &resolver,
		.rules = nothing_admitted(),
	};
	struct err e = {""};

	memcpy(s.guest_mac, machine_mac, sizeof(machine_mac));
	m->gate = GATE_LINK_NONE;
	if (gate_link_start(&m->gate, &s, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		CHECK(!"gate_link_start");
	}
	airlock_close_gate_fds(&lock.gate);
}

static void begin_frames(struct machine *m)
{
	struct err e = {""};

	strcpy(m->folder, "/tmp/sandgate-XXXXXX");
	CHECK(mkdtemp(m->folder));
	snprintf(m->path, sizeof(m->path), "%s/frames", m->folder);
	m->frames = FRAMES_LINK_NONE;
	m->setup.tap = lock.tap;
	if (frames_socket_open(&m->socket, m->setup.kind, m->path, &e) == 0) {
		m->setup.socket = m->socket.fd;
		if (frames_link_start(&m->frames, &m->setup, &e) == 0)
			return;
	}
	fprintf(stderr, "%s\n", e.text);
	CHECK(!"frames");
}

void machine_begin(struct machine *m, enum frames_kind kind, uint32_t mtu)
{
	struct airlock_config c = {.link = AIRLOCK_TAP, .mtu = mtu};
	struct err e = {""};

	m->setup = (struct frames_setup){.kind = kind, .mtu = mtu ? mtu : AIRLOCK_TAP_MTU};
	if (airlock_open(&c, &lock, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		CHECK(!"airlock_open");
	}
	begin_gate(m);
	begin_frames(m);
	m->wire = machine_connect(m);
}

void machine_end(struct machine *m)
{
	char peer[96];

	frames_socket_close(&m->socket);
	snprintf(peer, sizeof(peer), "%s/peer", m->folder);
	unlink(peer);
	CHECK(rmdir(m->folder) == 0);
}

static struct sockaddr_un address_of(const char *folder, const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", folder, name);
	return a;
}

int machine_connect(const struct machine *m)
{
	bool stream = m->setup.kind == FRAMES_STREAM;
	struct sockaddr_un to = address_of(m->folder, "frames"),
			   own = address_of(m->folder, "peer");
	int fd = socket(AF_UNIX, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	if (!stream) {
		unlink(own.sun_path);
		CHECK(bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0);
	}
	CHECK(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	return fd;
}

void machine_send_raw(const struct machine *m, const void *p, size_t n)
{
	CHECK(send(m->wire, p, n, MSG_NOSIGNAL) == (ssize_t)n);
}

void machine_send(struct machine *m, const void *frame, size_t n)
{
	uint32_t length = htonl((uint32_t)n);

	if (m->setup.kind == FRAMES_STREAM)
		machine_send_raw(m, &length, sizeof(length));
	machine_send_raw(m, frame, n);
}

static size_t hear_stream(const struct machine *m, uint8_t *frame)
{
	uint32_t length = 0;

	CHECK(recv(m->wire, &length, sizeof(length), MSG_WAITALL) == sizeof(length));
	length = ntohl(length);
	CHECK(length <= MACHINE_FRAME);
	CHECK(recv(m->wire, frame, length, MSG_WAITALL) == (ssize_t)length);
	return length;
}

size_t machine_hear(struct machine *m, uint8_t *frame, int ms)
{
	struct pollfd p = {.fd = m->wire, .events = POLLIN};
	ssize_t n;

	if (poll(&p, 1, ms) != 1)
		return 0;
	if (m->setup.kind == FRAMES_STREAM)
		return hear_stream(m, frame);
	n = recv(m->wire, frame, MACHINE_FRAME, 0);
	CHECK(n > 0);
	return (size_t)n;
}

static struct buf begin_frame(uint8_t *frame, const uint8_t *to, bool v4)
{
	struct buf b = buf_of(frame, MACHINE_FRAME);

	buf_put(&b, to, 6);
	buf_put(&b, machine_mac, 6);
	buf_put_u16(&b, v4 ? 0x0800 : 0x86dd);
	return b;
}

size_t machine_udp(uint8_t *frame, const uint8_t *to, const struct endpoint *src,
		   const struct endpoint *dst, struct span payload)
{
	struct buf b = begin_frame(frame, to, addr_is_v4(&src->addr));

	packet_build_udp(&b, src, dst, payload);
	CHECK(!b.full);
	return b.n;
}

size_t machine_icmp6(uint8_t *frame, const uint8_t *to, const char *src, const char *dst,
		     struct span message)
{
	struct addr from = airlock_address(src), at = airlock_address(dst);
	struct buf b = begin_frame(frame, to, false);

	packet_build_icmp(&b, &from, &at, message);
	CHECK(!b.full);
	frame[14 + ICMPV6_HOPS_AT] = 255;
	return b.n;
}

void machine_await(const volatile uint64_t *counter, uint64_t value)
{
	for (int64_t until = rig_ms() + MACHINE_MS; *counter < value;) {
		if (rig_ms() > until)
			fprintf(stderr, "%lu of %lu\n", (unsigned long)*counter,
				(unsigned long)value);
		CHECK(rig_ms() < until);
		poll(NULL, 0, 1);
	}
	CHECK(*counter == value);
}
