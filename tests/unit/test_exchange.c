/* SPDX-License-Identifier: Apache-2.0 */
/* What exchange.c tells two codecs, which are fakes that write down what they are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/exchange.h"
#include "broker/placeholder.h"
#include "broker/vault.h"
#include "policy/policy.h"

#define HOST "api.example.net"

struct world {
	struct exchange_rules rules;
	struct request_log log;
	struct handover peer;
	struct exchanges xs;
	struct codec client, upstream;
	struct ring *ring;
	bool server_takes, server_is_lost;
	unsigned sent; /* requests that the server's codec was given */
	struct exchange *order[4];
	bool expects; /* of the last one */
	char told[4096];
};

static struct world *w;

static void tell(const char *what)
{
	size_t n = strlen(w->told);

	snprintf(w->told + n, sizeof(w->told) - n, "%s;", what);
}

static void assert_told(const char *what)
{
	assert_string_equal(w->told, what);
	w->told[0] = 0;
}

/* ---- The fakes ---- */

static void fake_answer(struct codec *c, struct exchange *x, const struct message *m)
{
	const struct field *f = message_find(m, "sandgate-reason", NULL);
	char text[128];

	snprintf(text, sizeof(text), "answer %u%s%.*s", m->status, f ? " " : "",
		 f ? (int)f->value.n : 0, f ? (const char *)f->value.p : "");
	tell(text);
}

static void fake_resume_send(struct codec *c, struct exchange *x)
{
	tell(c->server ? "client send" : "server send");
}

static void fake_resume_receive(struct codec *c, struct exchange *x)
{
	tell(c->server ? "client receive" : "server receive");
}

static void fake_reset(struct codec *c, struct exchange *x, enum codec_error why)
{
	tell(c->server ? "client reset" : "server reset");
}

static const struct codec_ops fake_ops = {
	.send_answer = fake_answer,
	.resume_send = fake_resume_send,
	.resume_receive = fake_resume_receive,
	.reset = fake_reset,
};

static enum exchange_sent send_to_server(void *owner, struct exchange *x, const struct message *m,
					 struct codec **to, struct upstream_failure *failure)
{
	if (w->server_is_lost) {
		*failure = (struct upstream_failure){REASON_UPSTREAM_CERTIFICATE,
						     "its certificate is self-signed"};
		return EXCHANGE_UNSENT;
	}
	if (!w->server_takes)
		return EXCHANGE_WAITS;
	w->order[w->sent++ % sg_array_len(w->order)] = x;
	w->expects = m->expects_continue;
	assert_null(message_find(m, "proxy-authorization", NULL));
	*to = &w->upstream;
	return EXCHANGE_SENT;
}

/* ---- The world ---- */

static struct ruleset *compile(const char *text)
{
	const struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct ruleset *rules;
	struct policy p;
	struct err e;

	policy_init(&p);
	assert_int_equal(policy_parse(span_of_string(text), POLICY_YAML, "p", &p, &e), 0);
	assert_int_equal(policy_resolve(&p, &sources, &e), 0);
	rules = ruleset_compile(&p, 1, &e);
	assert_non_null(rules);
	policy_free(&p);
	return rules;
}

static void set_rules(const char *text)
{
	ruleset_free((struct ruleset *)w->rules.judge.rules);
	w->rules.judge.rules = compile(text);
}

static int set_up(void **state)
{
	static const struct exchange_ways ways = {.send = send_to_server};

	w = calloc(1, sizeof(*w));
	w->log.wake = -1;
	w->rules.log = &w->log;
	w->rules.judge.catalogue = catalogue_builtin();
	w->rules.judge.remedy_for.sandbox = "box";
	set_rules("network: deny\nallow: [" HOST "]\n");
	w->peer.tls = true;
	w->peer.dst.port = 443;
	addr_parse("93.184.216.34", 13, &w->peer.dst.addr);
	name_parse_ascii(HOST, strlen(HOST), &w->peer.name);
	w->client = (struct codec){.ops = &fake_ops, .server = true};
	w->upstream = (struct codec){.ops = &fake_ops};
	w->server_takes = true;
	w->xs = (struct exchanges){.rules = &w->rules,
				   .ways = &ways,
				   .owner = w,
				   .peer = &w->peer,
				   .client = &w->client};
	return 0;
}

