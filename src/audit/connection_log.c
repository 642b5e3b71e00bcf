/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Lines are gathered in a buffer that is written CONNECTION_LOG_FLUSH_MS after it was last written,
 * at once when that is longer ago, or when the next line does not fit. A write that the disk cuts
 * short is taken back (ftruncate) and its lines are counted as dropped. A new file is begun between
 * two writes, never within one.
 */
#include "audit/connection_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/segment.h"

enum { BUFFER = 64 * 1024, DEFAULT_MIB = 64 };

static const uint64_t mib = UINT64_C(1024) * 1024;

struct connection_log {
	int dir, fd; /* fd -1: the next write begins a file */
	uint64_t seq, size, most;
	uint64_t dropped; /* since the last line */
	uint64_t told;	  /* of those before, by lines that are in the buffer */
	mono_t due;	  /* of what the buffer holds */
	mono_t flushed;	  /* when it was last written */
	size_t n, lines;  /* in the buffer */
	double tokens;	  /* lines of refusals that may be written at once */
	mono_t filled;
	uint8_t buffer[BUFFER];
};

/* --- files --- */

static void remove_oldest(const struct connection_log *c)
{
	char name[SEGMENT_NAME + 1];
	uint64_t *first;
	size_t n;

	if (segment_list(c->dir, &first, &n))
		return;
	for (size_t i = 0; i + CONNECTION_LOG_FILES < n; i++) {
		segment_name(first[i], name);
		unlinkat(c->dir, name, 0);
	}
	free(first);
}

static int begin_file(struct connection_log *c, uint64_t first)
{
	char name[SEGMENT_NAME + 1];

	segment_name(first, name);
	/* One of that name has no whole line: the first of it could not be taken back. */
	c->fd = openat(c->dir, name,
		       O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c->fd < 0)
		return -errno;
	c->size = 0;
	remove_oldest(c);
	return 0;
}

/* Lines of an earlier run: counted, and what a power cut left of the last one is cut off. */
static int count_lines(int fd, uint64_t *lines, off_t *end)
{
	char block[16 * 1024];
	off_t at = 0;
	ssize_t n;

	*lines = 0;
	*end = 0;
	while ((n = pread(fd, block, sizeof(block), at)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (block[i] != '\n')
				continue;
			++*lines;
			*end = at + i + 1;
		}
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static int go_on_after(struct connection_log *c, uint64_t first)
{
	char name[SEGMENT_NAME + 1];
	uint64_t lines;
	off_t end;
	int rc;

	segment_name(first, name);
	c->fd = openat(c->dir, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (c->fd < 0)
		return -errno;
	rc = count_lines(c->fd, &lines, &end);
	if (rc == 0 && ftruncate(c->fd, end) < 0)
		rc = -errno;
	c->seq = first + lines;
	c->size = (uint64_t)end;
	return rc;
}

static int go_on(struct connection_log *c)
{
	uint64_t *first;
	size_t n;
	int rc = segment_list(c->dir, &first, &n);

	if (rc == 0 && n)
		rc = go_on_after(c, first[n - 1]);
	free(first);
	return rc;
}

struct connection_log *connection_log_open(int dir, uint64_t bytes, struct err *e)
{
	struct connection_log *c = calloc(1, sizeof(*c));
	int rc;

	if (!c) {
		err_set(e, "the connection log: %s", err_why(ENOMEM));
		return NULL;
	}
	c->dir = dir;
	c->fd = -1;
	c->most = (bytes ? bytes : DEFAULT_MIB * mib) / CONNECTION_LOG_FILES;
	c->tokens = CONNECTION_LOG_REFUSALS_BURST;
	c->filled = mono_now();
	rc = go_on(c);
	if (rc == 0)
		return c;
	err_set(e, "the connection log: %s", err_why(-rc));
	connection_log_close(c);
	return NULL;
}

/* --- writing --- */

static void drop_buffer(struct connection_log *c)
{
	c->dropped += c->lines + c->told;
	c->seq -= c->lines;
}

static int write_buffer(struct connection_log *c)
{
	ssize_t n;

	if (c->fd >= 0 && c->size && c->size + c->n > c->most) {
		close(c->fd);
		c->fd = -1;
	}
	if (c->fd < 0 && begin_file(c, c->seq - c->lines))
		return -1;
	n = write(c->fd, c->buffer, c->n);
	if (n == (ssize_t)c->n) {
		c->size += (uint64_t)n;
		return 0;
	}
	/*
	 * A rest that cannot be taken back is left to the reader, in a file that is not added to.
	 */
	if (n > 0 && ftruncate(c->fd, (off_t)c->size) < 0) {
		close(c->fd);
		c->fd = -1;
	}
	return -1;
}

void connection_log_flush(struct connection_log *c)
{
	if (c->n == 0)
		return;
	if (write_buffer(c))
		drop_buffer(c);
	c->flushed = mono_now();
	c->n = 0;
	c->lines = 0;
	c->told = 0;
}

static bool may_refuse(struct connection_log *c, mono_t now)
{
	double passed = (double)(now.ns - c->filled.ns) / 1e9;

	c->filled = now;
	c->tokens += passed * CONNECTION_LOG_REFUSALS_PER_S;
	if (c->tokens > CONNECTION_LOG_REFUSALS_BURST)
		c->tokens = CONNECTION_LOG_REFUSALS_BURST;
	if (c->tokens < 1)
		return false;
	c->tokens -= 1;
	return true;
}

static void print_line(struct connection_log *c, struct event_printer *p, const struct record *r,
		       struct buf *out)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"seq\":%" PRIu64 ",", c->seq);

	buf_put(out, text, (size_t)n);
	event_print(p, r, out);
	if (c->dropped) {
		n = snprintf(text, sizeof(text), ",\"suppressed\":%" PRIu64, c->dropped);
		buf_put(out, text, (size_t)n);
	}
	buf_put_text(out, "}\n");
}

void connection_log_put(struct connection_log *c, struct event_printer *p, const struct record *r,
			mono_t now)
{
	struct buf line;

	if (r->kind == RECORD_DENY && !may_refuse(c, now)) {
		c->dropped++;
		return;
	}
	if (BUFFER - c->n < EVENT_MAX)
		connection_log_flush(c);
	line = buf_of(c->buffer + c->n, BUFFER - c->n);
	print_line(c, p, r, &line);
	if (line.full) {
		c->dropped++;
		return;
	}
	if (c->n == 0)
		c->due = mono_add_ms(c->flushed, CONNECTION_LOG_FLUSH_MS);
	c->n += line.n;
	c->lines++;
	c->seq++;
	c->told += c->dropped;
	c->dropped = 0;
}

void connection_log_missed(struct connection_log *c, uint64_t n)
{
	c->dropped += n;
}

bool connection_log_deadline(const struct connection_log *c, mono_t *at)
{
	*at = c->due;
	return c->n > 0;
}

void connection_log_close(struct connection_log *c)
{
	if (!c)
		return;
	connection_log_flush(c);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}
