/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/netns_claim.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLAIM_MAX = 48 };

static void print(const struct stat *st, char out[CLAIM_MAX])
{
	snprintf(out, CLAIM_MAX, "%ju:%ju", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
}

static void note(const struct runtime_dir *d, const struct stat *st, const char *as)
{
	char text[CLAIM_MAX];

	print(st, text);
	/* One that is left of a start that failed is this supervisor's own. */
	unlinkat(d->fd, as, 0);
	if (symlinkat(text, d->fd, as) < 0)
		errno = 0;
}

void netns_claim_note(const struct runtime_dir *d, int netns)
{
	struct stat st;

	if (fstat(netns, &st) == 0)
		note(d, &st, NETNS_CLAIM_SANDBOX);
}

void netns_claim_note_airlock(const struct runtime_dir *d, pid_t keeper)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)keeper);
	if (stat(path, &st) == 0)
		note(d, &st, NETNS_CLAIM_AIRLOCK);
}

struct search {
	const struct registry *registry;
	const char *own; /* passed over */
	char wanted[CLAIM_MAX];
	char found[SANDBOX_NAME_SIZE];
};

static bool says(const struct search *s, const char *name, const char *kind)
{
	char path[SANDBOX_NAME_SIZE + 16], text[CLAIM_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", name, kind);
	n = readlinkat(s->registry->fd, path, text, sizeof(text) - 1);
	if (n < 0)
		return false;
	text[n] = 0;
	return strcmp(text, s->wanted) == 0;
}

static void look_at(void *ctx, const char *name)
{
	struct search *s = ctx;

	if (strcmp(name, s->own) != 0 &&
	    (says(s, name, NETNS_CLAIM_SANDBOX) || says(s, name, NETNS_CLAIM_AIRLOCK)))
		snprintf(s->found, sizeof(s->found), "%s", name);
}

/* Fills found. 0 or -1 with the message. */
static int search(struct search *s, struct registry *r, int netns, struct err *e)
{
	struct stat st;

	if (fstat(netns, &st) < 0)
		return err_set(e, "the network namespace: %s", err_why(errno));
	print(&st, s->wanted);
	s->registry = r;
	return registry_each(r, look_at, s, e);
}

int netns_claim_check(struct runtime_dir *d, int netns, struct err *e)
{
	struct search s = {.own = d->name};

	if (search(&s, &d->registry, netns, e))
		return -1;
	return *s.found ? err_set(e,
				  "the network namespace is behind a gate already, that of the "
				  "sandbox %s; end it first: sandgate detach %s",
				  s.found, s.found)
			: 0;
}

int netns_claim_find(int netns, char name[SANDBOX_NAME_SIZE], struct err *e)
{
	struct search s = {.own = ""};
	struct registry r;
	int rc = registry_open(&r, false, e);

	*name = 0;
	if (rc)
		return rc == -ENOENT ? 0 : -1;
	rc = search(&s, &r, netns, e);
	registry_close(&r);
	if (rc)
		return -1;
	snprintf(name, SANDBOX_NAME_SIZE, "%s", s.found);
	return *name != 0;
}
