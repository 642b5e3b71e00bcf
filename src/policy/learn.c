/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn: four steps.
 *
 *	vet	what was seen, each target once: to be proposed, or left out and why
 *	cover	permissions for as much of it as they cover (learn_cover.c)
 *	write	exact rules for the rest
 *	verify	by decide() with the learned policy: what it does not admit all the same (the
 *		organisation or a denial of the person's own stands in the way) is left out, and the
 *		last two steps are done again without it
 *
 * So everything that is proposed is admitted, and what is admitted was seen or is a permission's.
 */
#include "policy/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/address.h"
#include "policy/change.h"
#include "policy/learn_cover.h"
#include "policy/learn_write.h"
#include "policy/suffix.h"

/* --- vetting --- */

static const char host_alias[] = "host.sandgate.internal";

static const char why_unknown[] = "no destination is known of it";
static const char why_alias[] = "it is a service of this machine; --host-port opens its port";
static const char why_raw[] = "it would have to pass unchecked; only /raw in a rule of your own "
			      "says that";
static const char why_request[] = "no permission is for that request";
static const char why_written[] = "the permission for that request is one to switch on by name";
static const char why_locked[] = "the organisation's policy is locked";

/* Refusals that another rule would have turned into an admission. */
static bool is_for_want_of_a_rule(enum reason r)
{
	return r == REASON_NONE || r == REASON_NOT_IN_POLICY || r == REASON_PORT_NOT_ALLOWED ||
	       r == REASON_OPERATION_NOT_ALLOWED || r == REASON_NETWORK_NONE;
}

static bool admits(const struct ruleset *rs, const struct seen *s, struct verdict *v)
{
	struct destination d = seen_destination(s);

	decide(rs, NULL, &d, v);
	return v->allow;
}

static const char *vet_reason(enum reason r)
{
	if (r == REASON_NO_SERVER_NAME || r == REASON_NOT_TLS || r == REASON_NOT_HTTP)
		return why_raw;
	return is_for_want_of_a_rule(r) ? NULL : reason_sentence(r);
}

/* A request that a permission is for is learned as that permission, and as nothing wider. */
static const char *vet_request(const struct learn_state *l, const struct seen *s)
{
	const struct permission *p;

	if (!s->permission[0])
		return s->reason == REASON_OPERATION_NOT_ALLOWED ? why_request : NULL;
	p = catalogue_permission(l->sources->catalogue, s->permission);
	if (!p)
		return why_request;
	return learn_may_propose(l, p) ? NULL : why_written;
}

/* NULL: it is proposed. What the policy in force admits already is no new grant. */
static const char *vet(const struct learn_state *l, const struct seen *s)
{
	struct verdict v;

	if (!s->has_name && !s->has_addr)
		return why_unknown;
	if (vet_request(l, s))
		return vet_request(l, s);
	if (s->reason == REASON_NONE && admits(l->now, s, &v))
		return NULL;
	if (s->has_name && strcmp(s->name.s, host_alias) == 0)
		return why_alias;
	if (vet_reason(s->reason))
		return vet_reason(s->reason);
	if (s->has_addr && !s->lookup && address_special(NULL, &s->addr))
		return reason_sentence(REASON_SPECIAL_ADDRESS);
	if (s->has_name && suffix_is_encrypted_dns(&s->name))
		return reason_sentence(REASON_ENCRYPTED_DNS);
	if (l->sources->organisation && l->sources->organisation->locked && !admits(l->now, s, &v))
		return why_locked;
	return NULL;
}

struct vetted {
	struct seen s;
	const char *why;
};

static int by_target(const void *a, const void *b)
{
	const struct vetted *x = a, *y = b;
	int order = learn_compare_targets(&x->s, &y->s);

	return order ? order : (x->why != NULL) - (y->why != NULL);
}

/*
 * A name may lead to a special address only where a rule says so: then the name is what counts;
 * where the address itself is listed, that is.
 */
static void choose_target(const struct learn_state *l, struct seen *s)
{
	struct verdict v;

	if (!s->has_name || !s->has_addr || s->lookup || !address_special(NULL, &s->addr))
		return;
	if (admits(l->now, s, &v) && v.private_ok)
		s->has_addr = false;
	else
		s->has_name = false;
}

static int leave_out(struct learned *out, const struct seen *s, const char *why)
{
	struct left_out *v = reallocarray(out->left, out->n_left + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	out->left = v;
	v[out->n_left] = (struct left_out){.what = *s, .why = strdup(why)};
	if (!v[out->n_left].why)
		return -ENOMEM;
	out->n_left++;
	return 0;
}

/* One target, which several records may name: it is proposed when one of them may be. */
static int take_target(struct learn_state *l, const struct vetted *v, size_t n, struct learned *out)
{
	struct seen s = v[0].s;

	for (size_t i = 1; i < n; i++)
		s.count += v[i].s.count;
	if (v[0].why)
		return leave_out(out, &s, v[0].why);
	choose_target(l, &s);
	l->todo[l->n_todo++] = (struct learn_item){.seen = s};
	return 0;
}

static int by_todo(const void *a, const void *b)
{
	const struct learn_item *x = a, *y = b;

	return learn_compare_targets(&x->seen, &y->seen);
}

static int vet_all(struct learn_state *l, const struct seen *seen, size_t n, struct learned *out)
{
	struct vetted *v = calloc(n + 1, sizeof(*v));
	int rc = v ? 0 : -ENOMEM;

	for (size_t i = 0; v && i < n; i++)
		v[i] = (struct vetted){seen[i], vet(l, &seen[i])};
	if (v)
		qsort(v, n, sizeof(*v), by_target);
	for (size_t i = 0, end; rc == 0 && i < n; i = end) {
		for (end = i + 1; end < n && learn_compare_targets(&v[i].s, &v[end].s) == 0;)
			end++;
		rc = take_target(l, &v[i], end - i, out);
	}
	free(v);
	qsort(l->todo, l->n_todo, sizeof(*l->todo), by_todo);
	return rc;
}

/* --- the policy --- */

/* Settings and denials as they are; nothing is allowed yet. */
static int begin_policy(const struct policy *in_force, struct policy *p, struct err *e)
{
	struct policy from;

	if (policy_copy(in_force, &from, e))
		return -1;
	policy_free(p);
	*p = from;
	if (p->network != NET_BROKERED)
		p->network = NET_DENY;
	string_list_free(p->permissions);
	p->permissions = NULL;
	p->n_host_ports = 0;
	for (size_t i = 0, kept = 0; i < from.n_rules; i++) {
		if (from.rules[i].effect == EFFECT_DENY)
			p->rules[kept++] = from.rules[i];
		else
			rule_clear(&from.rules[i]);
		p->n_rules = kept;
	}
	return 0;
}

static int build(struct learn_state *l, struct policy *p, struct err *e)
{
	if (begin_policy(l->in_force, p, e) || learn_cover(l, p, e) || learn_write_rules(l, p, e))
		return -1;
	return policy_validate(p, e);
}

static struct ruleset *compile(const struct policy *p, const struct policy_sources *sources,
			       struct err *e)
{
	struct ruleset *rs = NULL;
	struct policy copy;

	if (policy_copy(p, &copy, e))
		return NULL;
	if (policy_resolve(&copy, sources, e) == 0)
		rs = ruleset_compile(&copy, 1, e);
	policy_free(&copy);
	return rs;
}

/* Why the learned policy does not let it through; NULL: it does. */
static const char *find_wrong(const struct learn_item *t, const struct ruleset *rs)
{
	struct verdict v;

	if (!admits(rs, &t->seen, &v))
		return reason_sentence(v.reason);
	return t->seen.permission[0] && !t->covered ? why_request : NULL;
}

/* How many were left out because the learned policy does not admit them; -1 with the message. */
static int verify(struct learn_state *l, struct learned *out, struct err *e)
{
	struct ruleset *rs = compile(&out->policy, l->sources, e);
	int failed = 0;

	if (!rs)
		return -1;
	for (size_t i = 0; failed >= 0 && i < l->n_todo; i++) {
		struct learn_item *t = &l->todo[i];
		const char *wrong = t->dropped ? NULL : find_wrong(t, rs);

		if (!wrong)
			continue;
		t->dropped = true;
		failed = leave_out(out, &t->seen, wrong) ? err_set(e, "out of memory") : failed + 1;
	}
	ruleset_free(rs);
	return failed;
}

static int learn(struct learn_state *l, const struct seen *seen, size_t n, struct learned *out,
		 struct err *e)
{
	int failed;

	l->now = compile(l->in_force, l->sources, e);
	if (!l->now)
		return -1;
	l->todo = calloc(n + 1, sizeof(*l->todo));
	if (!l->todo || vet_all(l, seen, n, out))
		return err_set(e, "out of memory");
	do {
		failed = build(l, &out->policy, e) ? -1 : verify(l, out, e);
	} while (failed > 0);
	if (failed < 0)
		return -1;
	return learn_find_hints(&out->policy, out) ? err_set(e, "out of memory") : 0;
}

int learn_policy(const struct policy *in_force, const struct policy_sources *sources,
		 const struct seen *seen, size_t n, struct learned *out, struct err *e)
{
	struct learn_state l = {.in_force = in_force, .sources = sources};
	int rc;

	*out = (struct learned){.n_left = 0};
	policy_init(&out->policy);
	rc = learn(&l, seen, n, out, e);
	ruleset_free(l.now);
	free(l.todo);
	if (rc)
		learned_free(out);
	return rc;
}

void learned_free(struct learned *l)
{
	for (size_t i = 0; i < l->n_left; i++)
		free(l->left[i].why);
	for (size_t i = 0; i < l->n_hints; i++)
		free(l->hints[i].domain);
	free(l->left);
	free(l->hints);
	policy_free(&l->policy);
	*l = (struct learned){.n_left = 0};
	policy_init(&l->policy);
}
