/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/connection_reader.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "audit/disk.h"
#include "audit/segment.h"

enum { ROOM = 64 * 1024 };

/* --- files --- */

static int open_file(struct connection_reader *r, uint64_t first)
{
	char name[SEGMENT_NAME + 1];
	int fd;

	segment_name(first, name);
	fd = disk_open(r->dir, name);
	if (fd < 0)
		return fd;
	if (r->fd >= 0)
		close(r->fd);
	r->fd = fd;
	r->file = first;
	r->began = true;
	/* A line that has no end by now will have none. */
	r->at = 0;
	r->start = r->end = 0;
	return 0;
}

static bool has_next(const struct connection_reader *r)
{
	uint64_t *first;
	size_t n;
	bool has = segment_list(r->dir, &first, &n) == 0 && n && first[n - 1] > r->file;

	free(first);
	return has;
}

/* The next file: 1 when it is open now, 0 when there is none. */
static int next_file(struct connection_reader *r)
{
	uint64_t *first;
	size_t n, i = 0;
	int rc = segment_list(r->dir, &first, &n);

	while (rc == 0 && i < n && r->began && first[i] <= r->file)
		i++;
	if (rc == 0 && i < n) {
		rc = open_file(r, first[i]);
		rc = rc ? rc : 1;
	}
	free(first);
	/* Rotated away between the look and the step; or the folder has gone with its sandbox. */
	return rc == -ENOENT ? 0 : rc;
}

/* Is the first line of that file later than `since`? */
static bool begins_after(struct connection_reader *r, uint64_t first, const char *since)
{
	const char *time;
	struct span line;
	json_t *o = NULL;
	bool after;

	if (open_file(r, first) == 0 && connection_reader_next(r, &line) == 1)
		o = json_loadb((const char *)line.p, line.n, 0, NULL);
	time = json_string_value(json_object_get(o, "time"));
	after = time && strcmp(time, since) > 0;
	json_decref(o);
	return after;
}

static int skip_to(struct connection_reader *r, const char *since)
{
	uint64_t *first;
	size_t n, i;
	int rc = segment_list(r->dir, &first, &n);

	for (i = n; rc == 0 && i > 1; i--)
		if (!begins_after(r, first[i - 1], since))
			break;
	if (rc == 0 && i > 0)
		rc = open_file(r, first[i - 1]);
	free(first);
	return rc == -ENOENT ? 0 : rc;
}

int connection_reader_open(struct connection_reader *r, int dir, const char *since)
{
	*r = (struct connection_reader){.dir = dir, .fd = -1, .room = malloc(ROOM)};
	if (!r->room)
		return -ENOMEM;
	return since ? skip_to(r, since) : 0;
}

void connection_reader_close(struct connection_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	free(r->room);
	*r = (struct connection_reader){.fd = -1};
}

/* --- lines --- */

static bool take_line(struct connection_reader *r, struct span *line)
{
	const char *begin = r->room + r->start;
	const char *end = r->end > r->start ? memchr(begin, '\n', r->end - r->start) : NULL;

	if (!end)
		return false;
	*line = span_of(begin, (size_t)(end - begin));
	r->start += line->n + 1;
	return true;
}

/*
 * Reads on, from the begin of the line that has no end yet: a writer whose disk was full takes back
 * what it wrote of one, and writes another there. Are there octets that were not there before?
 * -errno.
 */
static int fill(struct connection_reader *r)
{
	size_t had = r->end - r->start;
	ssize_t n;

	/* No line of the log is so long: it is not looked at. */
	if (had == ROOM) {
		r->start = r->end;
		had = 0;
	}
	r->at += r->start;
	r->start = r->end = 0;
	n = disk_read_at(r->fd, r->room, ROOM, r->at);
	if (n < 0)
		return (int)n;
	r->end = (size_t)n;
	return r->end > had;
}

int connection_reader_next(struct connection_reader *r, struct span *line)
{
	bool last_look = false;

	for (;;) {
		int rc;

		if (r->fd >= 0 && take_line(r, line))
			return 1;
		rc = r->fd >= 0 ? fill(r) : 0;
		if (rc < 0)
			return rc;
		if (r->fd >= 0 && take_line(r, line))
			return 1;
		if (rc > 0)
			continue;
		/* A file is complete when there is a next one, and it was looked at after that. */
		if (r->fd >= 0 && !last_look) {
			last_look = has_next(r);
			if (!last_look)
				return 0;
			continue;
		}
		rc = next_file(r);
		if (rc <= 0)
			return rc;
		last_look = false;
	}
}
