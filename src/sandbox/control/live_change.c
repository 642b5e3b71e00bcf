/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * There is one policy in force, in four places: here, in the gate, in the broker when there is one,
 * and, of a sandbox that stays, in its definition. A change is made whole beside it: sources read
 * anew, applied, resolved, compiled. Then the definition is written, gate and broker swap, and the
 * change is noted; each step that fails takes back those before it:
 *
 *	definition fails	nothing has happened
 *	broker does not start	the definition is written back
 *	gate says no		likewise, and a broker that was started for it is ended
 *	gate does not answer	likewise, and it is replaced: it may have either policy, and the next
 *				one begins with the old
 *	broker fails		likewise, and so is the gate
 *	note fails		likewise, both: what cannot be written down must not be in force
 *
 * A broker that the policy needs and that does not run is started before the gate swaps, and they
 * are made known to each other after it. One that is not needed any more stays: its connections do.
 * Where the administrator's files of the catalogue are others by now, both are replaced.
 *
 * Only then it becomes what is in force here, which is what the next gate is started with. All of
 * it happens between two rounds of the supervisor's loop, so changes come one after the other, each
 * on top of the one before.
 */
#include "sandbox/control/live_policy.h"

#include <errno.h>
#include <string.h>

#include "policy/change.h"
#include "sandbox/broker_watch.h"
#include "sandbox/control/change_entry.h"
#include "sandbox/control/change_request.h"
#include "sandbox/definition.h"
#include "sandbox/person.h"
#include "sandbox/supervisor.h"

/* A policy on its way. */
struct next_policy {
	struct sources sources;
	struct policy policy;
	struct ruleset *rules;
	bool changed; /* in what is written, or in what it stands for */
};

/* --- the next policy --- */

static void next_policy_free(struct next_policy *n)
{
	policy_free(&n->policy);
	ruleset_free(n->rules);
	sources_free(&n->sources);
}

/* A host that the catalogue has gained since is a change as well, although no word differs. */
static bool says_same(const struct policy *a, const struct policy *b)
{
	_cleanup_free_ char *x = policy_print_wire(a), *y = policy_print_wire(b);

	return x && y && strcmp(x, y) == 0;
}

static int check_link(const struct supervisor *s, const struct policy *p, struct err *e)
{
	if (s->networked || p->network == NET_NONE)
		return 0;
	return err_set(e,
		       "it was started with the network `none`, and has no link that a policy "
		       "could open; start it again with --net %s",
		       network_base_name(p->network));
}

/* Makes it whole, or leaves nothing to free. */
static int make_next(const struct supervisor *s, const struct policy_change *change,
		     struct next_policy *n, struct err *e)
{
	const struct live_policy *l = &s->live;
	struct policy_sources sources;

	*n = (struct next_policy){.rules = NULL};
	policy_init(&n->policy);
	if (sources_read(&n->sources, e))
		return -1;
	sources = sources_for(&n->sources, s->options->agent, s->options->languages);
	if (policy_apply_change(&l->policy, change, &sources, &n->policy, &n->changed, e) == 0 &&
	    check_link(s, &n->policy, e) == 0)
		n->rules = ruleset_compile(&n->policy, ruleset_generation(l->rules) + 1, e);
	if (!n->rules) {
		next_policy_free(n);
		return -1;
	}
	n->changed = n->changed || !says_same(&l->policy, &n->policy);
	return 0;
}

/* --- the definition --- */

/* A sandbox that does not stay has none, and nothing is kept. */
static int keep(const struct supervisor *s, const struct policy *p, uint64_t generation,
		struct err *e)
{
	_cleanup_fd_ int lock = -1;
	struct policy words;
	struct definition d;
	int rc;

	if (!s->options->lasting)
		return 0;
	lock = definition_lock(s->dir.name, e);
	if (lock < 0)
		return -1;
	rc = definition_load(s->dir.name, &d, e);
	if (rc)
		return rc == -1 ? -1 : err_set(e, "its definition is gone: was it removed?");
	rc = policy_copy(p, &words, e);
	if (rc == 0) {
		policy_free(&d.policy);
		d.policy = words;
		d.generation = generation;
		rc = definition_save(s->dir.name, &d, e);
	}
	definition_free(&d);
	return rc;
}

static void keep_old(const struct supervisor *s, struct err *e)
{
	const struct live_policy *l = &s->live;
	struct err why;

	if (keep(s, &l->policy, ruleset_generation(l->rules), &why))
		err_set(e,
			"%s; and the next start will have the new policy, since the old one "
			"could not be written back: %s",
			e->text, why.text);
}

/* --- the gate, the broker and the log --- */

static int swap_gate(struct supervisor *s, const struct next_policy *n, struct err *e)
{
	return process_link_set_policy(&s->gate.process, &n->policy, ruleset_generation(n->rules),
				       e);
}

