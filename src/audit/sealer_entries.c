/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "audit/entry.h"
#include "audit/sealer_process.h"

enum {
	COMMIT_MS = 100,
	RETRY_MS = 1000,
	TOTALS_EVERY = 512, /* entries; ledger_restore() looks back further */
};

/* --- entries --- */

static void tell_full(bool full)
{
	sealer_tell(json_pack("{s:s, s:b}", "op", "full", "full", full));
}

/* The supervisor is told again at each try: it may not have read what was said before. */
static void become_stuck(struct process *s, int rc)
{
	/* The entry itself cannot be written, whatever room there is. */
	if (rc == -EINVAL || rc == -EMSGSIZE)
		return;
	if (!s->stuck) {
		s->stuck = -rc;
		s->stuck_ms = entry_now_ms();
	}
	s->retry_at = mono_add_ms(mono_now(), RETRY_MS);
	tell_full(true);
}

int sealer_write_entry(struct process *s, json_t *entry)
{
	int rc = audit_log_append(s->log, entry);

	if (rc) {
		become_stuck(s, rc);
		return rc;
	}
	if (s->group++ == 0)
		s->commit_at = mono_add_ms(mono_now(), COMMIT_MS);
	s->since_totals++;
	return 0;
}

int sealer_append_refusal(void *ctx, json_t *entry)
{
	struct process *s = ctx;

	if (!s->stuck)
		return sealer_write_entry(s, entry);
	json_decref(entry);
	return -s->stuck;
}

void sealer_commit(struct process *s, bool sign)
{
	int rc = audit_log_commit(s->log, sign);

	if (rc) {
		become_stuck(s, rc);
		return;
	}
	s->group = 0;
	if (sign)
		s->signed_at = mono_now();
	if (s->told == s->taken && !(sign && s->setup->tells))
		return;
	s->told = s->taken;
	sealer_tell(json_pack("{s:s, s:I, s:b}", "op", "sealed", "notes", (json_int_t)s->told,
			      "signed", sign));
}

void sealer_write_totals(struct process *s)
{
	if (s->since_totals < TOTALS_EVERY || s->stuck)
		return;
	if (sealer_write_entry(s, json_pack("{s:s, s:s, s:o}", "sandbox", s->setup->sandbox,
					    "action", "sandgate.audit.totals", "totals",
					    ledger_totals(s->ledger))) == 0)
		s->since_totals = 0;
}

/* --- a disk that was full --- */

static int tell_recovered(struct process *s)
{
	char since[ENTRY_TIME + 1];

	entry_print_time(s->stuck_ms, since);
	return sealer_write_entry(
		s, json_pack("{s:s, s:s, s:s, s:s, s:I}", "sandbox", s->setup->sandbox, "action",
			     "sandgate.audit.recovered", "why", strerror(s->stuck), "since", since,
			     "held", (json_int_t)json_array_size(s->held)));
}

static int write_held(struct process *s)
{
	while (json_array_size(s->held)) {
		int rc = sealer_write_entry(s, json_deep_copy(json_array_get(s->held, 0)));

		if (rc)
			return rc;
		s->taken++;
		json_array_remove(s->held, 0);
	}
	return 0;
}

/* The commit first: what was appended before is older than what waits. */
void sealer_retry(struct process *s)
{
	int rc = audit_log_commit(s->log, true);

	rc = rc ? rc : tell_recovered(s);
	if (rc) {
		become_stuck(s, rc);
		return;
	}
	s->stuck = 0;
	if (write_held(s) == 0 && ledger_flush(s->ledger, mono_now(), false) == 0)
		sealer_commit(s, true);
	if (!s->stuck)
		tell_full(false);
}
