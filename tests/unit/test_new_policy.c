/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_policy: the "policy" request as the supervisor sends it, what is refused of it, and what the
 * next lookup, datagram and flow meet after it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gate_rig.h"
#include "upstream.h"

static struct rig rig;

static int end(void **state)
{
	rig_end(&rig);
	return 0;
}

/* ---- the message ---- */

static int memory_with(const char *text, int seals)
{
	int fd = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

enum { ALL_SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL };

static void send_with(const char *text, const int *fds, size_t n)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(4 * sizeof(int))];
	} control = {0};
	struct iovec v = {(void *)text, strlen(text)};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (n) {
		m.msg_control = control.octets;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	assert_int_equal(sendmsg(rig.control, &m, 0), (ssize_t)strlen(text));
}

/* Descriptors of this process: what a message leaves open shows. */
static unsigned count_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* The answer to a request with these descriptors, which are closed; NULL: "ok". */
static char *ask(const char *text, const int *fds, size_t n)
{
	static char why[1024];
	unsigned before;
	json_t *m;
	ssize_t got;

	send_with(text, fds, n);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	before = count_open();
	rig_turns(&rig, 2);
	got = recv(rig.control, why, sizeof(why), MSG_DONTWAIT);
	assert_true(got > 0);
	assert_int_equal(count_open(), before);
	m = json_loadb(why, (size_t)got, 0, NULL);
	assert_non_null(m);
	snprintf(why, sizeof(why), "%s", json_string_value(json_object_get(m, "why")) ?: "");
	if (json_is_true(json_object_get(m, "ok"))) {
		json_decref(m);
		return NULL;
	}
	json_decref(m);
	return why;
}

static char *ask_policy(int fd, uint64_t generation)
{
	char text[96];

	snprintf(text, sizeof(text), "{\"op\":\"policy\",\"generation\":%llu}",
		 (unsigned long long)generation);
	return ask(text, &fd, fd >= 0);
}

static char *wire_of(const char *yaml)
{
	struct policy p = rig_policy(yaml);
	char *wire = policy_print_wire(&p);

	assert_non_null(wire);
	policy_free(&p);
	return wire;
}

static bool admits(const char *addr)
{
	struct endpoint to = {.addr = rig_addr(addr), .port = 22};
	struct judged j;

	judge_destination(rig.gate, &to, PROTO_TCP, &j);
	return j.kind == JUDGED_FORWARD;
}

static void expect_refused(char *why, const char *piece)
{
	if (!why)
		fail_msg("it was taken");
	if (!strstr(why, piece))
		fail_msg("why: %s", why);
	assert_int_equal(ruleset_generation(rig.gate->rules), 1);
	assert_true(admits("93.184.0.1"));
	assert_false(admits("93.184.0.2"));
}

static void a_policy_is_taken_whole(void **state)
{
	char *wire = wire_of("network: deny\nallow: [93.184.0.2]\nlimits: {flows: 7}\n");

	rig_begin(&rig, "network: deny\nallow: [93.184.0.1]\n");
	assert_null(ask_policy(memory_with(wire, ALL_SEALS), 2));
	assert_int_equal(ruleset_generation(rig.gate->rules), 2);
	assert_false(admits("93.184.0.1"));
	assert_true(admits("93.184.0.2"));
	assert_int_equal(ruleset_policy(rig.gate->rules)->limits.flows, 7);
	free(wire);
}

static void a_policy_in_a_file_that_can_change_is_refused(void **state)
{
	static const int too_few[] = {0, F_SEAL_WRITE, F_SEAL_WRITE | F_SEAL_GROW,
				      F_SEAL_WRITE | F_SEAL_SHRINK, F_SEAL_GROW | F_SEAL_SHRINK};
	char *wire = wire_of("network: deny\nallow: [93.184.0.2]\n");

	rig_begin(&rig, "network: deny\nallow: [93.184.0.1]\n");
	for (size_t i = 0; i < sg_array_len(too_few); i++)
		expect_refused(ask_policy(memory_with(wire, too_few[i]), 2), "not sealed");
	free(wire);
}

static void a_policy_that_is_no_memory_file_is_refused(void **state)
{
	int pipes[2];

	rig_begin(&rig, "network: deny\nallow: [93.184.0.1]\n");
	expect_refused(ask_policy(-1, 2), "");
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	expect_refused(ask_policy(pipes[0], 2), "not in a memory file");
	close(pipes[1]);
	expect_refused(ask_policy(open("/dev/zero", O_RDONLY | O_CLOEXEC), 2),
		       "not in a memory file");
}

