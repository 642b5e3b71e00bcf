/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only reads, in every reader's eyes: documents of GraphQL, bodies that hold them, batches of
 * LFS.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "broker/graphql.h"
#include "broker/lfs.h"

static bool document(const char *text)
{
	return graphql_document_is_query(span_of_string(text));
}

static bool body(const char *text)
{
	return graphql_body_is_query(span_of_string(text));
}

static void expect_all(bool (*is)(const char *), const char *const *texts, size_t n, bool want)
{
	for (size_t i = 0; i < n; i++)
		if (is(texts[i]) != want)
			fail_msg("%s: %s", want ? "refused" : "admitted", texts[i]);
}

#define EXPECT(is, texts, want) expect_all(is, texts, sg_array_len(texts), want)

static void test_queries(void **state)
{
	static const char *const queries[] = {
		"{a}",
		"query{a}",
		"query Q{a}",
		"query Q($x: [Int!]! = [1, -2.5e+3] @d, $y: In = {a: $x, b: [], c: {}}) @d(a: 1) {a}",
		("{ a: b(c: \"d\", e: \"\"\"block \" \\\"\"\" mutation { x }\"\"\", f: ENUM, g: true, "
		 "h: null) @skip(if: $v) { ... on T @d { c } ...F ... @include(if: true) {d} ... {e} } }"),
		"query A{a} query B{b} fragment F on T @d {c}",
		"fragment F on T {c} {a}",
		"\xef\xbb\xbf{a}",
		"#comment mutation { a }\n{a}#end",
		"{,,a,,,b,}",
		"{mutation subscription query fragment on}",
		"query mutation {mutation: subscription}",
		"query subscription {a}",
		"{a(b: \"\\u006d\\n\\\\\")}",
		"{a(b: \"na\xc3\xafve\", c: \"\"\"\xe2\x80\xa8\"\"\")}",
		"{a(b: \"\")}",
		"{a(b: \"\"\"\"\"\")}",
		"{a(b: 0, c: -0, d: 0.0, e: 0e0)}",
	};

	EXPECT(document, queries, true);
}

static void test_other_operations(void **state)
{
	static const char *const others[] = {
		"mutation{a}",
		"mutation M{a}",
		"subscription{a}",
		"query A{a} mutation B{b}",
		"mutation B{b} query A{a}",
		"{a} subscription {b}",
		"fragment F on T{a} mutation{b}",
		"#\nmutation{a}",
		"#\rmutation{a}",
		"#x\r\nmutation{a}",
		"{a}#\rmutation{a}",
		"{a(b:\"\")}mutation{a}",
		"{a(b:\"\\\"\")}mutation{a}",
		"{a(b:\"\"\"\\\"\"\"\"\"\")}mutation{a}",
		"\xef\xbb\xbfmutation{a}",
		",mutation{a}",
	};

	EXPECT(document, others, false);
}

