/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. The folder of a log holds
 *
 *	lock			one writer (flock)
 *	key, key.pub		signer.h
 *	NNN.jsonl		segments: the entries, only ever added to, and pruned as whole files
 *	hashes			the leaf hash of every entry there ever was
 *	edge			the tree's edge: what is sealed (edge.h)
 *	checkpoint		the latest signed size and root
 *
 * and an entry passes through these states, in this order on the disk:
 *
 *	written		its line stands in the last segment. A crash may take it, or a part of it
 *	sealed		segment and hashes are synced, and then the edge was replaced by one with it
 *	signed		and then the checkpoint
 *
 * So the edge never says more than what is there, and the checkpoint never more than the edge. What
 * follows the edge after a crash is whole lines, which are kept and sealed, and then at most one
 * that is not, which is cut. A sealed entry is never written again.
 *
 * Lines stay in memory until they are sealed. After a sync that failed nobody knows which pages
 * reached the disk (the kernel may drop them and report it once), so everything after the edge is
 * then written again. An append that does not fit is taken back: the file is cut to where it was,
 * before anything else is written, and at the latest by the next commit.
 *
 * Nor does anybody know, after an edge could not be put to its end, which of the two is there. Until
 * it can be put nothing that it may speak of is touched, and nothing is written behind it.
 */
#include "audit/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/canonical.h"
#include "audit/disk.h"
#include "audit/writer.h"

enum { PENDING_ENTRIES = 1024 };

/* ---- Commit ---- */

/* Takes away what an append left that did not fit. */
static int cut_overhang(struct audit_log *l)
{
	int r = l->overhang ? disk_cut(l->segment_fd, l->octets) : 0;

	if (r == 0)
		l->overhang = false;
	return r;
}

static int sync_file(const struct audit_log *l, int fd)
{
	return l->options.fleeting ? 0 : disk_sync(fd);
}

/* Written -> on the disk. */
static int flush_entries(struct audit_log *l)
{
	const struct span lines = span_of(l->pending.lines, l->pending.n);
	int r = 0;

	if (l->rewrite)
		r = disk_write_at(l->segment_fd, lines, l->octets - lines.n);
	if (r < 0)
		return r;
	l->rewrite = true;
	r = sync_file(l, l->segment_fd);
	if (r < 0)
		return r;
	l->rewrite = false;
	return 0;
}

static int flush_hashes(struct audit_log *l)
{
	const struct span hashes =
		span_of(l->pending.hashes, l->pending.entries * sizeof(struct digest));
	int r = disk_write_at(l->hashes_fd, hashes, l->sealed * DIGEST_OCTETS);

	return r < 0 ? r : sync_file(l, l->hashes_fd);
}

/* A segment that is full ends with what is sealed now. */
static struct edge next_edge(const struct audit_log *l)
{
	struct edge edge = {
		.tree = l->tree, .segment = l->segment, .octets = l->octets, .first = l->first};

	memcpy(edge.time, l->time, sizeof(edge.time));
	if (edge.octets >= l->options.segment_bytes) {
		edge.segment = l->tree.size;
		edge.octets = 0;
	}
	return edge;
}

static int flush(struct audit_log *l)
{
	int r = l->flushed ? 0 : flush_entries(l);

	if (r == 0 && !l->flushed)
		r = flush_hashes(l);
	if (r == 0)
		l->flushed = true;
	return r;
}

static int seal(struct audit_log *l)
{
	struct edge edge = next_edge(l);
	int r = writer_put_edge(l, &edge);

	if (r < 0)
		return r;
	l->flushed = false;
	l->sealed = l->tree.size;
	l->pending.n = 0;
	l->pending.entries = 0;
	if (edge.segment != l->segment)
		writer_close_segment(l);
	l->segment = edge.segment;
	l->octets = edge.octets;
	return 0;
}

static int commit(struct audit_log *l, bool sign)
{
	uint64_t segment = l->segment;
	int r = cut_overhang(l);

	if (r == 0 && l->sealed != l->tree.size) {
		r = flush(l);
		if (r == 0)
			r = seal(l);
	}
	if (r == 0 && (sign || segment != l->segment) && l->signed_size != l->sealed)
		r = writer_sign(l);
	return r;
}

