/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/checkpoint.h"
#include "audit/disk.h"
#include "base/folder.h"

static const char suffix[] = ".jsonl";
enum { DIGITS = 20, SUFFIX = sizeof(suffix) - 1 };

void segment_name(uint64_t first, char out[SEGMENT_NAME + 1])
{
	snprintf(out, SEGMENT_NAME + 1, "%020" PRIu64 "%s", first, suffix);
}

static bool parse_name(const char *name, uint64_t *first)
{
	char again[SEGMENT_NAME + 1];

	if (strlen(name) != SEGMENT_NAME)
		return false;
	*first = strtoull(name, NULL, 10);
	segment_name(*first, again);
	return strcmp(name, again) == 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int read_names(DIR *dir, uint64_t **out, size_t *n)
{
	const struct dirent *entry;
	size_t room = 0;
	uint64_t first;

	while (errno = 0, (entry = readdir(dir))) {
		if (!parse_name(entry->d_name, &first))
			continue;
		if (*n == room) {
			uint64_t *more;

			room = room ? 2 * room : 16;
			more = reallocarray(*out, room, sizeof(**out));
			if (!more)
				return -ENOMEM;
			*out = more;
		}
		(*out)[(*n)++] = first;
	}
	return -errno;
}

int segment_list(int dir, uint64_t **out, size_t *n)
{
	DIR *d = folder_list(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int r;

	*out = NULL;
	*n = 0;
	if (!d)
		return -errno;
	r = read_names(d, out, n);
	closedir(d);
	if (r < 0) {
		free(*out);
		*out = NULL;
		return r;
	}
	if (*n)
		qsort(*out, *n, sizeof(**out), compare);
	return 0;
}

int walk_open(struct walk *w, int dir, uint64_t from)
{
	int r;

	*w = (struct walk){.dir = dir, .fd = -1};
	r = segment_list(dir, &w->segments, &w->n_segments);
	if (r < 0)
		return r;
	w->room = malloc(ENTRY_MAX);
	if (!w->room)
		return -ENOMEM;
	while (w->at + 1 < w->n_segments && w->segments[w->at + 1] <= from)
		w->at++;
	if (w->n_segments)
		w->seq = w->segments[w->at];
	w->segment = w->seq;
	return 0;
}

void walk_close(struct walk *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->segments);
	free(w->room);
	*w = (struct walk){.fd = -1};
}

/* Opens the segment whose turn it is. */
static enum walk_step next_segment(struct walk *w)
{
	char name[SEGMENT_NAME + 1];

	if (w->at == w->n_segments)
		return WALK_END;
	if (w->segments[w->at] != w->seq)
		return WALK_GAP;
	segment_name(w->seq, name);
	w->fd = disk_open(w->dir, name);
	w->offset = 0;
	w->segment = w->seq;
	if (w->fd < 0) {
		w->error = w->fd;
		return WALK_FAILED;
	}
	w->at++;
	return WALK_LINE;
}

/* Reads on; WALK_END when there is nothing more, WALK_LONG when the room is full. */
static enum walk_step fill(struct walk *w)
{
	ssize_t n;

	memmove(w->room, w->room + w->start, w->end - w->start);
	w->end -= w->start;
	w->start = 0;
	if (w->end == ENTRY_MAX)
		return WALK_LONG;
	n = disk_read_at(w->fd, w->room + w->end, ENTRY_MAX - w->end, w->offset + w->end);
	if (n < 0) {
		w->error = (int)n;
		return WALK_FAILED;
	}
	w->end += (size_t)n;
	return n ? WALK_LINE : WALK_END;
}

static bool take_line(struct walk *w, size_t from, struct span *line)
{
	const char *begin = w->room + w->start;
	const char *end = memchr(begin + from, '\n', w->end - w->start - from);

	if (!end)
		return false;
	*line = span_of(begin, (size_t)(end - begin));
	w->start += line->n + 1;
	w->offset += line->n + 1;
	w->seq++;
	return true;
}

enum walk_step walk_next(struct walk *w, struct span *line)
{
	size_t looked = 0;

	for (;;) {
		enum walk_step step;

		if (w->fd < 0) {
			step = next_segment(w);
			if (step != WALK_LINE)
				return step;
		}
		if (w->end > w->start && take_line(w, looked, line))
			return WALK_LINE;
		looked = w->end - w->start;
		step = fill(w);
		if (step == WALK_END && w->end)
			return WALK_TORN;
		if (step == WALK_FAILED || step == WALK_LONG)
			return step;
		if (step == WALK_END) {
			close(w->fd);
			w->fd = -1;
		}
	}
}

size_t walk_torn(const struct walk *w)
{
	return w->end - w->start;
}