static void test_malformed(void **state)
{
	static const char *const malformed[] = {
		"",
		" ",
		"fragment F on T {a}",
		"{}",
		"{a",
		"{a}}",
		"a",
		"Query{a}",
		"QUERY{a}",
		"query",
		"query($x){a}",
		"query(){a}",
		"query($x:){a}",
		"{a()}",
		"{a(b)}",
		"{a(b:)}",
		"{a(b:c d)}",
		"{a(b:[)}",
		"{a @}",
		"{a:}",
		"{..F}",
		"{...}",
		"{...on}",
		"{....F}",
		"{...F{a}}",
		"fragment on on T {a} {a}",
		"fragment F T {a} {a}",
		"fragment F($x:Int) on T {a} {a}",
		"type T {a: Int} {a}",
		"extend type T {a: Int} {a}",
		"schema {query: Q} {a}",
		"directive @d on FIELD {a}",
		"\"\"\"description\"\"\" query {a}",
		"{a(b:\"x\ny\")}",
		"{a(b:\"x)}",
		"{a(b:\"\\x\")}",
		"{a(b:\"\\u12g4\")}",
		"{a(b:\"\\u12\")}",
		"{a(b:\"\"\"x)}",
		"{a(b:\"\"\"\\\\\"\"\")}",
		"{a(b:\"\"\"x\\\"\"\")}",
		"{a(b:00)}",
		"{a(b:01)}",
		"{a(b:-)}",
		"{a(b:1.)}",
		"{a(b:1e)}",
		"{a(b:0x1)}",
		"{a(b:1.2.3)}",
		"{a(b:1a)}",
		"{a(b:'x')}",
		"{a\x01}",
		"{a\x0b}",
		"{a\x7f}",
		"{a(b:\"\x01\")}",
		"{n\xc3\xa4me}",
		"{a}\xef\xbb\xbf",
		"{a} ;",
		"{a} & {b}",
		/* lines of some readers end there, and what follows is no comment any more */
		"{a} #\xe2\x80\xa8 mutation{b}",
		"{a} #\xe2\x80\xa9 mutation{b}",
		"{a} #\xc2\x85 mutation{b}",
		"{a} #\x0b mutation{b}",
	};

	EXPECT(document, malformed, false);
	assert_false(graphql_document_is_query(span_of("{a}\0", 4)));
	assert_false(graphql_document_is_query(span_of("#\0\n{a}", 6)));
	assert_false(graphql_document_is_query(span_of("{a(b:\"\0\")}", 10)));
}

