/* SPDX-License-Identifier: Apache-2.0 */
/* broker.md 4: an echo of a secret in an answer is masked, in whatever shape and across any split.
 */
#include "vault_rig.h"

#include "broker/carrier.h"
#include "broker/shapes.h"

#define CREDENTIAL "  - {host: api.example.com, basic: user, from: 'env:T'}\n"

enum { TEXT_MAX = 200000 };

/* A request to that server, as far as masking asks. */
static const struct message *request_to(const char *host, uint16_t port)
{
	static struct message request;

	message_init(&request);
	request.has_host = true;
	request.port = port;
	assert_int_equal(name_parse_ascii(host, strlen(host), &request.host), NAME_OK);
	return &request;
}

static const struct message *own_request(void)
{
	return request_to("api.example.com", 443);
}

static void answer(struct rig *r, const char *const *fields)
{
	message_free(&r->m);
	r->m.status = 200;
	for (; fields && fields[0]; fields += 2)
		assert_true(
			message_add(&r->m, span_of_string(fields[0]), span_of_string(fields[1])));
}

/* Each octet of `s` by its own letter of `how`: as it is, %XX, %xx, \uXXXX; the letters go round.
 */
static void spell(struct buf *out, const char *s, const char *how)
{
	char text[8];

	for (size_t i = 0; s[i]; i++) {
		char c = how[i % strlen(how)];

		snprintf(text, sizeof(text),
			 c == 'P'   ? "%%%02X"
			 : c == 'p' ? "%%%02x"
			 : c == 'u' ? "\\u%04x"
				    : "%c",
			 (unsigned char)s[i]);
		buf_put_text(out, text);
	}
}

static const char base64_std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void put_base64(struct buf *out, const char *s, const char *alphabet)
{
	size_t n = strlen(s);

	for (size_t bit = 0; bit < n * 8; bit += 6) {
		unsigned v = 0;

		for (size_t i = bit; i < bit + 6; i++)
			v = v << 1 |
			    (i < n * 8 ? (unsigned)(unsigned char)s[i / 8] >> (7 - i % 8) & 1 : 0);
		buf_put_u8(out, (uint8_t)alphabet[v]);
	}
}

enum { SPELLINGS = 17 };

/* The i-th way to write the secret down. */
static void echo(struct buf *out, const char *secret, unsigned i)
{
	static const char *const hows[] = {"-", "P", "p", "u", "-P", "u-", "pPu-"};
	char inner[600], text[900];
	struct buf b = buf_of(text, sizeof(text) - 1);

	if (i < 7) {
		spell(out, secret, hows[i]);
		return;
	}
	/* base64 with 0 to 2 octets before it, or as Basic, in both alphabets; the last ones
	 * percent-encoded. */
	snprintf(inner, sizeof(inner), "%s%s%s", (const char *[]){"", "u", "ux", "user:"}[i % 4],
		 secret, i % 3 ? "" : "-behind");
	put_base64(i < 15 ? out : &b, inner, i % 2 ? base64_std : base64_url);
	text[b.n] = 0;
	if (i >= 15)
		query_put_encoded(out, span_of_string(text));
}

/* No run of the secret that is long enough to be of use, however it is written, is left. */
static void assert_no_trace(struct span text, const char *secret)
{
	uint8_t room[SHAPES_MEMORY(SECRET_MAX)];
	struct buf memory = buf_of(room, sizeof(room));
	struct shape_found found;
	struct shapes shapes;

	assert_true(shapes_make(span_of_string(secret), &memory, &shapes));
	if (shapes_find(&shapes, text, 0, &found) && !found.cut)
		fail_msg("left at %zu: %.*s", found.at, (int)found.n,
			 (const char *)text.p + found.at);
	assert_null(memmem(text.p, text.n, secret, strlen(secret)));
}

/* As the way of a body has it: what is not ready comes again with what follows; the last of it goes
 * as it is. */
static void feed(struct rig *r, const uint8_t *text, size_t n, size_t step, uint8_t *out)
{
	struct mask *m = mask_new(r->v, own_request(), &r->m);
	size_t done = 0, ready;

	assert_non_null(m);
	memcpy(out, text, n);
	for (size_t upto = 0; upto < n;) {
		upto = upto + step < n ? upto + step : n;
		mask_apply(m, out + done, upto - done, &ready);
		assert_true(ready <= upto - done);
		done += ready;
	}
	mask_free(m);
}