/* ---- Append ---- */

static int stamp(const struct audit_log *l, json_t *entry, char time[ENTRY_TIME + 1])
{
	const char *given = json_string_value(json_object_get(entry, "time"));

	if (given && entry_parse_time(given) >= 0)
		memcpy(time, given, ENTRY_TIME + 1);
	else
		entry_print_time(entry_now_ms(), time);
	if (strcmp(time, l->time) < 0)
		memcpy(time, l->time, ENTRY_TIME + 1);
	if (json_object_set_new(entry, "time", json_string(time)) < 0 ||
	    json_object_set_new(entry, "seq", json_integer((json_int_t)l->tree.size)) < 0)
		return -EINVAL;
	return 0;
}

/* The line with its newline, which the caller frees. */
static int make_line(const struct audit_log *l, json_t *entry, char time[ENTRY_TIME + 1],
		     char **line, size_t *n)
{
	int r = json_is_object(entry) ? stamp(l, entry, time) : -EINVAL;

	if (r < 0)
		return r;
	*line = canonical_print(entry, n);
	if (!*line)
		return -EINVAL;
	if (*n + 1 > ENTRY_MAX) {
		free(*line);
		return -EMSGSIZE;
	}
	(*line)[(*n)++] = '\n';
	return 0;
}

static int write_line(struct audit_log *l, struct span line)
{
	int r = writer_open_segment(l);

	if (r == 0)
		r = cut_overhang(l);
	if (r < 0)
		return r;
	r = disk_write_at(l->segment_fd, line, l->octets);
	if (r < 0) {
		l->overhang = true;
		(void)!cut_overhang(l);
	}
	return r;
}

static int append_line(struct audit_log *l, struct span line, const char *time)
{
	int r = 0;

	if (l->flushed || l->pending.entries >= PENDING_ENTRIES ||
	    l->pending.n + line.n > PENDING_OCTETS)
		r = commit(l, false);
	if (r == 0)
		r = writer_reserve(l, line.n);
	if (r == 0)
		r = write_line(l, line);
	if (r == 0)
		writer_take(l, line, time);
	return r;
}

int audit_log_append(struct audit_log *l, json_t *entry)
{
	char time[ENTRY_TIME + 1], *line;
	size_t n;
	int r = make_line(l, entry, time, &line, &n);

	json_decref(entry);
	if (r < 0)
		return r;
	r = append_line(l, span_of(line, n), time);
	free(line);
	return r;
}

/* ---- Prune ---- */

static int note_pruning(struct audit_log *l, uint64_t first)
{
	int r = audit_log_append(
		l, json_pack("{s:s,s:I}", "action", ENTRY_PRUNE, "first_seq", (json_int_t)first));

	if (r < 0)
		return r;
	l->first = first;
	return commit(l, true);
}

/* The log itself says what may be gone, before it is. */
static int prune(struct audit_log *l)
{
	size_t victims = l->n_segments - l->options.keep_segments;
	uint64_t first = l->segments[victims];
	int r = first > l->first ? note_pruning(l, first) : 0;

	while (r == 0 && l->n_segments && l->segments[0] < l->first)
		r = writer_remove_oldest(l);
	return r;
}

int audit_log_commit(struct audit_log *l, bool sign)
{
	int r = commit(l, sign);

	if (r == 0 && l->options.keep_segments && l->n_segments > l->options.keep_segments)
		r = prune(l);
	return r;
}

uint64_t audit_log_size(const struct audit_log *l)
{
	return l->tree.size;
}

bool audit_log_dirty(const struct audit_log *l)
{
	return l->overhang || l->sealed != l->tree.size || l->signed_size != l->sealed;
}

void audit_log_close(struct audit_log *l)
{
	if (!l)
		return;
	(void)!audit_log_commit(l, true);
	writer_free(l);
}

char *audit_log_checkpoint(int dir, struct err *e)
{
	char *text;
	size_t n;
	int r = disk_read(dir, "checkpoint", NOTE_MAX, &text, &n);

	if (r == -ENOENT)
		err_set(e, "checkpoint: there is none");
	else if (r < 0)
		err_set(e, "checkpoint: cannot be read: %s", err_why(-r));
	return r < 0 ? NULL : text;
}
