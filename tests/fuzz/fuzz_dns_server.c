/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way of a question through the server, with a resolver that has no servers: whatever is
 * sent gets at most one reply, well-formed, with its id. The first octet picks the policy and the
 * transport.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/dns_server.h"

static const char *const policies[] = {
	"network: any\n",
	"network: open\ndns_answers: synthetic\n",
	"network: deny\nallow: [a.example, '*.wild.example']\n",
	"network: deny\ndns_refusal: nxdomain\n",
	"network: none\n",
	"network: deny\ndns: off\n",
};
enum { POLICIES = sg_array_len(policies) };

static const struct ruleset *rules[POLICIES], *present;
static struct dns_server *server;
static struct dns_server_config config;
static struct gate_totals totals;
static struct loop *loop;
static struct span question;
static unsigned replies;
static bool over_tcp;

static void on_reply(void *ctx, const struct dns_client *client, enum reason why, struct span m)
{
	if (++replies > 1)
		abort();
	if (over_tcp) {
		if (m.n < 2 || (size_t)(m.p[0] << 8 | m.p[1]) != m.n - 2)
			abort();
		m = span_of(m.p + 2, m.n - 2);
	} else if (m.n > DNS_UDP_MAX) {
		abort();
	}
	if (m.n < DNS_HEADER || memcmp(m.p, question.p, 2) != 0 || !(m.p[2] & 0x80))
		abort();
}

static const struct ruleset *make_rules(const char *yaml)
{
	const struct ruleset *made;
	struct policy p;
	struct err e;

	if (policy_parse(span_of_string(yaml), POLICY_YAML, "fuzz", &p, &e) != 0)
		die(1, "%s", e.text);
	made = ruleset_compile(&p, 1, &e);
	policy_free(&p);
	if (!made)
		die(1, "%s", e.text);
	return made;
}

/* Addresses of a few names are known, so that answers from the table are reached. */
static void fill_names(struct names *names)
{
	static const char *const known[] = {"a.example", "b.wild.example", "c.test.example"};
	const struct addr a[] = {{{[10] = 0xff, [11] = 0xff, 93, 184, 0, 1}}, {{0x2a, [15] = 1}}};

	for (size_t i = 0; i < sg_array_len(known); i++) {
		struct name n;

		if (name_parse_ascii(known[i], strlen(known[i]), &n) != NAME_OK)
			abort();
		names_bind(names, &n, NAMES_A, &a[0], 1, 60, NAMES_SHOWN, loop_now(loop));
		names_bind(names, &n, NAMES_AAAA, &a[1], 1, 60, NAMES_SHOWN, loop_now(loop));
		names_set_absent(names, &n, NAMES_HTTPS, NAMES_NODATA, 60, loop_now(loop));
	}
}

static void close_server(void)
{
	dns_server_free(server);
	resolver_free(config.resolver);
	names_free(config.names);
	journal_free(config.journal);
	totals_free(&totals);
	loop_free(loop);
	for (size_t i = 0; i < POLICIES; i++)
		ruleset_free((struct ruleset *)rules[i]);
}

static void open_server(void)
{
	static const struct resolver_config no_servers = {0};
	static const struct remedy_for remedy = {.sandbox = "box"};
	struct err e;

	if (totals_make(&totals, &e) != 0)
		abort();
	loop = loop_new(8);
	config = (struct dns_server_config){
		.loop = loop,
		.names = names_new(),
		.journal = journal_new(totals.refusals, NULL, -1),
		.wildcards = totals.wildcards,
		.counters = totals.dns,
		.resolver = resolver_new(loop, &no_servers, &e),
		.remedy = &remedy,
		.rules = &present,
		.ipv6 = true,
		.reply = on_reply,
	};
	if (!loop || !config.names || !config.journal || !config.resolver)
		abort();
	fill_names(config.names);
	server = dns_server_new(&config);
	for (size_t i = 0; i < POLICIES; i++)
		rules[i] = make_rules(policies[i]);
	atexit(close_server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_client client = {0};

	if (size == 0)
		return 0;
	if (!server)
		open_server();
	present = rules[data[0] / 2 % POLICIES];
	client.tcp = over_tcp = data[0] & 1;
	question = span_of(data + 1, size - 1);
	replies = 0;
	dns_server_query(server, &client, question, loop_now(loop));
	return 0;
}
