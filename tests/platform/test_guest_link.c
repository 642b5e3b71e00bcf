/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a virtual machine finds on its link, by the real airlock, gate and process of frames: an
 * address, a router, a resolver; and how its monitor's socket is carried.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "lock.h"
#include "machine.h"

static struct machine m;
static uint8_t frame[MACHINE_FRAME];

enum { IPV4 = 0x0800, IPV6 = 0x86dd, UDP = 17, ICMP6 = 58, RA = 134, NS = 135 };
enum { MAC_AT = 0, TYPE_AT = 12, IP_AT = 14, DHCP_AT = 42, OPTIONS_AT = DHCP_AT + 240 };

static uint16_t type_of(void)
{
	return (uint16_t)(frame[TYPE_AT] << 8 | frame[TYPE_AT + 1]);
}

/* ---- DHCP ---- */

struct ask {
	uint8_t type;
	bool broadcast;
	const char *requested;
	uint8_t mac_last;
};

static void send_dhcp(const struct ask *a)
{
	struct endpoint from = {airlock_address("0.0.0.0"), 68},
			to = {airlock_address("255.255.255.255"), 67};
	uint8_t octets[300] = {1, 1, 6, 0, 'x', 'i', 'd', '!'}, packet[400];
	struct buf b = buf_of(octets + 236, sizeof(octets) - 236);
	size_t n;

	octets[10] = a->broadcast ? 0x80 : 0;
	memcpy(octets + 28, machine_mac, 6);
	octets[33] = a->mac_last;
	buf_put_u32(&b, 0x63825363);
	buf_put(&b, (uint8_t[]){53, 1, a->type}, 3);
	if (a->requested) {
		struct addr addr = airlock_address(a->requested);

		buf_put(&b, (uint8_t[]){50, 4}, 2);
		buf_put(&b, addr_v4_octets(&addr), 4);
	}
	buf_put_u8(&b, 255);
	n = machine_udp(packet, machine_everybody, &from, &to, span_of(octets, sizeof(octets)));
	machine_send(&m, packet, n);
}

/* The next DHCP message that comes, 0 for none; others (router advertisements) pass by. */
static uint8_t hear_dhcp(int ms)
{
	int64_t until = rig_ms() + ms;
	size_t n;

	while (rig_ms() < until && (n = machine_hear(&m, frame, ms)))
		if (n > OPTIONS_AT && type_of() == IPV4 && frame[IP_AT + 9] == UDP)
			return frame[OPTIONS_AT + 2];
	return 0;
}

static const char *destination(void)
{
	static char text[INET_ADDRSTRLEN];

	return inet_ntop(AF_INET, frame + IP_AT + 16, text, sizeof(text));
}

static void address_by_dhcp(void)
{
	struct ask discover = {.type = 1, .mac_last = 2}, request = {.type = 3, .mac_last = 2};

	send_dhcp(&discover);
	CHECK(hear_dhcp(MACHINE_MS) == 2);
	/* To the offered address, which does not answer ARP yet. */
	CHECK(memcmp(frame + MAC_AT, machine_mac, 6) == 0);
	CHECK(strcmp(destination(), "192.0.0.2") == 0);
	CHECK(memcmp(frame + DHCP_AT + 16, frame + IP_AT + 16, 4) == 0);
	discover.broadcast = true;
	send_dhcp(&discover);
	CHECK(hear_dhcp(MACHINE_MS) == 2);
	CHECK(memcmp(frame + MAC_AT, machine_everybody, 6) == 0);
	CHECK(strcmp(destination(), "255.255.255.255") == 0);
	request.requested = "192.0.0.2";
	send_dhcp(&request);
	CHECK(hear_dhcp(MACHINE_MS) == 5);
	request.requested = "192.168.1.5";
	send_dhcp(&request);
	CHECK(hear_dhcp(MACHINE_MS) == 6);
	CHECK(strcmp(destination(), "255.255.255.255") == 0);
	/* For another network card there is none, and it is told nothing. */
	discover.mac_last = 3;
	send_dhcp(&discover);
	CHECK(hear_dhcp(300) == 0);
}

