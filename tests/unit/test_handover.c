/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover: which connections go to the broker, and that there is no other way to a host that has to
 * be seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "handover_rig.h"

/* ---- what goes ---- */

static void a_hello_is_handed_over_unread(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX], octets[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	struct name seen = rig_name(SEEN);
	struct rig_flow f;
	struct record r;
	struct got got;

	begin(ALLOWED);
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	got = expect(GATE_HANDOVER);
	assert_int_equal(got.m.flags, GATE_TLS | GATE_OFFERS_HTTP2 | GATE_OFFERS_HTTP1);
	assert_true(name_equal(&got.m.name, &seen));
	assert_int_equal(got.m.dst.port, 443);
	assert_int_equal(got.m.out, 1 << 20);
	assert_false(rig_is_open(&f));
	assert_int_equal(flows_open_in_all(rig.gate), 1);
	/* Both are what the client and the server are connected to, whatever the gate closed. */
	assert_int_equal(recv(got.fds[0], octets, sizeof(octets), MSG_DONTWAIT), n);
	assert_memory_equal(octets, hello, n);
	assert_int_equal(send(got.fds[1], "up", 2, MSG_NOSIGNAL), 2);
	assert_int_equal(recv(f.server, octets, sizeof(octets), 0), 2);
	r = next_of(RECORD_ALLOW);
	assert_int_equal(r.proto, RECORD_TCP);
	assert_true(name_equal(&r.name, &seen));
	assert_false(rig_record(&rig, &r));
	drop(&got);
	rig_close(&f);
}

static void the_offers_are_those_of_the_hello(void **state)
{
	static const struct {
		const char *alpn;
		uint8_t flags;
	} table[] = {{"", GATE_TLS},
		     {"\2h2", GATE_TLS | GATE_OFFERS_HTTP2},
		     {"\10http/1.1", GATE_TLS | GATE_OFFERS_HTTP1},
		     {"\4mqtt\10http/1.1", GATE_TLS | GATE_OFFERS_HTTP1}};

	begin(ALLOWED);
	for (size_t i = 0; i < sg_array_len(table); i++) {
		struct rig_flow f = open_hello("93.184.0.1", 443, SEEN, table[i].alpn);
		struct got got = expect(GATE_HANDOVER);

		assert_int_equal(got.m.flags, table[i].flags);
		drop(&got);
		rig_close(&f);
	}
}

static void what_speaks_no_http_is_told_at_once(void **state)
{
	static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 120};
	uint8_t got[64];
	struct rig_flow f;

	begin(ALLOWED);
	f = open_hello("93.184.0.1", 443, SEEN, "\4mqtt");
	assert_int_equal(recv(f.client, got, sizeof(got), MSG_DONTWAIT), sizeof(alert));
	assert_memory_equal(got, alert, sizeof(alert));
	expect_refused(&f, REASON_NOT_HTTP);
}

static void another_host_is_spliced(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	struct rig_flow f;

	begin(ALLOWED);
	f = open_hello("93.184.0.2", 443, OTHER, BOTH);
	expect_spliced(&f, client_hello(hello, OTHER, false, BOTH));
}

static void without_a_broker_it_is_refused_at_once(void **state)
{
	static const uint8_t denied[] = {21, 3, 3, 0, 2, 2, 49};
	struct rig_flow f;
	uint8_t got[64];

	begin_alone(ALLOWED);
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	assert_int_equal(recv(f.client, got, sizeof(got), MSG_DONTWAIT), sizeof(denied));
	assert_memory_equal(got, denied, sizeof(denied));
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_BROKER_DOWN);
	assert_int_equal(rig.gate->counters->flows_refused, 1);
	rig_close(&f);
}

/* ---- plain HTTP ---- */

/* A host of a permission that is for some requests only, in plain HTTP as well. */
#define GITHUB	  "github.com"
#define PLAIN	  "network: deny\nallow: [" OTHER "]\npermissions: [github]\n"
#define GET(host) "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n"

static void begin_catalogued(const char *yaml)
{
	rig_catalogue = catalogue_builtin();
	begin(yaml);
	rig_bind(&rig, GITHUB, "93.184.0.1");
}