static void a_policy_of_no_or_too_many_octets_is_refused(void **state)
{
	int fd = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	rig_begin(&rig, "network: deny\nallow: [93.184.0.1]\n");
	expect_refused(ask_policy(memory_with("", ALL_SEALS), 2), "octets long");
	assert_int_equal(ftruncate(fd, (off_t)POLICY_WIRE_MAX + 1), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, ALL_SEALS), 0);
	expect_refused(ask_policy(fd, 2), "octets long");
}

static void a_policy_that_does_not_parse_or_compile_is_refused(void **state)
{
	static const char *const broken[] = {
		"{",
		"[]",
		"not json",
		"{\"network\":\"deny\",\"allow\":[\"*.com\"]}",
		"{\"network\":\"nowhere\"}",
		"{\"network\":\"any\",\"allow\":[\"a.example\"],\"resolved\":7}",
	};

	rig_begin(&rig, "network: deny\nallow: [93.184.0.1]\n");
	for (size_t i = 0; i < sg_array_len(broken); i++)
		expect_refused(ask_policy(memory_with(broken[i], ALL_SEALS), 2), "");
	/* A cut one is not a shorter one. */
	for (size_t n = 1; n < 40; n++) {
		char *wire = wire_of("network: deny\nallow: [93.184.0.2]\n");

		wire[strlen(wire) - n] = 0;
		expect_refused(ask_policy(memory_with(wire, ALL_SEALS), 2), "");
		free(wire);
	}
}

static void generations_only_rise(void **state)
{
	char *wire = wire_of("network: deny\nallow: [93.184.0.2]\n");

	rig_begin(&rig, "network: deny\nallow: [93.184.0.1]\n");
	expect_refused(ask_policy(memory_with(wire, ALL_SEALS), 1), "not after");
	expect_refused(ask_policy(memory_with(wire, ALL_SEALS), 0), "generation");
	free(wire);
}

/* One descriptor, and only with the request that is made for one; none of the others stays open. */
static void no_other_descriptor_is_taken(void **state)
{
	char *wire = wire_of("network: deny\nallow: [93.184.0.2]\n");
	int three[3];

	rig_begin(&rig, "network: deny\nallow: [93.184.0.1]\n");
	three[0] = memory_with(wire, ALL_SEALS);
	expect_refused(ask("{\"op\":\"status\"}", three, 1), "");
	three[0] = memory_with("junk", ALL_SEALS);
	three[1] = memory_with(wire, ALL_SEALS);
	three[2] = memory_with(wire, ALL_SEALS);
	expect_refused(ask("{\"op\":\"policy\",\"generation\":2}", three, 3), "");
	three[0] = memory_with(wire, ALL_SEALS);
	expect_refused(ask("{\"op\":\"nonsense\"}", three, 1), "");
	free(wire);
}

/* ---- lookups ---- */

static struct upstream upstream;
static unsigned rcode, answers;
static unsigned replies;

static bool answer_zone(struct upstream *u, const struct dns_query *q, bool tcp, struct wire *w)
{
	bool two = strncmp(u->last, "mixed.", 6) == 0;

	upstream_begin(w, q, 0, two ? 2 : 1, 0);
	upstream_put(w, DNS_A, 300, "\x5d\xb8\0\1", 4);
	if (two)
		upstream_put(w, DNS_A, 300, "\x0a\0\0\5", 4);
	return true;
}

static void begin_with_dns(const char *yaml)
{
	struct resolver_config rc = {.timeout_ms = 1000, .tries = 2, .n_servers = 1};

	rig_begin(&rig, yaml);
	upstream_open(&upstream, rig.gate->loop, answer_zone);
	rc.servers[0] = upstream.at;
	assert_int_equal(resolver_configure(rig.gate->resolver, &rc), 0);
}

static int end_with_dns(void **state)
{
	upstream_close(&upstream);
	return end(state);
}

