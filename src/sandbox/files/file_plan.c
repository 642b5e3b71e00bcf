/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/file_plan.h"

#include <stdlib.h>
#include <string.h>

void file_plan_add(struct file_plan *p, const struct mount *m)
{
	struct mount copy = *m;

	if (p->failed)
		return;
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		struct mount *v = reallocarray(p->mounts, cap, sizeof(*v));

		if (!v) {
			p->failed = true;
			return;
		}
		p->mounts = v;
		p->cap = cap;
	}
	copy.dest = strdup(m->dest);
	copy.source = m->source ? strdup(m->source) : NULL;
	p->mounts[p->n++] = copy;
	if (!copy.dest || (m->source && !copy.source))
		p->failed = true;
}

bool file_plan_has(const struct file_plan *p, const char *dest)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->mounts[i].dest, dest) == 0)
			return true;
	return false;
}

static void mount_free(struct mount *m)
{
	free(m->dest);
	free(m->source);
}

void file_plan_drop(struct file_plan *p, bool (*drop)(const struct mount *m, const void *ctx),
		    const void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (drop(&p->mounts[i], ctx))
			mount_free(&p->mounts[i]);
		else
			p->mounts[kept++] = p->mounts[i];
	}
	p->n = kept;
}

void file_plan_cover(struct file_plan *p, const char *dest, enum path_kind kind,
		     enum mount_rank rank)
{
	struct mount m = {.rank = rank, .dest = (char *)dest, .mode = 0555};

	if (kind == PATH_NONE)
		return;
	m.kind = kind == PATH_DIR ? MOUNT_TMPFS : MOUNT_BLANK;
	file_plan_add(p, &m);
}

void file_plan_free(struct file_plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		mount_free(&p->mounts[i]);
	free(p->mounts);
	free(p->home);
	free(p->workdir);
	free(p->warning);
	*p = (struct file_plan){0};
}