static void an_echo_is_masked_across_any_split(void **state)
{
	static const char *const secrets[] = {SECRET, "ghp_0123456789abcdefABCDEF",
					      "\"quo/ted\\ one\"", "%41%42percent+plus",
					      "aaaaaaaaaaaaaaaa"};
	static uint8_t text[4096], out[4096];

	for (size_t s = 0; s < sg_array_len(secrets); s++)
		for (unsigned i = 0; i < SPELLINGS; i++) {
			struct buf b = buf_of(text, sizeof(text));
			struct rig r;
			size_t from, upto;

			rig_begin(&r, CREDENTIAL);
			rig_put(&r, 0, secrets[s]);
			answer(&r, NULL);
			buf_put_text(&b, "{\"echo\": \"a%4 \\u00 ");
			from = b.n;
			echo(&b, secrets[s], i);
			upto = b.n;
			buf_put_text(&b, "\", \"more\": 1}");
			for (size_t step = 1; step <= b.n; step++) {
				feed(&r, text, b.n, step, out);
				assert_no_trace(span_of(out, b.n), secrets[s]);
				assert_memory_equal(out, text, from);
				assert_memory_equal(out + upto, text + upto, b.n - upto);
			}
			rig_end(&r);
		}
}

static void what_is_no_echo_is_left(void **state)
{
	static const char *const texts[] = {"", "s3cr3t/Token", "s3cr3t/Token+of=the&perso",
					    "%73%33\\u00", "S3CR3T/TOKEN+OF=THE&PERSON"};
	uint8_t out[256];
	struct rig r;

	rig_begin(&r, CREDENTIAL);
	rig_put(&r, 0, SECRET);
	answer(&r, NULL);
	for (size_t i = 0; i < sg_array_len(texts); i++)
		for (size_t step = 1; step <= strlen(texts[i]); step++) {
			feed(&r, (const uint8_t *)texts[i], strlen(texts[i]), step, out);
			assert_memory_equal(out, texts[i], strlen(texts[i]));
		}
	rig_end(&r);
}

/* One that begins in the first 64 KiB is masked whole, the next one is not looked for. */
static void the_first_64_kib_are_looked_at(void **state)
{
	static uint8_t text[TEXT_MAX], out[TEXT_MAX];
	static const size_t ats[] = {0, 65535 - sizeof(SECRET), 65535, 65536, 70000};
	static const size_t steps[] = {1000, 65536, TEXT_MAX};
	struct rig r;

	rig_begin(&r, CREDENTIAL);
	rig_put(&r, 0, SECRET);
	answer(&r, NULL);
	for (size_t i = 0; i < sg_array_len(ats); i++)
		for (size_t j = 0; j < sg_array_len(steps); j++) {
			memset(text, '.', sizeof(text));
			memcpy(text + ats[i], SECRET, sizeof(SECRET) - 1);
			feed(&r, text, sizeof(text), steps[j], out);
			assert_int_equal(memmem(out, sizeof(out), SECRET, sizeof(SECRET) - 1) ==
						 NULL,
					 ats[i] < 65536);
		}
	rig_end(&r);
}

static void text_is_told_by_its_type(void **state)
{
	static const struct {
		const char *type, *coding;
		enum message_body body;
		bool masked;
	} rows[] = {
		{NULL, NULL, MESSAGE_BODY_STREAM, true},
		{"text/html; charset=utf-8", NULL, MESSAGE_BODY_STREAM, true},
		{"TEXT/event-stream", NULL, MESSAGE_BODY_STREAM, true},
		{"application/json", NULL, MESSAGE_BODY_STREAM, true},
		{"message/http", NULL, MESSAGE_BODY_STREAM, true},
		{"application/vnd.github+json", NULL, MESSAGE_BODY_STREAM, true},
		{"image/svg+xml", "identity", MESSAGE_BODY_STREAM, true},
		{"application/octet-stream", NULL, MESSAGE_BODY_STREAM, false},
		{"application/grpc", NULL, MESSAGE_BODY_STREAM, false},
		/* What is only said to be something else is masked all the same. */
		{"text/plain", "gzip", MESSAGE_BODY_STREAM, true},
		{"text/plain", "gzip", MESSAGE_BODY_LENGTH, true},
		{"application/octet-stream", NULL, MESSAGE_BODY_LENGTH, true},
		{"image/png", "br", MESSAGE_BODY_LENGTH, true},
	};
	struct rig r;

	rig_begin(&r, CREDENTIAL);
	answer(&r, NULL);
	assert_null(mask_new(r.v, own_request(), &r.m));
	rig_put(&r, 0, SECRET);
	for (size_t i = 0; i < sg_array_len(rows); i++) {
		const char *fields[] = {rows[i].coding ? "content-encoding" : NULL, rows[i].coding,
					NULL};
		struct mask *m;

		answer(&r, fields);
		if (rows[i].type)
			assert_true(message_add(&r.m, span_of_string("content-type"),
						span_of_string(rows[i].type)));
		r.m.body = rows[i].body;
		m = mask_new(r.v, own_request(), &r.m);
		assert_int_equal(m != NULL, rows[i].masked);
		mask_free(m);
	}
	rig_end(&r);
}