static int begin_broker(struct supervisor *s, const struct next_policy *n, struct err *e)
{
	if (broker_watch_begin(s, n->rules, n->sources.catalogue, e))
		return -1;
	return broker_watch_await_ready(s, e);
}

/* A name that no authority of it covered needs one more, which has to be trusted by then. */
static int swap_broker(struct supervisor *s, const struct next_policy *n, struct err *e)
{
	if (!broker_link_is_there(&s->broker))
		return 0;
	if (broker_link_set_policy(&s->broker, &n->policy, ruleset_generation(n->rules), e))
		return -1;
	return broker_watch_trust_authority(s, e);
}

/* Whatever they decide by now: the next ones decide by the policy in force. */
static void replace_both(struct supervisor *s, bool begun)
{
	process_link_kill(&s->gate.process);
	if (begun)
		broker_watch_drop(s);
	else
		process_link_kill(&s->broker.process);
}

/*
 * Gate and broker have the catalogue that they were forked with: which requests a permission is for.
 * Of another one the next processes are told.
 */
static bool has_other_catalogue(const struct supervisor *s, const struct next_policy *n)
{
	const struct sources *now = s->live.has_sources ? &s->live.sources : s->options->sources;

	return s->networked && !digest_equal(&now->local, &n->sources.local);
}

/* Before the change is answered: whoever asked for it may go on at once. */
static void follow_catalogue(struct supervisor *s)
{
	struct err e;

	err_set(&e, "the catalogue on this machine has changed: gate and broker are replaced");
	supervisor_say(&e);
	supervisor_replace_gate(s);
	if (broker_link_is_there(&s->broker))
		supervisor_replace_broker(s);
}

/* `*begun`: there was no broker before. */
static int swap(struct supervisor *s, const struct next_policy *n, bool *begun, struct err *e)
{
	*begun = broker_watch_is_missing(s, &n->policy, n->sources.catalogue);
	if (!s->networked)
		return 0;
	if (*begun && begin_broker(s, n, e))
		return -1;
	if (swap_gate(s, n, e)) {
		if (*begun)
			broker_watch_drop(s);
		return -1;
	}
	if ((*begun ? broker_watch_pair(s, e) : swap_broker(s, n, e)) == 0)
		return 0;
	replace_both(s, *begun);
	return -1;
}

static int note(struct supervisor *s, const struct change_made *made, struct err *e)
{
	json_t *entry = change_entry_print(made);
	int rc = entry ? sealer_note(&s->sealer, entry) : -ENOMEM;

	return rc ? err_set(e, "the audit log cannot be written, so nothing is changed: %s",
			    err_why(-rc))
		  : 0;
}

/* --- all of it --- */

static int put_in_force(struct supervisor *s, struct next_policy *n, const struct change_made *made,
			struct err *e)
{
	bool begun, other_catalogue = has_other_catalogue(s, n);
	struct live_policy *l = &s->live;

	if (keep(s, &n->policy, made->generation, e))
		return -1;
	if (swap(s, n, &begun, e)) {
		keep_old(s, e);
		return -1;
	}
	if (note(s, made, e)) {
		replace_both(s, begun);
		keep_old(s, e);
		return -1;
	}
	sealer_set_on(&s->sealer, n->policy.resolved.on);
	/* The next sealer makes its remedies by the catalogue of the policy that is in force. */
	s->log.setup.catalogue = n->sources.catalogue;
	live_policy_free(l);
	*l = (struct live_policy){n->policy, n->rules, n->sources, true};
	*n = (struct next_policy){.rules = NULL};
	policy_init(&n->policy);
	if (other_catalogue)
		follow_catalogue(s);
	return 0;
}

/* `failed`: the change was right, and could not be made. */
static json_t *refuse(const struct err *e, bool failed)
{
	return json_pack("{s:s, s:b}", "error", e->text, "failed", failed);
}

static json_t *answer(struct supervisor *s, const struct change_request *r, uid_t who)
{
	struct change_made made = {
		.sandbox = s->dir.name,
		.who = who,
		.before = &s->live.policy,
		.dry_run = r->dry_run,
	};
	struct next_policy n;
	json_t *said;
	struct err e;

	if (make_next(s, &r->change, &n, &e))
		return refuse(&e, false);
	made.after = &n.policy;
	made.changed = n.changed;
	made.generation = ruleset_generation(n.changed ? n.rules : s->live.rules);
	said = change_entry_answer(&made);
	if (said && n.changed && !r->dry_run && put_in_force(s, &n, &made, &e)) {
		json_decref(said);
		said = refuse(&e, true);
	}
	next_policy_free(&n);
	return said;
}

json_t *live_policy_change(struct supervisor *s, const json_t *request, const struct ucred *who)
{
	struct change_request r;
	json_t *said;
	struct err e;

	if (change_request_parse(request, &r, &e))
		return refuse(&e, false);
	said = answer(s, &r, person_uid_of(who->uid));
	change_request_free(&r);
	return said;
}