/* ---- the router ---- */

/* The kernel of the airlock asks who has an address of the machine's, and is told. */
static void answer_neighbour(void)
{
	uint8_t message[32] = {136, 0, 0, 0, 0x60}, packet[128];
	char own[INET6_ADDRSTRLEN];

	if (type_of() != IPV6 || frame[IP_AT + 6] != ICMP6 || frame[IP_AT + 40] != NS)
		return;
	memcpy(message + 8, frame + IP_AT + 48, 16);
	message[24] = 2;
	message[25] = 1;
	memcpy(message + 26, machine_mac, 6);
	inet_ntop(AF_INET6, frame + IP_AT + 48, own, sizeof(own));
	machine_send(&m, packet,
		     machine_icmp6(packet, machine_gate_mac, own, "fe80::1",
				   span_of(message, sizeof(message))));
}

static bool hear_advert(const uint8_t *to, int ms)
{
	int64_t until = rig_ms() + ms;

	while (rig_ms() < until && machine_hear(&m, frame, ms)) {
		answer_neighbour();
		if (type_of() == IPV6 && frame[IP_AT + 6] == ICMP6 && frame[IP_AT + 40] == RA &&
		    memcmp(frame + MAC_AT, to, 6) == 0)
			return true;
	}
	return false;
}

static void solicit(const char *own)
{
	static const uint8_t message[8] = {133}, all_routers[6] = {0x33, 0x33, 0, 0, 0, 2};
	uint8_t packet[128];

	machine_send(&m, packet,
		     machine_icmp6(packet, all_routers, own, "ff02::2", span_of(message, 8)));
}

static void router_by_advertisement(void)
{
	static const uint8_t prefix[16] = {0xfd, 0x73, 0x61, 0x6e, 0x64, 0x67, 0, 1};
	static const uint8_t all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1};
	int64_t until = rig_ms() + 2 * MACHINE_MS;

	/* Without an address of its own: everybody is told, three seconds after the last time. */
	solicit("::");
	CHECK(hear_advert(all_nodes, MACHINE_MS));
	CHECK(frame[IP_AT + 7] == 255 && frame[IP_AT + 8] == 0xfe && frame[IP_AT + 9] == 0x80);
	CHECK(memcmp(frame + IP_AT + 40 + 16 + 16, prefix, 16) == 0);
	/* With one it is told alone, unless everybody is to be told just then. */
	do {
		CHECK(rig_ms() < until);
		solicit("fe80::73:67ff:fe00:2");
	} while (!hear_advert(machine_mac, 1000));
}

/* ---- the resolver, from both addresses ---- */

static void ask_resolver(const char *src, const char *dst)
{
	static const uint8_t question[] =
		"\0\7\1\0\0\1\0\0\0\0\0\0\4host\10sandgate\10internal\0\0\1\0\1";
	struct endpoint from = {airlock_address(src), 40000}, to = {airlock_address(dst), 53};
	bool v4 = addr_is_v4(&from.addr);
	int64_t until = rig_ms() + MACHINE_MS;
	size_t n = machine_udp(frame, machine_gate_mac, &from, &to,
			       span_of(question, sizeof(question) - 1));
	size_t head = v4 ? IP_AT + 28 : IP_AT + 48;

	machine_send(&m, frame, n);
	while (rig_ms() < until && (n = machine_hear(&m, frame, MACHINE_MS))) {
		answer_neighbour();
		if (n > head + 16 && frame[head] == 0 && frame[head + 1] == 7)
			break;
	}
	/* NOERROR, and the gate's address at the end of the answer section. */
	CHECK((frame[head + 3] & 15) == 0 && frame[head + 7] == 1);
	CHECK(memmem(frame, n, (uint8_t[]){192, 0, 0, 1}, 4));
}