/* `depth` times `open`, and as often `close`, around what stands in the middle. */
static bool nested(const char *before, const char *open, size_t depth, const char *middle,
		   const char *close, const char *behind)
{
	char text[8192] = "";
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", before);

	for (size_t i = 0; i < depth; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", open);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", middle);
	for (size_t i = 0; i < depth; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", close);
	snprintf(text + n, sizeof(text) - n, "%s", behind);
	return document(text);
}

static void test_depth(void **state)
{
	assert_true(nested("", "{a", GRAPHQL_DEPTH_MAX, "", "}", ""));
	assert_false(nested("", "{a", GRAPHQL_DEPTH_MAX + 1, "", "}", ""));
	assert_true(nested("{a(b:", "[", GRAPHQL_DEPTH_MAX - 1, "", "]", ")}"));
	assert_false(nested("{a(b:", "[", GRAPHQL_DEPTH_MAX, "", "]", ")}"));
	assert_true(nested("query($x:", "[", GRAPHQL_DEPTH_MAX - 1, "T", "]", "){a}"));
	assert_false(nested("query($x:", "[", GRAPHQL_DEPTH_MAX, "T", "]", "){a}"));
	assert_false(nested("", "{a", 2000, "", "", ""));
}

static void test_bodies(void **state)
{
	static const char *const queries[] = {
		"{\"query\":\"{a}\"}",
		"{\"query\":\"query Q{a}\",\"variables\":{\"x\":[1,{}]},\"operationName\":\"Q\"}",
		"{\"query\":\"{a}\",\"variables\":null,\"operationName\":null,\"extensions\":null}",
		"{\"query\":\"{a}\",\"extensions\":{\"clientLibrary\":{\"name\":\"x\"}}}",
		"[{\"query\":\"{a}\"},{\"query\":\"{b}\"}]",
		" {\"qu\\u0065ry\" : \"{a}\"} ",
		"{\"query\":\"{a}\",\"variables\":{\"q\":\"mutation{a}\",\"query\":\"mutation{a}\"}}",
	};
	static const char *const others[] = {
		"",
		"x",
		"null",
		"[]",
		"{}",
		"\"{a}\"",
		"{\"query\":null}",
		"{\"query\":[\"{a}\"]}",
		"{\"query\":\"\"}",
		"{\"query\":\"mutation{a}\"}",
		"{\"query\":\"\\u006dutation{a}\"}",
		"{\"query\":\"{a}#\\nmutation{b}\"}",
		"[{\"query\":\"{a}\"},{\"query\":\"mutation{b}\"}]",
		"[[{\"query\":\"{a}\"}]]",
		"{\"query\":\"{a}\",\"query\":\"mutation{a}\"}",
		"{\"query\":\"mutation{a}\",\"query\":\"{a}\"}",
		"{\"query\":\"{a}\",\"qu\\u0065ry\":\"mutation{a}\"}",
		"{\"query\":\"{a}\",\"Query\":\"mutation{a}\"}",
		"{\"query\":\"{a}\",\"QUERY\":\"mutation{a}\"}",
		"{\"query\":\"{a}\",\"documentId\":\"1\"}",
		"{\"query\":\"{a}\",\"id\":\"1\"}",
		"{\"query\":\"{a}\",\"extensions\":{\"persistedQuery\":{\"sha256Hash\":\"1\"}}}",
		"{\"query\":\"{a}\",\"extensions\":{\"PersistedQuery\":{}}}",
		"{\"extensions\":{\"persistedQuery\":{\"version\":1,\"sha256Hash\":\"1\"}}}",
		"{\"query\":\"{a}\",\"extensions\":[]}",
		"{\"query\":\"{a}\",\"operationName\":1}",
		"{\"query\":\"{a}\"}{\"query\":\"mutation{a}\"}",
		"{\"query\":\"{a}\"} x",
		"{\"query\":\"{a}\",}",
		"{'query':'{a}'}",
		"{query:\"{a}\"}",
		"{\"query\":\"{a}\"/*,\"query\":\"mutation{a}\"*/}",
		"{\"query\":\"{a}\\u0000\"}",
		"{\"query\\u0000\":\"{a}\"}",
		"\xef\xbb\xbf{\"query\":\"{a}\"}",
		"{\"query\":\"\xff{a}\"}",
	};

	EXPECT(body, queries, true);
	EXPECT(body, others, false);
}

static void test_deep_json(void **state)
{
	char text[512] = "{\"query\":\"{a}\",\"variables\":";
	size_t n = strlen(text);

	/* with the object around it one more than there may be; brackets in strings do not count */
	memset(text + n, '[', 64);
	memset(text + n + 64, ']', 64);
	strcpy(text + n + 128, "}");
	assert_false(body(text));
	memmove(text + n, text + n + 1, strlen(text + n));
	text[strlen(text) - 2] = '}';
	text[strlen(text) - 1] = 0;
	assert_true(body(text));
	assert_true(body(
		"{\"query\":\"{a}\",\"variables\":{\"x\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"{{{{{{{{\"}}"));
}

static bool download(const char *text)
{
	return lfs_batch_is(span_of_string(text), "download");
}

static void test_lfs(void **state)
{
	static const char *const downloads[] = {
		"{\"operation\":\"download\",\"objects\":[]}",
		("{\"operation\":\"download\",\"transfers\":[\"basic\"],\"ref\":{\"name\":\"r\"},"
		 "\"objects\":[{\"oid\":\"1\",\"size\":1}],\"hash_algo\":\"sha256\"}"),
		"{\"objects\":[{\"operation\":\"upload\"}],\"operation\":\"d\\u006fwnload\"}",
	};
	static const char *const others[] = {
		"",
		"[]",
		"{}",
		"{\"operation\":\"upload\",\"objects\":[]}",
		"{\"operation\":\"Download\"}",
		"{\"operation\":\"download \"}",
		"{\"operation\":[\"download\"]}",
		"{\"operation\":\"download\",\"operation\":\"upload\"}",
		"{\"operation\":\"upload\",\"operation\":\"download\"}",
		"{\"operation\":\"download\",\"op\\u0065ration\":\"upload\"}",
		"{\"operation\":\"download\",\"Operation\":\"upload\"}",
		"{\"operation\":\"download\",\"method\":\"upload\"}",
		"[{\"operation\":\"download\"}]",
		"{\"operation\":\"download\"}{\"operation\":\"upload\"}",
	};

	EXPECT(download, downloads, true);
	EXPECT(download, others, false);
	assert_true(lfs_batch_is(span_of_string("{\"operation\":\"upload\"}"), "upload"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queries),	  cmocka_unit_test(test_other_operations),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_bodies),	  cmocka_unit_test(test_deep_json),
		cmocka_unit_test(test_lfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