static int tear_down(void **state)
{
	exchanges_free(&w->xs);
	assert_int_equal(w->rules.counters.open, 0);
	assert_int_equal(w->xs.n_live, 0);
	assert_int_equal(w->xs.n_waiting, 0);
	ruleset_free((struct ruleset *)w->rules.judge.rules);
	free(w);
	return 0;
}

static struct span words(const char *s)
{
	return span_of_string(s);
}

static void make_request(struct message *m, const char *method, const char *host)
{
	message_init(m);
	message_store(m, words(method), &m->method);
	message_store(m, words("https"), &m->scheme);
	message_store(m, words(host), &m->authority);
	message_store(m, words("/path?query"), &m->path);
	m->has_host = true;
	name_parse_ascii(host, strlen(host), &m->host);
	m->port = 443;
}

static struct exchange *request_with(const char *method, const char *host, enum message_body body)
{
	struct exchange *x;
	struct message m;

	make_request(&m, method, host);
	m.body = body;
	message_add(&m, words("proxy-authorization"), words("Basic eA=="));
	x = exchange_events.request(&w->xs, &w->client, &m);
	message_free(&m);
	return x;
}

static struct exchange *ask(void)
{
	struct exchange *x = request_with("GET", HOST, MESSAGE_BODY_NONE);

	assert_non_null(x);
	x->up.ended = true;
	return x;
}

static void answer(struct exchange *x, uint16_t status)
{
	struct message m;

	message_init(&m);
	m.status = status;
	message_add(&m, words("alt-svc"), words("h3=\":443\""));
	exchange_events.answer(x, &m);
	message_free(&m);
}

/* ---- Tests ---- */

static void an_exchange_passes(void **state)
{
	struct exchange *x = ask();

	assert_int_equal(w->sent, 1);
	assert_told("");
	answer(x, 103);
	answer(x, 200);
	assert_told("answer 103;answer 200;");
	assert_true(body_put(&x->down, words("body")));
	x->down.ended = true;
	exchange_events.body_filled(x, &w->upstream);
	assert_told("client send;");
	exchange_events.done(x, &w->upstream);
	body_take(&x->down, 4);
	exchange_events.body_drained(x, &w->client);
	assert_told("");
	assert_int_equal(w->rules.counters.open, 1);
	exchange_events.done(x, &w->client);
	assert_int_equal(w->rules.counters.open, 0);
}

static void a_body_goes_up_as_there_is_room(void **state)
{
	struct exchange *x = request_with("POST", HOST, MESSAGE_BODY_STREAM);

	assert_true(body_put(&x->up, words("abc")));
	exchange_events.body_filled(x, &w->client);
	assert_told("server send;");
	body_take(&x->up, 3);
	exchange_events.body_drained(x, &w->upstream);
	assert_told("client receive;");
}

static void what_is_not_admitted_is_not_sent(void **state)
{
	set_rules("network: deny\nallow: [other.example.net]\n");
	assert_non_null(request_with("GET", HOST, MESSAGE_BODY_NONE));
	assert_int_equal(w->sent, 0);
	assert_told("answer 403 not-in-policy;client send;");
	assert_int_equal(w->rules.counters.refused, 1);
}

static void another_authority_is_not_sent(void **state)
{
	assert_non_null(request_with("GET", "other.example.net", MESSAGE_BODY_NONE));
	assert_told("answer 403 sni-mismatch;client send;");
	w->xs.client_http2 = true;
	assert_non_null(request_with("GET", "other.example.net", MESSAGE_BODY_NONE));
	assert_told("answer 421 sni-mismatch;client send;");
	assert_int_equal(w->sent, 0);
}

/*
 * What still comes of a refused request is taken and thrown away, so that a client that sends it
 * all is read.
 */
