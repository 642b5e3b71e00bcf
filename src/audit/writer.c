/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/writer.h"

#include <errno.h>

#include "audit/checkpoint.h"
#include "audit/disk.h"
#include "audit/segment.h"

static int remember_segment(struct audit_log *l)
{
	uint64_t *more;

	if (l->n_segments && l->segments[l->n_segments - 1] == l->segment)
		return 0;
	more = reallocarray(l->segments, l->n_segments + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	l->segments = more;
	l->segments[l->n_segments++] = l->segment;
	return 0;
}

int writer_open_segment(struct audit_log *l)
{
	char name[SEGMENT_NAME + 1];
	int fd, r;

	if (l->segment_fd >= 0)
		return 0;
	segment_name(l->segment, name);
	fd = disk_create(l->dir, name, false);
	if (fd < 0)
		return fd;
	/* Its name is on the disk before the edge can speak of it. */
	r = l->options.fleeting ? 0 : disk_sync(l->dir);
	if (r == 0)
		r = remember_segment(l);
	if (r < 0) {
		close(fd);
		return r;
	}
	l->segment_fd = fd;
	return 0;
}

void writer_close_segment(struct audit_log *l)
{
	if (l->segment_fd >= 0)
		close(l->segment_fd);
	l->segment_fd = -1;
}

static int grow(void **p, size_t *room, size_t wanted, size_t each)
{
	size_t more = *room ? *room : 64;
	void *new;

	if (wanted <= *room)
		return 0;
	while (more < wanted)
		more *= 2;
	new = reallocarray(*p, more, each);
	if (!new)
		return -ENOMEM;
	*p = new;
	*room = more;
	return 0;
}

int writer_reserve(struct audit_log *l, size_t n)
{
	struct pending *p = &l->pending;
	int r = grow((void **)&p->lines, &p->room, p->n + n, 1);

	return r < 0 ? r
		     : grow((void **)&p->hashes, &p->entries_room, p->entries + 1,
			    sizeof(*p->hashes));
}

void writer_take(struct audit_log *l, struct span line, const char *time)
{
	struct pending *p = &l->pending;
	struct digest leaf = tree_leaf(span_of(line.p, line.n - 1));

	memcpy(p->lines + p->n, line.p, line.n);
	p->n += line.n;
	p->hashes[p->entries++] = leaf;
	tree_append(&l->tree, &leaf);
	l->octets += line.n;
	memcpy(l->time, time, sizeof(l->time));
}

int writer_put_edge(struct audit_log *l, const struct edge *edge)
{
	char text[EDGE_MAX];
	size_t n = edge_print(edge, text);

	return disk_replace(l->dir, "edge", span_of(text, n), 0600, l->options.fleeting);
}

int writer_sign(struct audit_log *l)
{
	char *note = checkpoint_sign(l->signer.key, &l->signer.verifier, &l->tree);
	int r = -ENOMEM;

	if (note)
		r = disk_replace(l->dir, "checkpoint", span_of_string(note), 0644,
				 l->options.fleeting);
	if (r == 0)
		l->signed_size = l->tree.size;
	free(note);
	return r;
}

int writer_remove_oldest(struct audit_log *l)
{
	char name[SEGMENT_NAME + 1];
	int r;

	segment_name(l->segments[0], name);
	r = disk_remove(l->dir, name);
	if (r < 0 && r != -ENOENT)
		return r;
	l->n_segments--;
	memmove(l->segments, l->segments + 1, l->n_segments * sizeof(*l->segments));
	return 0;
}

void writer_free(struct audit_log *l)
{
	const int fds[] = {l->segment_fd, l->hashes_fd, l->lock, l->dir};

	for (size_t i = 0; i < sg_array_len(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	signer_free(&l->signer);
	free(l->pending.lines);
	free(l->pending.hashes);
	free(l->segments);
	free((char *)l->options.origin);
	free(l);
}