static void the_first_request_decides(void **state)
{
	struct rig_flow f;
	struct got got;
	char text[256];

	begin_catalogued(PLAIN);
	rig_bind(&rig, OTHER, "93.184.0.1");
	f = open_text("93.184.0.1", 80, GET(GITHUB) GET(OTHER));
	got = expect(GATE_HANDOVER);
	assert_int_equal(got.m.flags, 0);
	assert_int_equal(recv(got.fds[0], text, sizeof(text), MSG_DONTWAIT),
			 strlen(GET(GITHUB) GET(OTHER)));
	drop(&got);
	rig_close(&f);
}

static void a_later_request_is_refused_in_its_order(void **state)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	struct rig_flow f;
	char text[2048];
	ssize_t n;

	begin_catalogued(PLAIN);
	rig_bind(&rig, OTHER, "93.184.0.1");
	f = open_text("93.184.0.1", 80, GET(OTHER) GET(GITHUB));
	assert_int_equal(recv(f.server, text, sizeof(text), MSG_DONTWAIT), strlen(GET(OTHER)));
	assert_int_equal(send(f.server, answer, strlen(answer), MSG_NOSIGNAL), strlen(answer));
	close(f.server);
	rig_turns(&rig, 4);
	n = recv(f.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > (ssize_t)strlen(answer));
	text[n] = 0;
	assert_memory_equal(text, answer, strlen(answer));
	assert_non_null(strstr(text, "sandgate-reason: not-inspected\r\n"));
	expect_silence();
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_NOT_INSPECTED);
	close(f.client);
}

static void plain_http_without_a_broker_is_answered(void **state)
{
	struct rig_flow f;
	char text[2048];
	ssize_t n;

	begin_catalogued(PLAIN);
	close(broker);
	broker = -1;
	rig_turns(&rig, 1);
	f = open_text("93.184.0.1", 80, GET(GITHUB));
	n = recv(f.client, text, sizeof(text) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(strstr(text, "403 Forbidden\r\n"));
	assert_non_null(strstr(text, "sandgate-reason: broker-down\r\n"));
	rig_close(&f);
}

/* ---- another policy ---- */

static void expect_cut_unseen(struct rig_flow *f)
{
	assert_false(rig_is_open(f));
	rig_expect_reset(f->client);
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_NOT_INSPECTED);
	rig_close(f);
}

static void a_policy_that_begins_to_see_cuts_what_it_cannot(void **state)
{
	struct rig_flow f, port, stays;

	begin("network: deny\nallow: [" SEEN ", " OTHER ", \"" SEEN ":8443\"]\n");
	f = open_hello("93.184.0.1", 443, SEEN, BOTH);
	port = open_hello("93.184.0.1", 8443, SEEN, BOTH);
	stays = open_hello("93.184.0.2", 443, OTHER, BOTH);
	change("network: deny\nallow: [" SEEN ", " OTHER ", \"" SEEN ":8443\"]\n"
	       "inspect: [" SEEN ", \"" SEEN ":8443\"]\n");
	expect_cut_unseen(&f);
	expect_cut_unseen(&port);
	assert_true(rig_is_open(&stays));
	rig_close(&stays);
}

static void plain_http_that_is_to_be_seen_is_cut_too(void **state)
{
	struct rig_flow f;

	begin_catalogued("network: deny\nallow: [" GITHUB "]\n");
	f = open_text("93.184.0.1", 80, GET(GITHUB));
	assert_true(rig_is_open(&f));
	change(PLAIN);
	expect_cut_unseen(&f);
}

static void what_waits_goes_to_the_broker_when_it_comes(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	struct rig_flow f;
	struct got got;

	begin("network: deny\nallow: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.1", 443);
	change(ALLOWED);
	assert_true(rig_is_open(&f));
	assert_int_equal(send(f.client, hello, n, MSG_NOSIGNAL), n);
	got = expect(GATE_HANDOVER);
	drop(&got);
	rig_close(&f);
}

/* ---- ways round it ---- */

