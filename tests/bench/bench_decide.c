/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_decide: what a decision, a compilation and a name cost, one JSON object a line.
 *
 *     bench_decide [REPEATS]
 *
 * Policies of 100, 10,000 and 1,000,000 names (one in ten a wildcard) are asked
 * for names that are listed, names below a wildcard and names that are not
 * listed, in an order that defeats the caches. Then whether a connection has to
 * be opened, with 100 rules and every permission that anybody may have on. Each
 * number is the median of REPEATS (5) runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "policy/inspects.h"
#include "policy/ruleset.h"

enum { QUESTIONS = 1 << 16, REPEATS_MAX = 99 };

/* CPU time of this thread: what other programs on the machine do is not counted. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const size_t sizes[] = {100, 10000, 1000000};

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static bool is_wildcard(size_t i)
{
	return i % 10 == 0;
}

static void make_policy(struct policy *p, size_t names)
{
	char text[128];
	struct err e;

	policy_init(p);
	p->network = NET_DENY;
	for (size_t i = 0; i < names; i++) {
		snprintf(text, sizeof(text), "%sn%zu.region%zu.example%zu.com",
			 is_wildcard(i) ? "*." : "", i, i % 7, i % 1000);
		if (policy_add_rule(p, EFFECT_ALLOW, text, &e))
			die(1, "%s", e.text);
	}
}

enum question_kind { LISTED, BELOW_WILDCARD, UNLISTED, QUESTION_KINDS };
static const char *const kind_words[] = {"listed", "below-wildcard", "unlisted"};

static void make_question(enum question_kind kind, size_t names, struct name *out)
{
	size_t i = next_random() % names;
	char text[128];

	i -= is_wildcard(i) != (kind == BELOW_WILDCARD) ? i % 10 : 0;
	if (kind == LISTED && is_wildcard(i))
		i++;
	snprintf(text, sizeof(text), "%sn%zu%s.region%zu.example%zu.com",
		 kind == BELOW_WILDCARD ? "host." : "", i, kind == UNLISTED ? "x" : "", i % 7,
		 i % 1000);
	if (name_parse_ascii(text, strlen(text), out) != NAME_OK)
		die(1, "%s is no name", text);
}

/* Names one after another, each its length and its octets: read as fast as they come. */
static double time_decisions(const struct ruleset *rs, const char *names, bool expected)
{
	static const struct addr addr = {{[10] = 0xff, [11] = 0xff, [12] = 93, [15] = 1}};
	struct destination d = {
		.kind = DEST_CONNECT, .addr = &addr, .port = 443, .proto = PROTO_TCP};
	struct name name;
	size_t allowed = 0;
	struct verdict v;
	double start = cpu_ns();

	d.name = &name;
	for (size_t i = 0; i < QUESTIONS; i++) {
		name.n = (uint8_t)*names;
		memcpy(name.s, names + 1, name.n + 1u);
		names += name.n + 2;
		decide(rs, NULL, &d, &v);
		allowed += v.allow;
	}
	if (allowed != (expected ? QUESTIONS : 0))
		die(1, "a decision was wrong");
	return (cpu_ns() - start) / QUESTIONS;
}

static void make_questions(enum question_kind kind, size_t names, char *out)
{
	struct name name;

	for (size_t i = 0; i < QUESTIONS; i++) {
		make_question(kind, names, &name);
		*out = (char)name.n;
		memcpy(out + 1, name.s, name.n + 1u);
		out += name.n + 2;
	}
}

static void bench_decisions(const struct ruleset *rs, size_t names, unsigned repeats)
{
	char *asked = calloc(QUESTIONS, sizeof(struct name) + 1);
	double ns[REPEATS_MAX];

	if (!asked)
		die(1, "out of memory");
	for (int kind = 0; kind < QUESTION_KINDS; kind++) {
		for (unsigned r = 0; r < repeats; r++) {
			make_questions((enum question_kind)kind, names, asked);
			ns[r] = time_decisions(rs, asked, kind != UNLISTED);
		}
		printf("{\"bench\":\"decide\",\"names\":%zu,\"asked\":\"%s\",\"ns\":%.1f,"
		       "\"goal_ns\":%d}\n",
		       names, kind_words[kind], median(ns, repeats), names > 100 ? 300 : 100);
		fflush(stdout);
	}
	free(asked);
}

