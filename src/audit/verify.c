/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: is a log, which its writer may be adding to, still what was signed?
 *
 * The checkpoint is read before the edge, and the edge before the entries: the writer makes them in
 * the opposite order, so what is read fits together. Only pruning, and a writer that takes back
 * what did not fit on the disk, can come in between; so a verdict that is bad counts only when
 * checkpoint and edge have not moved meanwhile.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "audit/anchors.h"
#include "audit/check.h"
#include "audit/log.h"
#include "audit/segment.h"
#include "audit/signer.h"

static_assert((int)AUDIT_ORIGIN_MAX == (int)NOTE_NAME_MAX, "an origin is the name of a key");

/* The second of a log whose segments are pruned under the reader again and again. */
enum { TRIES = 6, TRIES_PRUNED = 60 };

/*
 * A part of the log that is no entry is missing or changed: judged, when it is not just unreadable.
 */
static int judge_part(int error, struct audit_verdict *v, struct err *e)
{
	if (error != -EBADMSG && error != -ENOENT)
		return -1;
	v->bad_seq = AUDIT_NO_SEQ;
	v->why = *e;
	return 0;
}

static int read_key(int dir, struct span key, struct verifier *out, struct err *e)
{
	if (!key.n)
		return signer_read_public(dir, out, e);
	return verifier_parse(key, out, e) < 0 ? -EINVAL : 0;
}

static void fill(const struct check *c, enum check_result result, struct audit_verdict *v)
{
	v->holds = result == CHECK_HOLDS;
	v->size = c->own.size;
	v->first_seq = c->first;
	v->pruned = c->first > 0;
	v->unsealed = c->edge.tree.size - c->own.size + c->tail;
	v->torn = c->torn;
	v->anchors = (unsigned)c->n_anchors;
	v->bad_seq = c->bad_seq;
	v->why = c->why;
}

/* Against the anchors of this log; -EBADMSG when one of them is not signed with its key. */
static int judge_with_anchors(int dir, struct check *c, const struct verifier *key,
			      struct span anchor, struct audit_verdict *v, struct err *e)
{
	struct anchors known = {.n = 0};
	enum check_result result;
	int r = 0;

	if (anchor.n)
		r = anchors_read(&known, anchor, key, c->own.origin, e);
	if (r < 0) {
		anchors_free(&known);
		return judge_part(r, v, e);
	}
	c->anchors = known.at;
	c->n_anchors = known.n;
	result = check_run(c, dir, e);
	anchors_free(&known);
	if (result == CHECK_UNREAD)
		return -1;
	fill(c, result, v);
	return 0;
}

static int judge(int dir, struct check *c, struct span anchor, struct span key,
		 struct audit_verdict *v, struct err *e)
{
	struct verifier verifier;
	int r = read_key(dir, key, &verifier, e);

	if (r == 0)
		r = check_read_checkpoint(dir, &verifier, &c->own, e);
	if (r == 0) {
		memcpy(v->origin, c->own.origin, sizeof(v->origin));
		r = check_read_edge(dir, &c->edge, e);
	}
	if (r < 0)
		return judge_part(r, v, e);
	return judge_with_anchors(dir, c, &verifier, anchor, v, e);
}

/* Has the writer gone on since? What it announced before the edge was read, it may prune after. */
static bool has_moved(int dir, const struct check *c)
{
	struct edge now;
	struct err ignored;

	if (c->vanished)
		return true;
	return check_read_edge(dir, &now, &ignored) == 0 &&
	       memcmp(&now, &c->edge, sizeof(now)) != 0;
}

/* A folder that never was a log says so, instead of being one with everything missing. */
static bool is_log(int dir)
{
	static const char *const parts[] = {"key.pub", "checkpoint", "edge", "hashes"};

	for (size_t i = 0; i < sg_array_len(parts); i++)
		if (faccessat(dir, parts[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

int audit_verify(int dir, struct span anchor, struct span key, struct audit_verdict *v,
		 struct err *e)
{
	struct check *c = calloc(1, sizeof(*c));
	int r = -1;

	if (!c || !is_log(dir)) {
		free(c);
		return err_set(e, "no audit log there");
	}
	for (unsigned i = 0; i < (c->vanished ? TRIES_PRUNED : TRIES); i++) {
		memset(c, 0, sizeof(*c));
		memset(v, 0, sizeof(*v));
		c->thorough = true;
		r = judge(dir, c, anchor, key, v, e);
		if (r < 0 || v->holds || !has_moved(dir, c))
			break;
	}
	free(c);
	return r;
}

/* 0 or -errno; -ENOENT: the segment that is next was pruned since they were listed. */
static int give_entries(struct walk *w, uint64_t from, audit_entry_fn *fn, void *ctx,
			enum walk_step *last)
{
	struct span line;

	while ((*last = walk_next(w, &line)) == WALK_LINE)
		if (w->seq > from && !fn(ctx, w->seq - 1, line))
			return 0;
	return *last == WALK_FAILED ? w->error : 0;
}

int audit_each(int dir, uint64_t from, audit_entry_fn *fn, void *ctx, struct err *e)
{
	struct walk w;
	enum walk_step last = WALK_END;
	int r = -ENOENT;

	/* What was pruned meanwhile is gone; it goes on with what is there. */
	for (unsigned i = 0; i < TRIES && r == -ENOENT; i++) {
		r = walk_open(&w, dir, from);
		if (r == 0)
			r = give_entries(&w, from, fn, ctx, &last);
		if (w.seq > from) {
			from = w.seq;
			i = 0;
		}
		walk_close(&w);
	}
	if (r < 0)
		return err_set(e, "the log cannot be read: %s", err_why(-r));
	if (last == WALK_GAP || last == WALK_LONG)
		return err_set(e,
			       "the log cannot be read on after entry %" PRIu64
			       "; `sandgate audit verify` says why",
			       from);
	return 0;
}