static void the_body_of_a_refused_request_is_drained(void **state)
{
	struct exchange *x;

	set_rules("network: deny\nallow: [other.example.net]\n");
	x = request_with("POST", HOST, MESSAGE_BODY_STREAM);
	assert_told("answer 403 not-in-policy;client send;");
	assert_true(body_put(&x->up, words("abc")));
	exchange_events.body_filled(x, &w->client);
	assert_int_equal(x->up.n, 0);
	assert_told("client receive;");
}

static void a_server_that_is_lost_is_told(void **state)
{
	w->server_is_lost = true;
	assert_non_null(request_with("GET", HOST, MESSAGE_BODY_NONE));
	assert_told("answer 502 upstream-certificate;client send;");
	assert_int_equal(w->rules.counters.failed, 1);
}

static void it_waits_for_a_server(void **state)
{
	struct exchange *x;

	w->server_takes = false;
	x = ask();
	assert_int_equal(w->xs.n_waiting, 1);
	exchanges_advance(&w->xs);
	assert_int_equal(w->sent, 0);
	w->server_takes = true;
	exchanges_advance(&w->xs);
	assert_int_equal(w->sent, 1);
	assert_int_equal(w->xs.n_waiting, 0);
	assert_told("server send;"); /* its end stands in the body */
	answer(x, 204);
	assert_told("answer 204;");
}

static void those_that_wait_are_sent_in_their_order(void **state)
{
	struct exchange *x[3];

	w->server_takes = false;
	for (size_t i = 0; i < 3; i++)
		x[i] = ask();
	w->server_takes = true;
	exchanges_advance(&w->xs);
	assert_int_equal(w->sent, 3);
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(w->order[i], x[i]);
	w->told[0] = 0;
}

static void it_is_sent_again_when_the_server_surely_did_nothing(void **state)
{
	struct exchange *x = ask();

	exchange_events.failed(x, &w->upstream, CODEC_RETRY);
	assert_int_equal(w->xs.n_waiting, 1);
	exchanges_advance(&w->xs);
	assert_int_equal(w->sent, 2);
	w->told[0] = 0;
	exchange_events.failed(x, &w->upstream, CODEC_PEER);
	assert_told("answer 502 upstream-failed;client send;");
}

static void it_is_not_sent_again_when_some_of_its_body_is_gone(void **state)
{
	struct exchange *x = request_with("POST", HOST, MESSAGE_BODY_STREAM);

	assert_true(body_put(&x->up, words("abc")));
	body_take(&x->up, 1);
	exchange_events.failed(x, &w->upstream, CODEC_RETRY);
	assert_int_equal(w->sent, 1);
	assert_string_equal(w->told, "answer 502 upstream-failed;client send;client receive;");
	w->told[0] = 0;
}

static void a_cut_after_the_head_is_a_cut(void **state)
{
	struct exchange *x = ask();

	answer(x, 200);
	w->told[0] = 0;
	exchange_events.failed(x, &w->upstream, CODEC_RETRY);
	assert_told("client reset;");
	assert_int_equal(w->sent, 1);
}

static void a_client_that_goes_resets_the_server(void **state)
{
	struct exchange *x = ask();

	exchange_events.failed(x, &w->client, CODEC_PEER);
	assert_told("server reset;");
	assert_int_equal(w->rules.counters.open, 0);
}

/* The answer came before the whole request did: nothing is to be sent after it. */
static void an_early_answer_ends_the_request(void **state)
{
	struct exchange *x = request_with("POST", HOST, MESSAGE_BODY_STREAM);

	answer(x, 413);
	x->down.ended = true;
	exchange_events.body_filled(x, &w->upstream);
	w->told[0] = 0;
	exchange_events.done(x, &w->client);
	assert_told("server reset;");
}

static void alt_svc_does_not_pass(void **state)
{
	struct exchange *x = ask();
	struct message m;

	message_init(&m);
	m.status = 200;
	message_add(&m, words("alt-svc"), words("h3=\":443\""));
	exchange_events.answer(x, &m);
	assert_null(message_find(&m, "alt-svc", NULL));
	message_free(&m);
	w->told[0] = 0;
}

