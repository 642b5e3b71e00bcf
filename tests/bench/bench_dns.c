/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_dns: answers a second per core that the gate gives without asking anybody, one JSON
 * object a line.
 *
 *     bench_dns [REPEATS]
 *
 * From the octets of a question to those of its answer: parse, decide, name table, vet, build. The
 * policy and the table hold NAMES names, asked in random order. CPU time of this thread; the median
 * of REPEATS (5) runs. Without a record of each, and with one in a ring that another thread
 * empties; the two in turn, so that whatever else the machine does falls on both.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "gate/dns_server.h"

enum { NAMES = 3500, QUESTIONS = 1 << 16, REPEATS_MAX = 99, QUESTION_SIZE = 128 };

struct question {
	uint16_t n;
	uint8_t octets[QUESTION_SIZE];
};

struct bench {
	struct dns_server_config config;
	struct gate_totals totals;
	const struct ruleset *rules;
	struct dns_server *server[2]; /* without and with records */
	struct journal *journal[2];
	struct ring *ring;
	pthread_t reader;
	atomic_bool stop;
	struct question *questions;
	size_t octets; /* of all answers: proof that there were any */
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static size_t next_random(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)state;
}

static struct name make_name(size_t i, const char *zone)
{
	char text[96];
	struct name name;

	snprintf(text, sizeof(text), "host%zu.region%zu.%s", i, i % 7, zone);
	if (name_parse_ascii(text, strlen(text), &name) != NAME_OK)
		die(1, "bench_dns: %s is no name", text);
	return name;
}

static void make_questions(struct bench *b, const char *zone)
{
	for (size_t i = 0; i < QUESTIONS; i++) {
		struct name name = make_name(next_random() % NAMES, zone);
		uint8_t octets[DNS_QUESTION_MAX];
		struct question *q = &b->questions[i];

		q->n = (uint16_t)dns_question_build(&name, DNS_A, (uint16_t)i, true, octets);
		if (q->n > QUESTION_SIZE)
			die(1, "bench_dns: a question is too long");
		memcpy(q->octets, octets, q->n);
	}
}

static void on_reply(void *ctx, const struct dns_client *client, enum reason why,
		     struct span message)
{
	struct bench *b = ctx;

	b->octets += message.n;
}

/* As the sealer does, but for what it does with them. */
static void *empty_ring(void *p)
{
	struct bench *b = p;
	struct record r;

	while (!b->stop)
		if (!ring_take(b->ring, &r))
			sched_yield();
	return NULL;
}

static double time_answers(struct bench *b, struct dns_server *server)
{
	static const struct dns_client client = {0};
	mono_t now = loop_now(b->config.loop);
	double start = cpu_ns();

	for (size_t i = 0; i < QUESTIONS; i++)
		dns_server_query(server, &client,
				 span_of(b->questions[i].octets, b->questions[i].n), now);
	return (cpu_ns() - start) / QUESTIONS;
}

static void measure(struct bench *b, const char *what, const char *zone, unsigned repeats)
{
	struct dns_counters before;
	double ns[2][REPEATS_MAX];

	make_questions(b, zone);
	before = *b->totals.dns;
	for (unsigned r = 0; r < repeats; r++)
		for (unsigned i = 0; i < 2; i++)
			ns[i][r] = time_answers(b, b->server[i]);
	if (b->totals.dns->failed != before.failed || b->octets == 0)
		die(1, "bench_dns: a question went to the resolver");
	for (unsigned i = 0; i < 2; i++) {
		qsort(ns[i], repeats, sizeof(*ns[i]), by_value);
		printf("{\"bench\":\"dns\",\"asked\":\"%s\",\"noted\":%s,\"ns\":%.0f,"
		       "\"answers_per_second\":%.0f,\"goal_answers_per_second\":60000}\n",
		       what, i ? "true" : "false", ns[i][repeats / 2], 1e9 / ns[i][repeats / 2]);
	}
	fflush(stdout);
}