static void fields_of_answers_and_trailers_are_masked(void **state)
{
	for (unsigned i = 0; i < SPELLINGS; i++) {
		char text[1024];
		struct buf b = buf_of(text, sizeof(text) - 1);
		const char *const fields[] = {"location", text, "x-other", "kept", NULL};
		struct rig r;

		echo(&b, SECRET, i);
		text[b.n] = 0;
		rig_begin(&r, CREDENTIAL);
		rig_put(&r, 0, SECRET);
		answer(&r, fields);
		vault_mask_head(r.v, own_request(), &r.m);
		assert_no_trace(message_find(&r.m, "location", NULL)->value, SECRET);
		assert_int_equal(message_find(&r.m, "location", NULL)->value.n, b.n);
		assert_string_equal(rig_field(&r, "x-other"), "kept");
		rig_end(&r);
	}
}

/* The parts of one credential: what was sent last, what is sent now, and what it is fetched with.
 */
static void every_part_is_masked(void **state)
{
	static const struct {
		enum secret_part part;
		const char *secret;
	} rows[] = {
		{PART_VALUE, "the-old-value"},	 {PART_VALUE, "the-new-value"},
		{PART_REFRESH, "refresh-token"}, {PART_CLIENT_SECRET, "client-secret"},
		{PART_SESSION, "session-token"},
	};
	static const char text[] =
		"the-old-value the-new-value refresh-token client-secret session-token";
	struct rig r;
	struct err e;
	uint8_t out[sizeof(text)];

	rig_begin(&r, CREDENTIAL);
	for (size_t i = 0; i < sg_array_len(rows); i++)
		assert_int_equal(
			vault_put(r.v, 0, rows[i].part, span_of_string(rows[i].secret), 0, &e), 0);
	answer(&r, NULL);
	feed(&r, (const uint8_t *)text, sizeof(text), sizeof(text), out);
	for (size_t i = 0; i < sg_array_len(rows); i++)
		assert_no_trace(span_of(out, sizeof(out)), rows[i].secret);
	rig_end(&r);
}

/* Of the agent's own, it could send guesses, and see which are masked or waited for. */
static void an_answer_of_another_server_says_nothing(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool masked;
	} rows[] = {
		{"api.example.com", 443, true},	  {"api.example.com", 8443, false},
		{"www.example.com", 443, false},  {"example.com", 443, false},
		{"login.example.com", 443, true}, {"login.example.com", 80, false},
	};
	static const char *const fields[] = {"x-guess", SECRET, NULL};
	struct rig r;
	struct err e;

	rig_begin(&r, "  - {host: api.example.com, header: X-A, value: '${secret}', from: 'env:T', "
		      "refresh: {url: 'https://login.example.com/token', client_id: me}}\n");
	rig_put(&r, 0, SECRET);
	assert_int_equal(vault_put(r.v, 0, PART_VALUE, span_of_string("access-token"), 0, &e), 0);
	for (size_t i = 0; i < sg_array_len(rows); i++) {
		const struct message *request = request_to(rows[i].host, rows[i].port);
		struct mask *m;

		answer(&r, fields);
		m = mask_new(r.v, request, &r.m);
		assert_int_equal(m != NULL, rows[i].masked);
		mask_free(m);
		vault_mask_head(r.v, request, &r.m);
		assert_int_equal(rig_holds(&r, SECRET), !rows[i].masked);
	}
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_echo_is_masked_across_any_split),
		cmocka_unit_test(what_is_no_echo_is_left),
		cmocka_unit_test(the_first_64_kib_are_looked_at),
		cmocka_unit_test(text_is_told_by_its_type),
		cmocka_unit_test(fields_of_answers_and_trailers_are_masked),
		cmocka_unit_test(every_part_is_masked),
		cmocka_unit_test(an_answer_of_another_server_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
