/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole gate as a hostile sandbox meets it: any packets in any order, each run of them on top
 * of what the runs before have left. The gate stands in a network namespace of its own in which
 * nothing is up, so that what it dials goes nowhere.
 *
 * An input is a run of packets, each with two octets of length before it. Octets that would make
 * a packet "not from the sandbox" are put right, or the fuzzer would spend its life there. A length
 * of CHANGE and above is a change of the policy: to one of a few, under which all that is open is
 * judged again.
 */
#include "base/span.h"
#include "gate/dispatch.h"
#include "gate_world.h"

enum { PACKETS_MAX = 64, PACKET_OCTETS = 2048, CHANGE = 0xff00, FLOWS_MAX = 4096 };

static const char *const policies[] = {
	"{\"version\":1,\"network\":\"any\"}",
	"{\"version\":1,\"network\":\"open\",\"deny\":[\"a.example.com\",\"93.184.7.0/24\"]}",
	"{\"version\":1,\"network\":\"deny\",\"allow\":[\"*.example.com\",\"93.184.0.0/16\"],"
	"\"quic\":\"allow\"}",
	"{\"version\":1,\"network\":\"deny\",\"dns_answers\":\"synthetic\",\"allow\":[\"*.example.com\"],"
	"\"limits\":{\"wildcard_names_per_minute\":2}}",
	"{\"version\":1,\"network\":\"deny\",\"host_ports\":[5432]}",
};

static struct ruleset *make_rules(void)
{
	static const char *const allow[] = {"*.example.com", "93.184.0.0/16", "2a00::/16",
					    "db.example.net:*"};
	struct policy p;
	struct err e;

	policy_init(&p);
	if (policy_set_network(&p, "deny", &e) != 0)
		abort();
	for (size_t i = 0; i < sg_array_len(allow); i++)
		if (policy_add_item(&p, NULL, EFFECT_ALLOW, allow[i], &e) != 0)
			abort();
	p.quic_allow = true;
	p.limits.flows = 256;
	return ruleset_compile(&p, 1, &e);
}

static void begin(void)
{
	begin_gate(make_rules());
	make_policies(policies, sg_array_len(policies));
}

/* The sandbox's address and, for IPv4, a header checksum that holds. */
static void put_right(uint8_t *p, size_t n)
{
	uint32_t sum = 0;

	if (n >= 40 && p[0] >> 4 == 6)
		memcpy(p + 8, gate.sandbox_v6.addr.b, 16);
	if (n < 20 || p[0] >> 4 != 4)
		return;
	memcpy(p + 12, addr_v4_octets(&gate.sandbox_v4), 4);
	p[10] = p[11] = 0;
	for (size_t i = 0; i < (size_t)(p[0] & 15) * 4 && i + 1 < n; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	p[10] = (uint8_t)(~sum >> 8);
	p[11] = (uint8_t)~sum;
}

/* What the gate answered must be packets, and is thrown away. */
static void read_answers(void)
{
	static uint8_t octets[IP_PACKET_MAX];
	struct packet p;
	ssize_t n;

	while ((n = recv(tun_far_end, octets, sizeof(octets), MSG_DONTWAIT)) > 0)
		if (packet_parse(span_of(octets, (size_t)n), &p) != PACKET_OK)
			abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	begin();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(span_of(data, size));

	if (!gate.loop)
		begin();
	for (int i = 0; i < PACKETS_MAX && reader_left(&r); i++) {
		uint16_t n = reader_u16(&r);
		struct span s = reader_take(&r, n < CHANGE ? n % PACKET_OCTETS : 0);
		uint8_t octets[PACKET_OCTETS];

		if (n >= CHANGE) {
			change_policy(n - CHANGE);
			read_answers();
			continue;
		}
		memcpy(octets, s.p, s.n);
		put_right(octets, s.n);
		dispatch_packet(&gate, span_of(octets, s.n));
		read_answers();
	}
	dispatch_run_end(&gate);
	turn();
	read_answers();
	if (flows_open(gate.flows) > FLOWS_MAX)
		abort();
	return 0;
}