static void bench_size(size_t names, unsigned repeats)
{
	struct ruleset *rs = NULL;
	double seconds[REPEATS_MAX];
	size_t size, octets;
	struct policy p;
	struct err e;

	make_policy(&p, names);
	for (unsigned r = 0; r < repeats; r++) {
		double start;

		ruleset_free(rs);
		start = cpu_ns();
		rs = ruleset_compile(&p, 1, &e);
		seconds[r] = (cpu_ns() - start) / 1e9;
		if (!rs)
			die(1, "%s", e.text);
	}
	size = ruleset_size(rs, &octets) - octets;
	printf("{\"bench\":\"compile\",\"names\":%zu,\"seconds\":%.4f,\"goal_seconds\":1,"
	       "\"bytes_a_name\":%.1f,\"goal_bytes_a_name\":64}\n",
	       names, median(seconds, repeats), (double)size / (double)names);
	policy_free(&p);
	bench_decisions(rs, names, repeats);
	ruleset_free(rs);
}

/* ---- Whether a connection is opened ---- */

static struct ruleset *compile_with_permissions(void)
{
	static const char *const ids[] = {"github",	    "gitlab",	       "bitbucket",
					  "huggingface",    "install",	       "install:container",
					  "install:system", "model:anthropic", "error-reports"};
	const struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct ruleset *rs = NULL;
	struct policy p;
	struct err e;

	make_policy(&p, 100);
	for (size_t i = 0; i < sg_array_len(ids); i++)
		if (policy_add_permission(&p, ids[i], &e))
			die(1, "%s", e.text);
	if (policy_resolve(&p, &sources, &e) || !(rs = ruleset_compile(&p, 1, &e)))
		die(1, "%s", e.text);
	policy_free(&p);
	return rs;
}

static void bench_inspects(const struct ruleset *rs, const char *host, enum inspects_why expected,
			   unsigned repeats)
{
	static const struct addr addr = {{[10] = 0xff, [11] = 0xff, [12] = 93, [15] = 1}};
	double ns[REPEATS_MAX];
	struct name name;

	if (name_parse_ascii(host, strlen(host), &name) != NAME_OK)
		die(1, "%s is no name", host);
	for (unsigned r = 0; r < repeats; r++) {
		double start = cpu_ns();

		for (size_t i = 0; i < QUESTIONS; i++)
			if (policy_inspects(rs, catalogue_builtin(), NULL, &name, &addr, 443) !=
			    expected)
				die(1, "%s: an answer was wrong", host);
		ns[r] = (cpu_ns() - start) / QUESTIONS;
	}
	printf("{\"bench\":\"inspects\",\"asked\":\"%s\",\"ns\":%.1f,\"goal_ns\":1000}\n", host,
	       median(ns, repeats));
	fflush(stdout);
}

static void bench_opening(unsigned repeats)
{
	struct ruleset *rs = compile_with_permissions();

	bench_inspects(rs, "github.com", INSPECTS_OPERATIONS, repeats);
	bench_inspects(rs, "n11.region4.example11.com", INSPECTS_NOT, repeats);
	bench_inspects(rs, "a.b.c.d.unlisted.example.com", INSPECTS_NOT, repeats);
	ruleset_free(rs);
}

int main(int argc, char **argv)
{
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;

	if (repeats == 0 || repeats > REPEATS_MAX)
		die(2, "bench_decide: REPEATS is a number from 1 to %d", REPEATS_MAX);
	for (size_t i = 0; i < sg_array_len(sizes); i++)
		bench_size(sizes[i], repeats);
	bench_opening(repeats);
	return 0;
}