static void configures_itself(enum frames_kind kind)
{
	struct airlock_counters counted;

	machine_begin(&m, kind, 0);
	address_by_dhcp();
	router_by_advertisement();
	/* What the gate says to everybody is no frame of the machine's. */
	CHECK(airlock_read_counters(&lock, &counted) == 0 && counted.noise == 0);
	ask_resolver("192.0.0.2", "192.0.0.1");
	ask_resolver("fd73:616e:6467:1:73:67ff:fe00:2", "fd73:616e:6467:1::1");
	machine_end(&m);
}

static void machine_configures_itself(void)
{
	configures_itself(FRAMES_STREAM);
}
AS_ROOT(machine_configures_itself)
AS_USER(machine_configures_itself)

static void machine_by_datagrams(void)
{
	configures_itself(FRAMES_DGRAM);
}
AS_ROOT(machine_by_datagrams)
AS_USER(machine_by_datagrams)

/* ---- the sockets ---- */

static void is_private(void)
{
	struct stat st;

	CHECK(lstat(m.path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
}

static void lengths_of_frames(void)
{
	const struct frames_counters *c;
	static uint8_t octets[MACHINE_FRAME];
	struct err said;
	char end;

	machine_begin(&m, FRAMES_STREAM, 0);
	c = m.frames.counters;
	is_private();
	memcpy(octets, machine_gate_mac, 6);
	memcpy(octets + 6, machine_mac, 6);
	machine_send(&m, octets, 14);
	machine_send(&m, octets, 1514);
	machine_await(&c->out, 2);
	machine_send(&m, octets, 0);
	machine_send(&m, octets, 13);
	machine_send(&m, octets, 1515);
	machine_send(&m, octets, 69632);
	machine_await(&c->refused, 4);
	CHECK(frames_link_refused(&m.frames) == 4);
	/* Still the same connection; a length that is none ends it, and only that. */
	machine_send(&m, octets, 60);
	machine_await(&c->out, 3);
	machine_send_raw(&m, "\0\1\x10\1", 4);
	while (recv(m.wire, &end, 1, 0) == 1)
		;
	CHECK(frames_link_refused(&m.frames) == 5);
	CHECK(frames_link_hear(&m.frames, &said) && strstr(said.text, " 69633 octets"));
	close(m.wire);
	m.wire = machine_connect(&m);
	machine_send(&m, octets, 60);
	machine_await(&c->out, 4);
	machine_end(&m);
}
AS_ROOT(lengths_of_frames)
AS_USER(lengths_of_frames)

static void long_frames(void)
{
	static uint8_t octets[MACHINE_FRAME];

	machine_begin(&m, FRAMES_STREAM, 65520);
	machine_send(&m, octets, 65534);
	machine_await(&m.frames.counters->out, 1);
	machine_send(&m, octets, 65535);
	machine_await(&m.frames.counters->refused, 1);
	address_by_dhcp();
	machine_end(&m);
}
AS_ROOT(long_frames)

/* In pieces, as a stream may deliver them; and several at once. */
static void cut_anywhere(void)
{
	uint8_t octets[3 * 64] = {0};

	machine_begin(&m, FRAMES_STREAM, 0);
	for (int i = 0; i < 3; i++)
		octets[i * 64 + 3] = 60;
	for (size_t i = 0; i < sizeof(octets); i++)
		machine_send_raw(&m, octets + i, 1);
	machine_await(&m.frames.counters->out, 3);
	machine_send_raw(&m, octets, sizeof(octets));
	machine_await(&m.frames.counters->out, 6);
	machine_end(&m);
}
AS_ROOT(cut_anywhere)

/* One at a time; the next waits for the first one's end. */
static void one_client_at_a_time(void)
{
	uint8_t octets[60] = {0};
	int first;

	machine_begin(&m, FRAMES_STREAM, 0);
	machine_send(&m, octets, sizeof(octets));
	machine_await(&m.frames.counters->out, 1);
	first = m.wire;
	m.wire = machine_connect(&m);
	machine_send(&m, octets, sizeof(octets));
	poll(NULL, 0, 50);
	CHECK(m.frames.counters->out == 1);
	close(first);
	machine_await(&m.frames.counters->out, 2);
	address_by_dhcp();
	machine_end(&m);
}
AS_ROOT(one_client_at_a_time)

/* What a monitor that does not read is sent is lost at the device, and kept nowhere. */
static void does_not_read(void)
{
	struct ask discover = {.type = 1, .mac_last = 2};
	static uint8_t packet[MACHINE_FRAME];
	struct endpoint from = {airlock_address("192.0.0.2"), 40000},
			to = {airlock_address("192.0.0.1"), 53};
	size_t n = machine_udp(packet, machine_gate_mac, &from, &to,
			       span_of("\0\7\1\0\0\1\0\0\0\0\0\0\0\0\1\0\1", 17));

	machine_begin(&m, FRAMES_STREAM, 0);
	for (unsigned i = 1; i <= 20000; i++)
		machine_send(&m, packet, n);
	machine_await(&m.frames.counters->out, 20000);
	CHECK(m.frames.counters->in < 20000);
	while (machine_hear(&m, frame, 300))
		;
	send_dhcp(&discover);
	CHECK(hear_dhcp(MACHINE_MS) == 2);
	machine_end(&m);
}
AS_ROOT(does_not_read)

static void kill_frames(void)
{
	struct err how;

	CHECK(kill(m.frames.process.pid, SIGKILL) == 0);
	process_link_bury(&m.frames.process, &how);
	CHECK(strstr(how.text, "signal 9"));
}

/* The next process serves the next client, with the same device and the same counters. */
static void process_is_replaced(enum frames_kind kind)
{
	uint8_t octets[60] = {0};
	struct err e;

	machine_begin(&m, kind, 0);
	machine_send(&m, octets, sizeof(octets));
	machine_await(&m.frames.counters->out, 1);
	kill_frames();
	CHECK(frames_link_start(&m.frames, &m.setup, &e) == 0);
	if (kind == FRAMES_STREAM) {
		close(m.wire);
		m.wire = machine_connect(&m);
	}
	machine_send(&m, octets, sizeof(octets));
	machine_await(&m.frames.counters->out, 2);
	address_by_dhcp();
	machine_end(&m);
}

static void stream_is_replaced(void)
{
	process_is_replaced(FRAMES_STREAM);
}
AS_ROOT(stream_is_replaced)

static void datagrams_are_replaced(void)
{
	process_is_replaced(FRAMES_DGRAM);
}
AS_ROOT(datagrams_are_replaced)

/* ---- datagrams ---- */

static int bind_as(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", m.folder, name);
	unlink(a.sun_path);
	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	return fd;
}

static ssize_t send_from(int fd, const void *p, size_t n)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	strcpy(to.sun_path, m.path);
	return sendto(fd, p, n, 0, (struct sockaddr *)&to, sizeof(to));
}

static void remove_in_folder(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", m.folder, name);
	CHECK(unlink(path) == 0);
}

/* The first one is the machine: the kernel refuses what others send, until it has gone. */
static void stranger_is_refused(void)
{
	uint8_t octets[60] = {0};
	int stranger;

	machine_begin(&m, FRAMES_DGRAM, 0);
	is_private();
	machine_send(&m, octets, sizeof(octets));
	machine_await(&m.frames.counters->out, 1);
	stranger = bind_as("stranger");
	CHECK(send_from(stranger, octets, sizeof(octets)) < 0 && errno == EPERM);
	CHECK(m.frames.counters->out == 1);
	close(m.wire);
	for (int64_t until = rig_ms() + MACHINE_MS;
	     send_from(stranger, octets, sizeof(octets)) < 0;) {
		CHECK(errno == EPERM && rig_ms() < until);
		poll(NULL, 0, 20);
	}
	machine_await(&m.frames.counters->out, 2);
	m.wire = stranger;
	CHECK(connect(stranger, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNSPEC},
		      sizeof(struct sockaddr_un)) == 0);
	remove_in_folder("stranger");
	machine_end(&m);
}
AS_ROOT(stranger_is_refused)
AS_USER(stranger_is_refused)

