/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open: a log is made, or found, compared with its hashes, and its unsealed end kept or cut.
 *
 * A log is made in the order key, key.pub, edge, checkpoint, so that one whose making was
 * interrupted has no edge, and no entry, and is made again with the same key. One that has no edge
 * and yet has something else lost it: that is an error, not a new log.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/check.h"
#include "audit/disk.h"
#include "audit/segment.h"
#include "audit/writer.h"
#include "base/clock.h"

enum { LOCK_WAIT_MS = 5000, LOCK_TRY_MS = 10 };

/* ---- The lock ---- */

static int take_lock(struct audit_log *l, struct err *e)
{
	const struct timespec pause = {.tv_nsec = LOCK_TRY_MS * 1000000};
	mono_t until = mono_add_ms(mono_now(), LOCK_WAIT_MS);

	l->lock = openat(l->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->lock < 0)
		return err_set(e, "lock: cannot be made: %s", err_why(errno));
	while (flock(l->lock, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(e, "lock: %s", err_why(errno));
		if (!mono_before(mono_now(), until))
			return err_set(e,
				       "another process writes to it; wait until that has ended");
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* ---- A new one ---- */

static bool is_there(const struct audit_log *l, const char *name)
{
	return faccessat(l->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* 0: there is nothing, or an edge. What a making that was interrupted left is nothing. */
static int find_edge(const struct audit_log *l, bool *fresh, struct err *e)
{
	uint64_t *segments;
	size_t n = 0;

	*fresh = !is_there(l, "edge");
	if (!*fresh)
		return 0;
	if (segment_list(l->dir, &segments, &n) == 0)
		free(segments);
	if (n || is_there(l, "hashes") || is_there(l, "checkpoint"))
		return err_set(e,
			       "edge: missing, although there are entries: the log was sealed and "
			       "is not whole any more");
	return 0;
}

static int make(struct audit_log *l, struct err *e)
{
	const struct edge edge = {.tree.size = 0};
	int r = writer_put_edge(l, &edge);

	if (r == 0)
		r = writer_sign(l);
	return r < 0 ? err_set(e, "cannot be made: %s", err_why(-r)) : 0;
}

/* ---- One that is there ---- */

/* An edge without entries, and no checkpoint yet: the making was interrupted between the two. */
static bool is_unfinished(const struct audit_log *l, const struct edge *edge)
{
	return edge->tree.size == 0 && !is_there(l, "checkpoint");
}

static int check(struct audit_log *l, struct check *c, struct err *e)
{
	if (check_read_edge(l->dir, &c->edge, e) < 0)
		return -1;
	if (is_unfinished(l, &c->edge) && make(l, e) < 0)
		return -1;
	if (check_read_checkpoint(l->dir, &l->signer.verifier, &c->own, e) < 0)
		return -1;
	switch (check_run(c, l->dir, e)) {
	case CHECK_HOLDS:
		return 0;
	case CHECK_BAD:
		return err_set(e, "%s; the log is left as it is, `sandgate audit verify` says more",
			       c->why.text);
	default:
		return -1;
	}
}

static void adopt(struct audit_log *l, const struct check *c)
{
	l->tree = c->edge.tree;
	l->sealed = c->edge.tree.size;
	l->signed_size = c->own.size;
	l->segment = c->edge.segment;
	l->octets = c->edge.octets;
	l->first = c->edge.first;
	memcpy(l->time, c->edge.time, sizeof(l->time));
}

static int open_hashes(struct audit_log *l)
{
	int r = 0;

	l->hashes_fd = disk_create(l->dir, "hashes", false);
	if (l->hashes_fd < 0)
		return l->hashes_fd;
	if (l->sealed == 0 && !l->options.fleeting)
		r = disk_sync(l->dir);
	return r < 0 ? r : disk_cut(l->hashes_fd, l->sealed * DIGEST_OCTETS);
}

/* ---- The unsealed end ---- */

/* Pruning that was announced and not done goes on; false when it never can have been announced. */
static bool adopt_pruning(struct audit_log *l, const json_t *entry)
{
	uint64_t first;

	if (!entry_says_pruned(entry, &first))
		return true;
	if (first < l->first || first > l->segment)
		return false;
	l->first = first;
	return true;
}

/* Is this the entry that comes next? */
static bool is_next(struct audit_log *l, struct span line, char time[ENTRY_TIME + 1])
{
	struct entry en;
	struct err ignored;
	bool good;

	if (entry_parse(line, &en, &ignored) < 0)
		return false;
	good = en.seq == l->tree.size && strcmp(en.time, l->time) >= 0 &&
	       adopt_pruning(l, en.value);
	memcpy(time, en.time, sizeof(en.time));
	entry_free(&en);
	return good;
}

static int keep_line(struct audit_log *l, struct span line, const char *time)
{
	/* The newline stands behind it in the walk's room. */
	const struct span whole = span_of(line.p, line.n + 1);
	int r = writer_reserve(l, whole.n);

	if (r == 0)
		writer_take(l, whole, time);
	return r;
}

/* Keeps the whole entries behind the edge, which all stand in the last segment. */
static int keep_entries(struct audit_log *l)
{
	char time[ENTRY_TIME + 1];
	struct walk w;
	struct span line;
	int r = walk_open(&w, l->dir, l->segment);
	enum walk_step step = WALK_END;

	while (r == 0 && (step = walk_next(&w, &line)) == WALK_LINE) {
		if (w.seq <= l->sealed)
			continue;
		if (w.segment != l->segment || !is_next(l, line, time))
			break;
		r = keep_line(l, line, time);
	}
	if (r == 0 && step == WALK_FAILED)
		r = w.error;
	walk_close(&w);
	return r;
}

/* Makes the last segment end where its entries end. How many octets that cost, or -errno. */
static int64_t cut_segment(struct audit_log *l)
{
	char name[SEGMENT_NAME + 1];
	struct stat st;
	int64_t over;
	int r;

	segment_name(l->segment, name);
	if (!is_there(l, name))
		return 0;
	r = writer_open_segment(l);
	if (r < 0)
		return r;
	if (fstat(l->segment_fd, &st) != 0)
		return -errno;
	over = st.st_size - (int64_t)l->octets;
	if (over > 0)
		r = disk_cut(l->segment_fd, l->octets);
	return r < 0 ? r : over;
}

static int note_recovery(struct audit_log *l, uint64_t kept, int64_t cut)
{
	return audit_log_append(l,
				json_pack("{s:s,s:I,s:I}", "action", "sandgate.audit.recovered",
					  "kept", (json_int_t)kept, "cut_bytes", (json_int_t)cut));
}

static int recover(struct audit_log *l)
{
	int64_t cut;
	int r = segment_list(l->dir, &l->segments, &l->n_segments);

	if (r == 0)
		r = open_hashes(l);
	if (r == 0)
		r = keep_entries(l);
	if (r < 0)
		return r;
	cut = cut_segment(l);
	if (cut < 0)
		return (int)cut;
	/* The kept lines may never have been synced. */
	if (l->tree.size != l->sealed || cut)
		r = note_recovery(l, l->tree.size - l->sealed, cut);
	return r == 0 ? audit_log_commit(l, true) : r;
}

/* ---- All of it ---- */

/* What a replacement that was interrupted left. */
static void sweep(const struct audit_log *l)
{
	static const char *const left[] = {"key.new", "key.pub.new", "edge.new", "checkpoint.new"};

	for (size_t i = 0; i < sg_array_len(left); i++)
		unlinkat(l->dir, left[i], 0);
}

static int open_log(struct audit_log *l, struct check *c, struct err *e)
{
	enum signer_make how = SIGNER_READ;
	bool fresh;
	int r;

	if (take_lock(l, e) < 0 || find_edge(l, &fresh, e) < 0)
		return -1;
	sweep(l);
	if (fresh)
		how = l->options.fleeting ? SIGNER_MAKE_FLEETING : SIGNER_MAKE;
	if (signer_open(&l->signer, l->dir, l->options.origin, how, e) < 0)
		return -1;
	if (fresh && make(l, e) < 0)
		return -1;
	if (check(l, c, e) < 0)
		return -1;
	adopt(l, c);
	r = recover(l);
	return r < 0 ? err_set(e, "cannot be written: %s", err_why(-r)) : 0;
}

static struct audit_log *new_log(int dir, const struct audit_log_options *o)
{
	struct audit_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->lock = l->segment_fd = l->hashes_fd = -1;
	l->options = *o;
	l->options.origin = strdup(o->origin ? o->origin : "");
	if (!o->segment_bytes)
		l->options.segment_bytes = SEGMENT_OCTETS;
	l->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (l->options.origin && l->dir >= 0)
		return l;
	writer_free(l);
	return NULL;
}

struct audit_log *audit_log_open(int dir, const struct audit_log_options *o, struct err *e)
{
	struct check *c = calloc(1, sizeof(*c));
	struct audit_log *l = c ? new_log(dir, o) : NULL;
	int r;

	if (!l) {
		err_set(e, "audit log: %s", err_why(errno));
		free(c);
		return NULL;
	}
	r = open_log(l, c, e);
	free(c);
	if (r == 0)
		return l;
	err_prefix(e, "audit log");
	writer_free(l);
	return NULL;
}