static void another_policy_refuses_what_was_not_answered(void **state)
{
	struct exchange *answered = ask(), *waiting = ask();

	answer(answered, 200);
	w->told[0] = 0;
	(void)waiting;
	exchanges_rejudge(&w->xs);
	assert_told("");
	set_rules("network: deny\nallow: [other.example.net]\n");
	exchanges_rejudge(&w->xs);
	assert_told("server reset;client reset;server reset;answer 403 not-in-policy;client send;");
}

static void a_link_that_is_lost_fails_what_is_on_it(void **state)
{
	static const struct upstream_failure ended = {REASON_UPSTREAM_TIMEOUT, "it is slow"};

	ask();
	exchanges_lose(&w->xs, &w->upstream, CODEC_PEER, &ended);
	assert_told("server reset;answer 504 upstream-timeout;client send;");
}

static void no_more_than_so_many_at_once(void **state)
{
	for (int i = 0; i < EXCHANGES_MAX; i++)
		ask();
	assert_null(request_with("GET", HOST, MESSAGE_BODY_NONE));
	exchanges_free(&w->xs);
	w->told[0] = 0;
	assert_non_null(request_with("GET", HOST, MESSAGE_BODY_NONE));
}

/*
 * The expectation goes on as long as the client waits; the server's 100 is what tells it to go on.
 */
static void an_expectation_goes_to_the_server(void **state)
{
	struct message m;

	make_request(&m, "PUT", HOST);
	m.body = MESSAGE_BODY_STREAM;
	m.expects_continue = true;
	assert_non_null(exchange_events.request(&w->xs, &w->client, &m));
	assert_true(w->expects);
	message_free(&m);
	assert_told("");
}

#define GRAPHQL "api.github.com"

static struct exchange *ask_graphql(void)
{
	struct exchange *x;
	struct message m;

	set_rules("network: deny\npermissions: [github]\n");
	name_parse_ascii(GRAPHQL, strlen(GRAPHQL), &w->peer.name);
	make_request(&m, "POST", GRAPHQL);
	message_store(&m, words("/graphql"), &m.path);
	message_add(&m, words("content-type"), words("application/json"));
	m.body = MESSAGE_BODY_STREAM;
	m.expects_continue = true;
	x = exchange_events.request(&w->xs, &w->client, &m);
	message_free(&m);
	assert_non_null(x);
	assert_int_equal(w->sent, 0);
	assert_told("client receive;");
	return x;
}

/* ---- An audit log that cannot be written ---- */

enum { LOG_PATIENCE = 30000 };

static void set_log(bool closed)
{
	w->log.closed = closed;
	exchanges_advance(&w->xs);
}

static void without_a_log_a_request_waits(void **state)
{
	mono_t at, before = mono_now();

	set_log(true);
	ask();
	assert_int_equal(w->sent, 0);
	assert_int_equal(w->xs.n_waiting, 1);
	assert_true(exchanges_deadline(&w->xs, LOG_PATIENCE, &at));
	assert_false(mono_before(at, mono_add_ms(before, LOG_PATIENCE)));
	exchanges_give_up(&w->xs, LOG_PATIENCE, mono_add_ms(at, -1));
	assert_told("");
	set_log(false);
	assert_int_equal(w->sent, 1);
	assert_false(exchanges_deadline(&w->xs, LOG_PATIENCE, &at));
	exchanges_give_up(&w->xs, LOG_PATIENCE, mono_add_ms(at, LOG_PATIENCE));
	assert_told("server send;");
}

static void what_waited_too_long_for_the_log_is_refused(void **state)
{
	mono_t at;

	set_log(true);
	ask();
	assert_true(exchanges_deadline(&w->xs, LOG_PATIENCE, &at));
	exchanges_give_up(&w->xs, LOG_PATIENCE, at);
	assert_told("answer 403 log-full;client send;");
	assert_false(exchanges_deadline(&w->xs, LOG_PATIENCE, &at));
	set_log(false);
	assert_int_equal(w->sent, 0);
	assert_int_equal(w->rules.counters.refused, 1);
}