/* One that cannot be answered is nobody; lengths are checked as on a stream. */
static void datagrams_of_wrong_length(void)
{
	static uint8_t octets[MACHINE_FRAME];
	const struct frames_counters *c;
	struct err said;
	int nameless;

	machine_begin(&m, FRAMES_DGRAM, 0);
	c = m.frames.counters;
	nameless = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(send_from(nameless, octets, 60) == 60);
	machine_await(&c->refused, 1);
	CHECK(frames_link_hear(&m.frames, &said) && strstr(said.text, "cannot be sent to"));
	/* The first word of some monitors, to be known by. */
	machine_send(&m, "VFKT", 4);
	machine_await(&c->refused, 2);
	machine_send(&m, octets, 13);
	machine_send(&m, octets, 1515);
	machine_send(&m, octets, 65000);
	machine_await(&c->refused, 5);
	machine_send(&m, octets, 14);
	machine_send(&m, octets, 1514);
	machine_await(&c->out, 2);
	machine_end(&m);
}
AS_ROOT(datagrams_of_wrong_length)

/* ---- the socket file ---- */

static void file_of_the_socket(void)
{
	struct frames_socket s, other;
	char folder[] = "/tmp/sandgate-XXXXXX", path[64], text[256];
	struct err e;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s", folder);
	CHECK(frames_socket_open(&s, FRAMES_STREAM, path, &e) == 0);
	CHECK(frames_socket_open(&other, FRAMES_STREAM, path, &e) == -1 && other.fd == -1);
	CHECK(strstr(e.text, "take another path"));
	/* A supervisor that was killed leaves its file behind. */
	close(s.fd);
	CHECK(frames_socket_open(&other, FRAMES_DGRAM, path, &e) == 0);
	frames_socket_close(&other);
	CHECK(access(path, F_OK) < 0);
	/* Never what is no socket, and never another one's. */
	rig_sh((snprintf(text, sizeof(text), "echo mine > %s", path), text));
	CHECK(frames_socket_open(&other, FRAMES_STREAM, path, &e) == -1);
	CHECK(unlink(path) == 0 && frames_socket_open(&s, FRAMES_STREAM, path, &e) == 0);
	CHECK(unlink(path) == 0);
	rig_sh(text);
	frames_socket_close(&s);
	CHECK(access(path, F_OK) == 0 && unlink(path) == 0 && rmdir(folder) == 0);
	memset(text, 'a', 200);
	text[200] = '\0';
	CHECK(frames_socket_open(&s, FRAMES_STREAM, text, &e) == -1 && strstr(e.text, "shorter"));
	CHECK(frames_socket_open(&s, FRAMES_STREAM, "", &e) == -1);
}
AS_ROOT(file_of_the_socket)
AS_USER(file_of_the_socket)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_configures_itself_as_root),
		cmocka_unit_test(machine_configures_itself_as_user),
		cmocka_unit_test(machine_by_datagrams_as_root),
		cmocka_unit_test(machine_by_datagrams_as_user),
		cmocka_unit_test(lengths_of_frames_as_root),
		cmocka_unit_test(lengths_of_frames_as_user),
		cmocka_unit_test(long_frames_as_root),
		cmocka_unit_test(cut_anywhere_as_root),
		cmocka_unit_test(one_client_at_a_time_as_root),
		cmocka_unit_test(does_not_read_as_root),
		cmocka_unit_test(stream_is_replaced_as_root),
		cmocka_unit_test(datagrams_are_replaced_as_root),
		cmocka_unit_test(stranger_is_refused_as_root),
		cmocka_unit_test(stranger_is_refused_as_user),
		cmocka_unit_test(datagrams_of_wrong_length_as_root),
		cmocka_unit_test(file_of_the_socket_as_root),
		cmocka_unit_test(file_of_the_socket_as_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
