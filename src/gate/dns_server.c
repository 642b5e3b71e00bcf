/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DNS server of the sandbox.
 *
 * Theory of operation. A question is judged in the order of judge() and answered at once when it
 * is refused, when the gate answers it by itself, or when the name table still has an answer.
 * Otherwise it takes a place of a fixed pool and waits for the resolver; the answer is
 * judged anew, under the policy of that moment. A place is given back once its reply was made:
 * the resolver answers each lookup exactly once, so none is lost. When the pool is empty the
 * question fails at once.
 *
 * A refused name never reaches the resolver.
 */
#include "gate/dns_server.h"

#include <sys/mman.h>

#include "gate/dns_answer.h"
#include "gate/dns_own.h"

enum {
	PENDING_MAX = 512,
	HOSTS_TTL = 5, /* of the host's hosts file, which may change at any time */
};

struct pending {
	struct lookup lookup;
	struct dns_server *server;
	struct pending *next; /* free */
	struct dns_client client;
	struct dns_query query;
	struct name name;
};

struct dns_server {
	struct dns_desk desk;
	struct pending *free;
	size_t n_used; /* places that were ever taken: the others are untouched memory */
	struct pending pool[PENDING_MAX];
};

/* --- waiting for the resolver --- */

static void pending_release(struct pending *p)
{
	p->next = p->server->free;
	p->server->free = p;
}

/* The policy may have changed since the question was asked. */
static void resolved(struct lookup *l, const struct dns_message *answer)
{
	struct pending *p = sg_container_of(l, struct pending, lookup);
	struct dns_desk *desk = &p->server->desk;
	struct question qn = {desk, &p->client, &p->query, &p->name, loop_now(desk->config.loop),
			      {0}};

	question_decide(&qn);
	if (question_policy(&qn)->dns_off)
		question_refuse(&qn, REASON_DNS_OFF);
	else if (!qn.verdict.allow)
		question_refuse(&qn, qn.verdict.reason);
	else if (!answer)
		question_reply_failed(&qn);
	else
		dns_answer_upstream(&qn, answer);
	pending_release(p);
}

static struct pending *pending_take(struct dns_server *s)
{
	struct pending *p = s->free;

	if (p) {
		s->free = p->next;
		return p;
	}
	if (s->n_used == PENDING_MAX)
		return NULL;
	p = &s->pool[s->n_used++];
	p->lookup.done = resolved;
	p->server = s;
	return p;
}

static void ask_resolver(struct dns_server *s, const struct question *qn)
{
	struct pending *p = pending_take(s);

	if (!p) {
		question_reply_failed(qn);
		return;
	}
	p->client = *qn->client;
	p->query = *qn->q;
	p->name = *qn->name;
	search_list_note(&s->desk.search_list, qn->name, qn->now);
	question_tell_admitted(qn);
	if (resolver_lookup(s->desk.config.resolver, &p->lookup, &p->name, p->query.qtype))
		return;
	pending_release(p);
	question_reply_failed(qn);
}

/* --- admitted names --- */

/* AAAA only where the airlock and the host could carry it. */
static void answer_addrs(struct dns_server *s, const struct question *qn)
{
	const struct dns_server_config *c = &s->desk.config;
	bool v4 = qn->q->qtype == DNS_A, listed;
	struct addr addrs[NAMES_ANSWER_MAX];
	size_t n;

	if (!v4 && !(c->ipv6 && resolver_has_ipv6(c->resolver))) {
		question_reply_nodata(qn);
		return;
	}
	if (dns_answer_kept(qn, v4 ? NAMES_A : NAMES_AAAA))
		return;
	n = resolver_find_host(c->resolver, qn->name, v4, addrs, NAMES_ANSWER_MAX, &listed);
	if (listed)
		dns_answer_addrs(qn, addrs, n, HOSTS_TTL);
	else
		ask_resolver(s, qn);
}

static void answer_any(const struct question *qn)
{
	struct dns_builder d;

	question_begin(qn, DNS_NOERROR, &d);
	dns_build_any(&d);
	question_answer(qn, &d);
}