/* What waits for a server has not waited for the log, and the other way round. */
static void who_waits_for_a_server_is_not_refused_for_the_log(void **state)
{
	mono_t at;

	w->server_takes = false;
	ask();
	assert_false(exchanges_deadline(&w->xs, LOG_PATIENCE, &at));
	exchanges_give_up(&w->xs, LOG_PATIENCE, mono_add_ms(mono_now(), 2 * LOG_PATIENCE));
	assert_told("");
	assert_int_equal(w->xs.n_waiting, 1);
}

static struct vault *make_vault(void)
{
	static const uint8_t seed[PLACEHOLDER_SEED] = {1};
	char methods[] = "POST", *only[] = {methods, NULL};
	char host[] = HOST, name[] = "x-api-key", value[] = "${secret}", from[] = "env:T";
	struct credential c = {.host = host,
			       .port = 443,
			       .slot = SLOT_HEADER,
			       .name = name,
			       .value = value,
			       .methods = only,
			       .from = from};
	const struct credential_list list = {&c, 1};
	struct vault *v;
	struct err e;

	v = vault_new(&list, seed, &e);
	assert_non_null(v);
	assert_int_equal(vault_put_source(v, 0, words("a secret of the person"), &e), 0);
	return v;
}

static void without_a_log_no_credential_is_used(void **state)
{
	w->rules.vault = make_vault();
	set_log(true);
	assert_non_null(request_with("POST", HOST, MESSAGE_BODY_NONE));
	assert_told("answer 403 log-full;client send;");
	assert_int_equal(w->sent, 0);
	/* It is bound to another method, so this one waits. */
	ask();
	assert_int_equal(w->xs.n_waiting, 1);
	set_log(false);
	assert_int_equal(w->sent, 1);
	exchanges_free(&w->xs);
	vault_free(w->rules.vault);
	w->rules.vault = NULL;
}

static void collect(struct exchange *x, const char *body)
{
	assert_true(body_put(&x->up, words(body)));
	x->up.ended = true;
	exchange_events.body_filled(x, &w->client);
}

static void a_body_that_decides_is_sent_after_it_did(void **state)
{
	struct exchange *x = ask_graphql();

	collect(x, "{\"query\":\"query { viewer { login } }\"}");
	assert_int_equal(w->sent, 1);
	assert_false(w->expects); /* it was told 100 by us */
	assert_told("server send;");
	assert_int_equal(x->up.passed, 0);
	/* It is judged by the same body again, which has left meanwhile. */
	body_take(&x->up, x->up.n);
	exchanges_rejudge(&w->xs);
	assert_told("");
}

static void a_body_that_is_refused_is_not_sent(void **state)
{
	collect(ask_graphql(), "{\"query\":\"mutation { deleteRef(input: {}) { x } }\"}");
	assert_int_equal(w->sent, 0);
	assert_string_equal(w->told,
			    "answer 403 operation-not-allowed;client send;client receive;");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(an_exchange_passes),
		T(a_body_goes_up_as_there_is_room),
		T(what_is_not_admitted_is_not_sent),
		T(another_authority_is_not_sent),
		T(the_body_of_a_refused_request_is_drained),
		T(a_server_that_is_lost_is_told),
		T(it_waits_for_a_server),
		T(those_that_wait_are_sent_in_their_order),
		T(it_is_sent_again_when_the_server_surely_did_nothing),
		T(it_is_not_sent_again_when_some_of_its_body_is_gone),
		T(a_cut_after_the_head_is_a_cut),
		T(a_client_that_goes_resets_the_server),
		T(an_early_answer_ends_the_request),
		T(alt_svc_does_not_pass),
		T(another_policy_refuses_what_was_not_answered),
		T(a_link_that_is_lost_fails_what_is_on_it),
		T(no_more_than_so_many_at_once),
		T(an_expectation_goes_to_the_server),
		T(a_body_that_decides_is_sent_after_it_did),
		T(a_body_that_is_refused_is_not_sent),
		T(without_a_log_a_request_waits),
		T(what_waited_too_long_for_the_log_is_refused),
		T(who_waits_for_a_server_is_not_refused_for_the_log),
		T(without_a_log_no_credential_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
