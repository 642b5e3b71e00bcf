/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	none --make--> next --turn--> now --turn--> closing --its hash is done--> none
 *
 * The first one is made as `now`. There are at most: the one that is written, the next, and those
 * that are hashed, each of which keeps its place until all before it are hashed: so the order in the
 * audit log is theirs.
 */
#include "sandbox/log/capture_segments.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

void capture_segment_close(struct capture_segment *g)
{
	if (g->fd >= 0)
		close(g->fd);
	*g = CAPTURE_SEGMENT_NONE;
}

int capture_segment_open_for_writing(const struct capture_segment *g, struct err *e)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", g->fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? err_set(e, "%s: %s", g->path, err_why(errno)) : fd;
}

int capture_segments_make(struct capture_segments *l, struct capture_segment *g, struct err *e)
{
	*g = CAPTURE_SEGMENT_NONE;
	g->fd = pcap_place_create(&l->place, l->made + 1, g->path, e);
	if (g->fd < 0)
		return -1;
	g->number = ++l->made;
	return 0;
}

void capture_segments_drop(const struct capture_segments *l, struct capture_segment *g)
{
	if (g->fd >= 0)
		pcap_place_remove(&l->place, g->number, g->fd);
	capture_segment_close(g);
}

void capture_segments_take_back_next(struct capture_segments *l)
{
	l->made -= l->next.fd >= 0;
	capture_segments_drop(l, &l->next);
}

size_t capture_segments_room(const struct capture_segments *l)
{
	size_t n = 0;

	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++)
		n += l->closing[i].fd < 0;
	return n;
}

bool capture_segments_are_over(const struct capture_segments *l)
{
	return l->now.fd < 0 && capture_segments_room(l) == CAPTURE_CLOSING_MAX;
}

static struct capture_segment *free_place(struct capture_segments *l)
{
	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++)
		if (l->closing[i].fd < 0)
			return &l->closing[i];
	return NULL;
}

struct capture_segment *capture_segments_turn(struct capture_segments *l, bool last)
{
	struct capture_segment *g = free_place(l);

	if (!g || l->now.fd < 0)
		return NULL;
	*g = l->now;
	l->now = CAPTURE_SEGMENT_NONE;
	if (!last) {
		l->now = l->next;
		l->next = CAPTURE_SEGMENT_NONE;
	}
	return g;
}

static struct capture_segment *first_closing(struct capture_segments *l)
{
	struct capture_segment *first = NULL;

	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++) {
		struct capture_segment *g = &l->closing[i];

		if (g->fd >= 0 && (!first || g->number < first->number))
			first = g;
	}
	return first;
}

struct capture_segment *capture_segments_first_hashed(struct capture_segments *l)
{
	struct capture_segment *g = first_closing(l);
	struct pollfd f = {.fd = g ? g->hash.pipe : -1, .events = POLLIN};

	return g && poll(&f, 1, 0) == 1 ? g : NULL;
}