/* Admitted by their addresses, raw, or by everything: TLS to the host goes to the broker all the
 * same. */
static void it_is_seen_whatever_admits_the_connection(void **state)
{
	static const struct {
		const char *yaml;
		uint16_t port;
	} table[] = {
		{"network: deny\nallow: [\"93.184.0.1:443\"]\ninspect: [" SEEN "]\n", 443},
		{"network: deny\nallow: [93.184.0.0/16]\ninspect: [" SEEN "]\n", 443},
		{"network: deny\nallow: [\"" SEEN ":443/raw\"]\ninspect: [" SEEN "]\n", 443},
		{"network: deny\nallow: [\"" SEEN ":8443\"]\ninspect: [\"" SEEN ":8443\"]\n", 8443},
		{"network: any\ninspect: [" SEEN "]\n", 443},
		{"network: any\ninspect: all\n", 443},
		{"network: open\ninspect: [" SEEN "]\n", 443},
		{"network: open\ninspect: [\"" SEEN ":8443\"]\n", 8443},
	};

	for (size_t i = 0; i < sg_array_len(table); i++) {
		struct rig_flow f;
		struct got got;

		begin(table[i].yaml);
		f = open_hello("93.184.0.1", table[i].port, SEEN, BOTH);
		got = expect(GATE_HANDOVER);
		assert_int_equal(got.m.dst.port, table[i].port);
		drop(&got);
		rig_close(&f);
		end(NULL);
	}
}

/* The host's own address under no name, under another, or under none that can be read. */
static void its_address_carries_nothing_else(void **state)
{
	static const char *const yaml[] = {
		"network: any\ninspect: [" SEEN "]\n",
		"network: deny\nallow: [\"" SEEN ":443/raw\"]\ninspect: [" SEEN "]\n",
		"network: deny\nallow: [" SEEN ", \"93.184.0.1:443\"]\ninspect: [" SEEN "]\n",
	};

	for (size_t i = 0; i < sg_array_len(yaml); i++) {
		struct rig_flow f;

		begin(yaml[i]);
		f = open_hello("93.184.0.1", 443, "", BOTH);
		expect_refused(&f, REASON_NO_SERVER_NAME);
		f = open_hello("93.184.0.1", 443, "front.example.net", BOTH);
		expect_refused(&f, REASON_SNI_MISMATCH);
		f = open_text("93.184.0.1", 443, "SSH-2.0-x\r\n");
		expect_refused(&f, REASON_NOT_TLS);
		f = open_text("93.184.0.1", 443, "\x16\x03\x01\x01\x01\x02");
		expect_refused(&f, REASON_MALFORMED_TLS);
		end(NULL);
	}
	begin("network: open\ninspect: [" SEEN "]\n");
	{
		struct rig_flow f = open_hello("93.184.0.1", 443, "front.example.net", BOTH);

		expect_refused(&f, REASON_SNI_MISMATCH);
	}
}

static void what_is_not_for_it_passes_as_it_did(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	struct rig_flow f;

	begin("network: any\ninspect: [" SEEN "]\n");
	f = open_hello("93.184.0.9", 443, "", BOTH);
	expect_spliced(&f, client_hello(hello, "", false, BOTH));
	f = open_hello("93.184.0.9", 443, "front.example.net", BOTH);
	expect_spliced(&f, client_hello(hello, "front.example.net", false, BOTH));
	f = open_hello("93.184.0.2", 443, OTHER, BOTH);
	expect_spliced(&f, client_hello(hello, OTHER, false, BOTH));
	f = open_text("93.184.0.9", 5432, "\x08\x16\x03");
	expect_spliced(&f, 3);
	f = open_text("93.184.0.1", 22, "SSH-2.0-client\r\n");
	expect_spliced(&f, 16);
}

/* Nothing is waited for where the server speaks first. */
static void a_server_may_speak_first(void **state)
{
	struct rig_flow f;
	char got[16];

	begin("network: any\ninspect: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.9", 443);
	assert_int_equal(send(f.server, "220 ready", 9, MSG_NOSIGNAL), 9);
	rig_turns(&rig, 3);
	assert_int_equal(recv(f.client, got, sizeof(got), MSG_DONTWAIT), 9);
	rig_expect_passes(&rig, &f);
	rig_close(&f);
}