/* Under a wildcard fewer types are answered: TXT and the like carry data. */
static void answer_admitted(struct dns_server *s, const struct question *qn)
{
	switch (qn->q->qtype) {
	case DNS_A:
	case DNS_AAAA:
		answer_addrs(s, qn);
		break;
	case DNS_ANY:
		answer_any(qn);
		break;
	case DNS_HTTPS:
		if (!dns_answer_kept(qn, NAMES_HTTPS))
			ask_resolver(s, qn);
		break;
	case DNS_CNAME:
		ask_resolver(s, qn);
		break;
	default:
		if (dns_type_is_known(qn->q->qtype) && !qn->verdict.by_wildcard)
			ask_resolver(s, qn);
		else
			question_reply_nodata(qn);
	}
}

/* --- judging --- */

static size_t longest_label(const char *s, size_t n)
{
	size_t longest = 0, start = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && s[i] != '.')
			continue;
		if (i - start > longest)
			longest = i - start;
		start = i + 1;
	}
	return longest;
}

/* The limits of names under wildcards. REASON_NONE when within. */
static enum reason check_wildcard_limits(struct dns_server *s, const struct question *qn)
{
	const struct limits *limits = &question_policy(qn)->limits;
	const struct rule *rule = qn->verdict.rule;

	if (!qn->verdict.by_wildcard || !rule)
		return REASON_NONE;
	if (qn->name->n > limits->wildcard_name_length ||
	    longest_label(qn->name->s, qn->name->n - rule->name_n - 1u) >
		    limits->wildcard_label_length)
		return REASON_LIMIT_NAME_LENGTH;
	if (!wildcards_admit(s->desk.config.wildcards, span_of(rule_name(rule), rule->name_n),
			     qn->name, limits->wildcard_names_per_minute, qn->now))
		return REASON_LIMIT_NAMES;
	return REASON_NONE;
}

static enum reason judge_name(struct dns_server *s, struct question *qn)
{
	question_decide(qn);
	if (!qn->verdict.allow)
		return qn->verdict.reason;
	return check_wildcard_limits(s, qn);
}

static void judge(struct dns_server *s, struct question *qn)
{
	enum reason reason;

	if (question_policy(qn)->dns_off) {
		question_refuse(qn, REASON_DNS_OFF);
		return;
	}
	switch (dns_own_answer(qn)) {
	case OWN_ANSWERED:
		return;
	case OWN_ASK:
		ask_resolver(s, qn);
		return;
	case OWN_NOT:
		break;
	}
	reason = judge_name(s, qn);
	if (reason == REASON_NONE) {
		answer_admitted(s, qn);
		return;
	}
	search_list_note(&s->desk.search_list, qn->name, qn->now);
	question_refuse(qn, reason);
}

void dns_server_query(struct dns_server *s, const struct dns_client *client, struct span message,
		      mono_t now)
{
	struct dns_query q = {.id = 0};
	struct question qn = {&s->desk, client, &q, NULL, now, {0}};
	enum dns_rcode rcode;
	struct name name;

	switch (dns_query_parse(message, &q, &rcode)) {
	case DNS_PARSE_DROP:
		s->desk.config.counters->refused++;
		question_note_refusal(&qn, REASON_MALFORMED_DNS, NULL);
		return;
	case DNS_PARSE_ERROR:
		question_refuse_message(&qn, rcode);
		return;
	case DNS_PARSE_OK:
		break;
	}
	if (dns_name_from_wire(&q.qname, &name) != NAME_OK) {
		question_refuse(&qn, REASON_MALFORMED_DNS);
		return;
	}
	qn.name = &name;
	judge(s, &qn);
}

/* --- the whole --- */

struct dns_server *dns_server_new(const struct dns_server_config *c)
{
	struct dns_server *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	s->desk.config = *c;
	return s;
}

void dns_server_free(struct dns_server *s)
{
	if (s)
		munmap(s, sizeof(*s));
}