/* Asks over the tun device, and waits for the reply. */
static void lookup(const char *name)
{
	struct endpoint from = {rig.gate->sandbox_v4, 4242}, to = {rig_addr("9.9.9.9"), 53};
	static struct wire w;
	uint8_t octets[2048];
	struct buf b = buf_of(octets, sizeof(octets));
	struct wire_reply reply;
	struct packet p;
	ssize_t n = -1;

	wire_header(&w, 0x77, 0x0100, 1, 0, 0, 0);
	wire_question(&w, name, DNS_A);
	packet_build_udp(&b, &from, &to, span_of(w.octets, w.b.n));
	dispatch_packet(rig.gate, buf_span(&b));
	for (int i = 0; i < 4000 && n < 0; i++) {
		rig_turns(&rig, 1);
		n = recv(rig.tun, octets, sizeof(octets), MSG_DONTWAIT);
		if (n < 0)
			usleep(500);
	}
	assert_true(n > 0);
	assert_int_equal(packet_parse(span_of(octets, (size_t)n), &p), PACKET_OK);
	wire_read(p.payload, &reply);
	rcode = reply.rcode;
	answers = reply.answers;
	replies++;
}

static void change(const char *yaml, uint64_t generation)
{
	struct err e;

	if (rig_change(&rig, yaml, generation, &e) != 0)
		fail_msg("%s", e.text);
}

static void a_name_that_is_allowed_now_is_answered_at_once(void **state)
{
	static const char *const refusals[] = {"refused", "nxdomain"};

	for (size_t i = 0; i < 2; i++) {
		char before[96], after[128];

		snprintf(before, sizeof(before), "network: deny\ndns_refusal: %s\n", refusals[i]);
		snprintf(after, sizeof(after), "%sallow: [www.example.com]\n", before);
		begin_with_dns(before);
		lookup("www.example.com");
		assert_int_equal(rcode, i == 0 ? DNS_REFUSED : DNS_NXDOMAIN);
		change(after, 2);
		lookup("www.example.com");
		assert_int_equal(rcode, DNS_NOERROR);
		assert_int_equal(answers, 1);
		if (i == 0)
			end_with_dns(NULL);
	}
}

static void a_name_that_is_denied_now_is_not_answered_from_memory(void **state)
{
	begin_with_dns("network: deny\nallow: [www.example.com]\n");
	lookup("www.example.com");
	assert_int_equal(answers, 1);
	change("network: deny\nallow: [other.example.com]\n", 2);
	lookup("www.example.com");
	assert_int_equal(rcode, DNS_REFUSED);
	assert_int_equal(answers, 0);
	change("network: deny\nallow: [www.example.com]\ndns: off\n", 3);
	lookup("www.example.com");
	assert_int_equal(rcode, DNS_REFUSED);
}

/* A kept answer was vetted by the policy before: what it withheld is shown now, and back. */
static void what_was_withheld_from_a_kept_answer_is_asked_for_again(void **state)
{
	begin_with_dns("network: deny\nallow: [mixed.example.com]\n");
	lookup("mixed.example.com");
	assert_int_equal(answers, 1);
	change("network: deny\nallow: [mixed.example.com, 10.0.0.0/8]\n", 2);
	lookup("mixed.example.com");
	assert_int_equal(answers, 2);
	change("network: deny\nallow: [mixed.example.com]\n", 3);
	lookup("mixed.example.com");
	assert_int_equal(answers, 1);
}

/* The limit of names is the new policy's; a wildcard that is gone admits nothing. */
static void wildcards_follow_the_policy(void **state)
{
	static const char two[] = "network: deny\nallow: ['*.w.example.com']\n"
				  "limits: {wildcard_names_per_minute: 2}\n";
	static const char three[] = "network: deny\nallow: ['*.w.example.com']\n"
				    "limits: {wildcard_names_per_minute: 3}\n";

	begin_with_dns(two);
	lookup("a.w.example.com");
	lookup("b.w.example.com");
	assert_int_equal(rcode, DNS_NOERROR);
	lookup("c.w.example.com");
	assert_int_equal(rcode, DNS_REFUSED);
	change(three, 2);
	lookup("c.w.example.com");
	assert_int_equal(rcode, DNS_NOERROR);
	lookup("d.w.example.com");
	assert_int_equal(rcode, DNS_REFUSED);
	change("network: deny\nallow: ['*.v.example.com']\n", 3);
	lookup("a.w.example.com");
	assert_int_equal(rcode, DNS_REFUSED);
	lookup("a.v.example.com");
	assert_int_equal(rcode, DNS_NOERROR);
	change(two, 4);
	lookup("e.w.example.com"); /* within the same minute: what was asked still counts */
	assert_int_equal(rcode, DNS_REFUSED);
}

/* ---- datagrams, and the limits of flows ---- */