/* After the server has spoken it is no TLS that could be opened: it is cut, not let by. */
static void a_greeting_does_not_open_a_way(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	struct rig_flow f;

	begin("network: any\ninspect: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.9", 443);
	assert_int_equal(send(f.server, "220 ready", 9, MSG_NOSIGNAL), 9);
	rig_turns(&rig, 3);
	assert_int_equal(send(f.client, hello, n, MSG_NOSIGNAL), n);
	rig_turns(&rig, 3);
	expect_refused(&f, REASON_NOT_INSPECTED);
}

static void a_hello_in_pieces_is_waited_for(void **state)
{
	uint8_t hello[CLIENT_HELLO_MAX], octets[64];
	size_t n = client_hello(hello, SEEN, false, BOTH);
	const int on = 1;
	struct rig_flow f;
	struct got got;

	begin("network: any\ninspect: [" SEEN "]\n");
	f = rig_open(&rig, "93.184.0.9", 443);
	setsockopt(f.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(send(f.client, hello + i, 1, MSG_NOSIGNAL), 1);
		if (i + 1 < n)
			rig_turns(&rig, 2);
	}
	got = expect(GATE_HANDOVER);
	assert_true(recv(f.server, octets, sizeof(octets), MSG_DONTWAIT) < 0);
	drop(&got);
	rig_close(&f);
}

static void without_a_name_nothing_goes_under_inspect_all(void **state)
{
	struct rig_flow f;

	begin("network: any\ninspect: all\n");
	f = open_hello("93.184.0.9", 443, "", BOTH);
	expect_refused(&f, REASON_NO_SERVER_NAME);
}

/* ---- datagrams ---- */

/* Of its address and port, whatever they are: an exchange that is open ends, none begins. */
static void datagrams_to_it_end_and_are_refused(void **state)
{
	uint16_t port;
	int server = rig_udp_server(&port);
	char yaml[128], more[128], octet;

	begin("network: any\n");
	rig_bind(&rig, SEEN, "127.0.0.1");
	rig_send_datagram(&rig, "127.0.0.1", port, "one");
	rig_expect_datagram(server, "one");
	snprintf(more, sizeof(more), "network: any\ninspect: [\"" OTHER ":%u\"]\n", port);
	change(more);
	rig_send_datagram(&rig, "127.0.0.1", port, "two");
	rig_expect_datagram(server, "two");
	snprintf(yaml, sizeof(yaml), "network: any\ninspect: [\"" SEEN ":%u\"]\n", port);
	change(yaml);
	assert_int_equal(datagrams_open(rig.gate->datagrams), 0);
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_QUIC_REFUSED);
	rig_send_datagram(&rig, "127.0.0.1", port, "three");
	assert_int_equal(next_of(RECORD_DENY).reason, REASON_QUIC_REFUSED);
	assert_true(recv(server, &octet, 1, MSG_DONTWAIT) < 0);
	close(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ends(a_hello_is_handed_over_unread),
		ends(the_offers_are_those_of_the_hello),
		ends(what_speaks_no_http_is_told_at_once),
		ends(another_host_is_spliced),
		ends(without_a_broker_it_is_refused_at_once),
		ends(the_first_request_decides),
		ends(a_later_request_is_refused_in_its_order),
		ends(plain_http_without_a_broker_is_answered),
		ends(a_policy_that_begins_to_see_cuts_what_it_cannot),
		ends(plain_http_that_is_to_be_seen_is_cut_too),
		ends(what_waits_goes_to_the_broker_when_it_comes),
		ends(it_is_seen_whatever_admits_the_connection),
		ends(its_address_carries_nothing_else),
		ends(what_is_not_for_it_passes_as_it_did),
		ends(a_server_may_speak_first),
		ends(a_greeting_does_not_open_a_way),
		ends(a_hello_in_pieces_is_waited_for),
		ends(without_a_name_nothing_goes_under_inspect_all),
		ends(datagrams_to_it_end_and_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