static void make_rules(struct bench *b)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = NET_DENY;
	for (size_t i = 0; i < NAMES; i++) {
		struct name one = make_name(i, "one.example"), many = make_name(i, "many.example");

		if (policy_add_rule(&p, EFFECT_ALLOW, one.s, &e) != 0 ||
		    policy_add_rule(&p, EFFECT_ALLOW, many.s, &e) != 0)
			die(1, "bench_dns: %s", e.text);
	}
	b->rules = ruleset_compile(&p, 1, &e);
	if (!b->rules)
		die(1, "bench_dns: %s", e.text);
	policy_free(&p);
}

/* One address for the names of one zone, sixteen for those of the other. */
static void fill_table(struct bench *b)
{
	mono_t now = loop_now(b->config.loop);
	struct addr addrs[NAMES_ANSWER_MAX];

	for (size_t i = 0; i < NAMES_ANSWER_MAX; i++)
		addrs[i] = addr_from_v4((const uint8_t[]){93, 184, 1, (uint8_t)i});
	for (size_t i = 0; i < NAMES; i++) {
		struct name one = make_name(i, "one.example"), many = make_name(i, "many.example");

		names_bind(b->config.names, &one, NAMES_A, addrs, 1, NAMES_TTL_MAX, NAMES_SHOWN,
			   now);
		names_bind(b->config.names, &many, NAMES_A, addrs, NAMES_ANSWER_MAX, NAMES_TTL_MAX,
			   NAMES_SHOWN, now);
	}
}

static void open_ring(struct bench *b)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct err e;

	b->ring = ring_map(fd, &e);
	if (!b->ring || pthread_create(&b->reader, NULL, empty_ring, b) != 0)
		die(1, "bench_dns: no ring");
	close(fd);
}

static void open_server(struct bench *b)
{
	static const struct resolver_config no_servers = {0};
	static const struct remedy_for remedy = {.sandbox = "bench"};
	struct err e;

	if (totals_make(&b->totals, &e) != 0)
		die(1, "bench_dns: %s", e.text);

	open_ring(b);
	b->journal[0] = journal_new(b->totals.refusals, NULL, -1);
	b->journal[1] = journal_new(b->totals.refusals, b->ring, -1);
	b->config = (struct dns_server_config){
		.loop = loop_new(8),
		.names = names_new(),
		.journal = b->journal[0],
		.wildcards = b->totals.wildcards,
		.counters = b->totals.dns,
		.remedy = &remedy,
		.rules = &b->rules,
		.reply = on_reply,
		.ctx = b,
	};
	b->config.resolver = resolver_new(b->config.loop, &no_servers, &e);
	if (!b->config.resolver)
		die(1, "bench_dns: %s", e.text);
	b->server[0] = dns_server_new(&b->config);
	b->config.journal = b->journal[1];
	b->server[1] = dns_server_new(&b->config);
	b->questions = calloc(QUESTIONS, sizeof(*b->questions));
	if (!b->server[0] || !b->server[1] || !b->questions)
		die(1, "bench_dns: out of memory");
}

int main(int argc, char **argv)
{
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
	struct bench b = {0};

	if (repeats == 0 || repeats > REPEATS_MAX)
		die(2, "bench_dns: REPEATS is a number from 1 to %d", REPEATS_MAX);
	open_server(&b);
	make_rules(&b);
	fill_table(&b);
	measure(&b, "one-address", "one.example", repeats);
	measure(&b, "sixteen-addresses", "many.example", repeats);
	measure(&b, "refused", "refused.example", repeats);
	b.stop = true;
	pthread_join(b.reader, NULL);
	ring_unmap(b.ring);
	dns_server_free(b.server[0]);
	dns_server_free(b.server[1]);
	resolver_free(b.config.resolver);
	names_free(b.config.names);
	journal_free(b.journal[0]);
	journal_free(b.journal[1]);
	totals_free(&b.totals);
	ruleset_free((struct ruleset *)b.rules);
	loop_free(b.config.loop);
	free(b.questions);
	return 0;
}