/* The next packet that the sandbox is sent; false when there is none. */
static bool next_packet(struct packet *p)
{
	static uint8_t octets[4096];
	ssize_t n = recv(rig.tun, octets, sizeof(octets), MSG_DONTWAIT);

	if (n <= 0)
		return false;
	assert_int_equal(packet_parse(span_of(octets, (size_t)n), p), PACKET_OK);
	return true;
}

static void an_exchange_of_datagrams_ends_with_its_permission(void **state)
{
	uint16_t port;
	int server;
	struct record got;
	struct packet p;

	rig_begin(&rig, "network: any\n");
	server = rig_udp_server(&port);
	rig_send_datagram(&rig, "127.0.0.1", port, "one");
	rig_expect_datagram(server, "one");
	/* A change that is not about it leaves it alone: the same socket goes on. */
	change("network: any\ndeny: [tracker.example]\n", 2);
	rig_send_datagram(&rig, "127.0.0.1", port, "three");
	rig_expect_datagram(server, "three");
	assert_int_equal(rig.gate->counters->flows_opened, 1);
	while (rig_record(&rig, &got))
		assert_int_equal(got.kind, RECORD_ALLOW);
	assert_false(next_packet(&p));
	change("network: open\n", 3);
	assert_int_equal(datagrams_open(rig.gate->datagrams), 0);
	assert_true(next_packet(&p));
	assert_int_equal(p.proto, IP_ICMP);
	assert_int_equal(p.payload.p[0], 3); /* unreachable: administratively prohibited */
	assert_int_equal(p.payload.p[1], 13);
	assert_true(rig_record(&rig, &got));
	assert_int_equal(got.kind, RECORD_DENY);
	assert_int_equal(got.proto, RECORD_UDP);
	assert_int_equal(got.reason, REASON_SPECIAL_ADDRESS);
	assert_int_equal(got.generation, 3);
	assert_true(rig_record(&rig, &got));
	assert_int_equal(got.kind, RECORD_END);
	assert_int_equal(got.bytes_out, 8);
	close(server);
}

/* More flows than the policy of the start allowed find a place when another policy allows them. */
static void the_limit_of_flows_follows_the_policy(void **state)
{
	struct rig_flow f[5];
	struct packet p;
	struct endpoint from = {.port = 999}, to = {.port = 22};
	uint8_t syn[64] = {0};

	rig_begin(&rig, "network: any\nlimits: {flows: 2}\n");
	for (int i = 0; i < 2; i++)
		f[i] = rig_open(&rig, "93.184.0.1", 22);
	from.addr = rig.gate->sandbox_v4;
	to.addr = rig_addr("127.0.0.1");
	p = (struct packet){.src = from.addr,
			    .dst = to.addr,
			    .proto = IP_TCP,
			    .src_port = from.port,
			    .dst_port = to.port,
			    .tcp_flags = TCP_SYN,
			    .whole = span_of(syn, 40)};
	flows_take_syn(rig.gate->flows, &p);
	assert_int_equal(refusals_total(rig.gate->refusals), 1);
	change("network: any\nlimits: {flows: 5000}\n", 2);
	for (int i = 2; i < 5; i++)
		f[i] = rig_open(&rig, "93.184.0.1", 22);
	assert_int_equal(flows_open(rig.gate->flows), 5);
	for (int i = 0; i < 5; i++)
		rig_close(&f[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_policy_is_taken_whole, end),
		cmocka_unit_test_teardown(a_policy_in_a_file_that_can_change_is_refused, end),
		cmocka_unit_test_teardown(a_policy_that_is_no_memory_file_is_refused, end),
		cmocka_unit_test_teardown(a_policy_of_no_or_too_many_octets_is_refused, end),
		cmocka_unit_test_teardown(a_policy_that_does_not_parse_or_compile_is_refused, end),
		cmocka_unit_test_teardown(generations_only_rise, end),
		cmocka_unit_test_teardown(no_other_descriptor_is_taken, end),
		cmocka_unit_test_teardown(a_name_that_is_allowed_now_is_answered_at_once,
					  end_with_dns),
		cmocka_unit_test_teardown(a_name_that_is_denied_now_is_not_answered_from_memory,
					  end_with_dns),
		cmocka_unit_test_teardown(what_was_withheld_from_a_kept_answer_is_asked_for_again,
					  end_with_dns),
		cmocka_unit_test_teardown(wildcards_follow_the_policy, end_with_dns),
		cmocka_unit_test_teardown(an_exchange_of_datagrams_ends_with_its_permission, end),
		cmocka_unit_test_teardown(the_limit_of_flows_follows_the_policy, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
