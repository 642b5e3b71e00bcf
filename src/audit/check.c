/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a change is told apart. The line that does not have its kept hash is the first bad one, or
 * the hash is: the signed root decides which. So after such a line the pass goes on with a suspect,
 * and ends with it. A line that calls itself another number ends the pass at once: an entry is
 * missing, or stands there again. Entry and hash changed together are found by the root alone,
 * which can only say between which two signed sizes it was.
 */
#include "audit/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/disk.h"
#include "audit/leaves.h"
#include "audit/segment.h"
#include "audit/tally.h"

struct pass {
	struct check *c;
	struct leaves leaves;
	struct walk walk;
	struct tally tally;
	struct tree tree;
	uint64_t proven; /* entries before it are as signed */
	size_t anchor;	 /* the next one to come by */
	bool suspected;
	uint64_t suspect;
	char time[ENTRY_TIME + 1]; /* of the last entry */
	uint64_t pruned_to;	   /* what the last entry about pruning says */
	int error;		   /* -errno: a file could not be read */
};

/* Returns false, so that a caller may `return bad(...)`. */
static bool sg_printf(3, 4) bad(struct check *c, uint64_t seq, const char *fmt, ...)
{
	char text[ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->bad_seq = seq;
	err_set(&c->why, "entry %" PRIu64 ": %s", seq, text);
	return false;
}

static bool unread(struct pass *p, int error)
{
	p->error = error;
	return false;
}

/* ---- Roots ---- */

static bool suspect_is_hash(const struct pass *p)
{
	return bad(p->c, p->suspect, "its kept hash was changed; the entry itself is as it was");
}

static bool suspect_is_entry(const struct pass *p)
{
	return bad(p->c, p->suspect, "was changed after it was sealed");
}

static bool root_is_wrong(const struct pass *p, const struct checkpoint *signed_at, bool anchor)
{
	if (p->suspected)
		return suspect_is_entry(p);
	if (anchor)
		return bad(p->c, p->proven,
			   "the log is not the one of the anchor: of its first %" PRIu64
			   " entries, one from here on was changed and all was sealed again",
			   signed_at->size);
	return bad(p->c, p->proven,
		   "from here to entry %" PRIu64 ", one was changed together with its hash: the "
		   "root is not the one that was signed",
		   signed_at->size - 1);
}

static bool meet_root(struct pass *p, const struct checkpoint *signed_at, bool anchor)
{
	struct digest root = tree_root(&p->tree);

	if (!digest_equal(&root, &signed_at->root))
		return root_is_wrong(p, signed_at, anchor);
	if (p->suspected)
		return suspect_is_hash(p);
	p->proven = p->tree.size;
	return true;
}

/* Is a root known for the size that the tree has now? */
static bool meet_roots(struct pass *p)
{
	struct check *c = p->c;

	for (; p->anchor < c->n_anchors && c->anchors[p->anchor].size == p->tree.size; p->anchor++)
		if (!meet_root(p, &c->anchors[p->anchor], true))
			return false;
	return c->own.size != p->tree.size || meet_root(p, &c->own, false);
}

/* ---- Entries ---- */

static bool get_leaf(struct pass *p, uint64_t seq, struct digest *out)
{
	int r = leaves_get(&p->leaves, seq, out);

	if (r == -ENODATA)
		return bad(p->c, seq, "its kept hash is missing");
	return r == 0 || unread(p, r);
}

static bool check_pruned(struct pass *p)
{
	struct digest leaf;

	while (p->tree.size < p->c->first) {
		if (!get_leaf(p, p->tree.size, &leaf))
			return false;
		tree_append(&p->tree, &leaf);
		if (!meet_roots(p))
			return false;
	}
	return true;
}

static bool is_number_wrong(struct check *c, uint64_t seq, uint64_t says)
{
	if (says > seq)
		return bad(c, seq, "is missing: entry %" PRIu64 " stands in its place", says);
	return bad(c, seq, "is missing: entry %" PRIu64 " stands in its place again", says);
}

/* The number, the time and the totals of an entry that is canonical. */
static bool check_contents(struct pass *p, uint64_t seq, const struct entry *en)
{
	struct err why;

	if (en->seq != seq)
		return is_number_wrong(p->c, seq, en->seq);
	if (strcmp(en->time, p->time) < 0)
		return bad(p->c, seq, "time goes backwards: %s, after %s", en->time, p->time);
	memcpy(p->time, en->time, sizeof(p->time));
	if (tally_add(&p->tally, en->value, &why) < 0)
		return bad(p->c, seq, "%s", why.text);
	return true;
}

static bool read_entry(struct pass *p, uint64_t seq, struct span line, struct entry *en)
{
	struct err why;

	if (entry_parse(line, en, &why) == 0)
		return true;
	return bad(p->c, seq, "was changed after it was sealed: it is no entry any more: %s",
		   why.text);
}

/* What the line says of itself, before its hash is looked at: that finds the better words. */
static bool check_line(struct pass *p, uint64_t seq, struct span line, bool same)
{
	struct entry en;
	bool good;

	if (!p->c->thorough && same)
		return true;
	if (!read_entry(p, seq, line, &en))
		return false;
	if (!same) {
		good = en.seq == seq || is_number_wrong(p->c, seq, en.seq);
	} else {
		good = check_contents(p, seq, &en);
		(void)entry_says_pruned(en.value, &p->pruned_to);
	}
	entry_free(&en);
	return good;
}

/* Why there is no line where entry `seq` should be. */
static bool no_line(struct pass *p, uint64_t seq, enum walk_step step)
{
	switch (step) {
	case WALK_TORN:
		return bad(p->c, seq, "was cut short: its line has no end");
	case WALK_LONG:
		return bad(p->c, seq, "was changed: its line is longer than any entry");
	case WALK_GAP:
		return bad(p->c, seq, "is missing: the next segment begins with entry %" PRIu64,
			   p->walk.segments[p->walk.at]);
	case WALK_FAILED:
		p->c->vanished = p->walk.error == -ENOENT;
		if (p->c->vanished)
			return bad(p->c, seq, "is missing: its segment is not there");
		return unread(p, p->walk.error);
	default:
		return bad(p->c, seq, "is missing: the log ends before it, and it was sealed");
	}
}

static bool check_entry(struct pass *p)
{
	struct digest kept, leaf;
	struct span line;
	uint64_t seq = p->tree.size;
	enum walk_step step = walk_next(&p->walk, &line);
	bool same;

	if (step != WALK_LINE)
		return no_line(p, seq, step);
	if (!get_leaf(p, seq, &kept))
		return false;
	leaf = tree_leaf(line);
	same = digest_equal(&leaf, &kept);
	if (!check_line(p, seq, line, same || p->suspected))
		return false;
	if (!same && !p->suspected) {
		p->suspected = true;
		p->suspect = seq;
	}
	tree_append(&p->tree, &leaf);
	return meet_roots(p);
}

static bool check_sealed(struct pass *p)
{
	struct check *c = p->c;

	c->first = p->walk.n_segments ? p->walk.segments[0] : c->edge.tree.size;
	c->vanished = c->first > c->edge.first;
	if (c->vanished)
		return bad(c, c->edge.first,
			   "is missing: the text begins with entry %" PRIu64
			   ", and no more than what is before entry %" PRIu64 " was pruned",
			   c->first, c->edge.first);
	if (!meet_roots(p) || !check_pruned(p))
		return false;
	while (p->tree.size < c->edge.tree.size)
		if (!check_entry(p))
			return false;
	return true;
}

/* ---- The edge, and what is behind it ---- */

static bool is_edge_tree(const struct pass *p)
{
	const struct tree *a = &p->tree, *b = &p->c->edge.tree;

	for (unsigned k = 0; k < TREE_LEVELS; k++)
		if (a->size >> k & 1 && !digest_equal(&a->peaks[k], &b->peaks[k]))
			return false;
	return true;
}

static bool check_edge(struct pass *p)
{
	const struct edge *edge = &p->c->edge;
	bool fits = is_edge_tree(p);

	if (p->suspected)
		return fits ? suspect_is_hash(p) : suspect_is_entry(p);
	if (!fits)
		return bad(p->c, p->proven, "the edge is not that of the entries");
	if (edge->segment < edge->tree.size
		    ? p->walk.segment != edge->segment || p->walk.offset != edge->octets
		    : edge->octets != 0)
		return bad(p->c, p->proven,
			   "the edge was changed: it ends in another place than "
			   "the entries");
	if (p->c->thorough && p->c->first < edge->tree.size && strcmp(p->time, edge->time) != 0)
		return bad(p->c, p->proven,
			   "the edge was changed: its time is not that of the last "
			   "entry");
	if (p->c->thorough && p->pruned_to != edge->first)
		return bad(p->c, p->pruned_to,
			   "the edge was changed: it says that entries before "
			   "%" PRIu64 " were pruned, the log says before %" PRIu64,
			   edge->first, p->pruned_to);
	return true;
}

/* Entries that are written and not sealed yet. A torn line is what a crash leaves, and no harm. */
static bool check_tail(struct pass *p)
{
	struct check *c = p->c;
	struct span line;
	struct entry en;
	enum walk_step step;
	bool good = true;

	while (good && (step = walk_next(&p->walk, &line)) == WALK_LINE) {
		uint64_t seq = c->edge.tree.size + c->tail;

		if (p->walk.segment != c->edge.segment)
			return bad(c, seq, "stands behind the end of a segment that was closed");
		if (!read_entry(p, seq, line, &en))
			return false;
		good = check_contents(p, seq, &en);
		entry_free(&en);
		c->tail += good;
	}
	if (!good)
		return false;
	c->torn = step == WALK_TORN ? walk_torn(&p->walk) : 0;
	return step == WALK_END || step == WALK_TORN ||
	       no_line(p, c->edge.tree.size + c->tail, step);
}

/* ---- All of it ---- */

static bool check_sizes(struct pass *p)
{
	const struct check *c = p->c;
	uint64_t size = c->edge.tree.size;

	if (c->own.size > size)
		return bad(p->c, size,
			   "is missing: %" PRIu64 " entries were signed, and %" PRIu64
			   " are sealed",
			   c->own.size, size);
	if (c->n_anchors && c->anchors[c->n_anchors - 1].size > size)
		return bad(p->c, size,
			   "is missing: the log was rolled back: the anchor has %" PRIu64
			   " entries, the log %" PRIu64,
			   c->anchors[c->n_anchors - 1].size, size);
	return true;
}

static bool run_pass(struct pass *p)
{
	if (check_sizes(p) && check_sealed(p) && check_edge(p) &&
	    (!p->c->thorough || check_tail(p)))
		return true;
	/* What follows a changed entry may look wrong because of it: time, totals. */
	if (p->suspected && p->c->bad_seq > p->suspect)
		suspect_is_entry(p);
	return false;
}

enum check_result check_run(struct check *c, int dir, struct err *e)
{
	struct pass p = {.c = c};
	bool good = false;
	int r = walk_open(&p.walk, dir, 0);

	p.leaves.fd = -1;
	if (r == 0)
		r = leaves_open(&p.leaves, dir);
	if (r == -ENOENT && c->edge.tree.size == 0)
		r = 0;
	if (r == -ENOENT) {
		bad(c, 0, "its kept hash is missing: there is no file \"hashes\"");
	} else if (r < 0) {
		p.error = r;
	} else {
		tally_init(&p.tally, c->own.origin, p.walk.n_segments && p.walk.segments[0] > 0);
		good = run_pass(&p);
		tally_free(&p.tally);
	}
	leaves_close(&p.leaves);
	walk_close(&p.walk);
	if (p.error) {
		err_set(e, "the log cannot be read: %s", err_why(-p.error));
		return CHECK_UNREAD;
	}
	return good ? CHECK_HOLDS : CHECK_BAD;
}

/* ---- Edge and checkpoint of a folder ---- */

/* Reads one file of a log. 0 or -errno with the message. */
static int read_part(int dir, const char *name, size_t max, char **text, size_t *n, struct err *e)
{
	int r = disk_read(dir, name, max, text, n);

	if (r == -ENOENT)
		err_set(e, "%s: missing", name);
	else if (r == -EFBIG)
		r = -EBADMSG;
	if (r == -EBADMSG)
		err_set(e, "%s: was changed: it is too long", name);
	else if (r < 0 && r != -ENOENT)
		err_set(e, "%s: cannot be read: %s", name, err_why(-r));
	return r;
}

int check_read_edge(int dir, struct edge *out, struct err *e)
{
	char *text;
	size_t n;
	int r = read_part(dir, "edge", EDGE_MAX, &text, &n, e);
	bool good;

	if (r < 0)
		return r;
	good = edge_parse(span_of(text, n), out);
	free(text);
	if (good)
		return 0;
	err_set(e, "edge: was changed: it is not what was written");
	return -EBADMSG;
}

int check_read_checkpoint(int dir, const struct verifier *v, struct checkpoint *out, struct err *e)
{
	char *text;
	size_t n;
	int r = read_part(dir, "checkpoint", NOTE_MAX, &text, &n, e);

	if (r < 0)
		return r;
	r = checkpoint_open(span_of(text, n), v, out, e);
	free(text);
	if (r == 0)
		return 0;
	err_prefix(e, "checkpoint");
	return -EBADMSG;
}
