/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/netns_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/engine/netns_lock.h"

#include "base/folder.h"

enum { CLAIM_MAX = 48 };

static void print(const struct stat *st, char out[CLAIM_MAX])
{
	snprintf(out, CLAIM_MAX, "%ju:%ju", (uintmax_t)st->st_dev, (uintmax_t)st->st_ino);
}

/* 0 or -errno. */
static int note(const struct runtime_dir *d, const struct stat *st, const char *as)
{
	char text[CLAIM_MAX];

	print(st, text);
	return symlinkat(text, d->fd, as) < 0 ? -errno : 0;
}

static int note_sandbox(const struct runtime_dir *d, int netns)
{
	struct stat st;

	return fstat(netns, &st) < 0 ? -errno : note(d, &st, NETNS_CLAIM_SANDBOX);
}

void netns_claim_note(struct runtime_dir *d, int netns)
{
	struct err ignored;

	d->netns = netns_lock_take(netns, &ignored);
	(void)note_sandbox(d, netns);
}

void netns_claim_note_airlock(struct runtime_dir *d, pid_t keeper)
{
	_cleanup_fd_ int netns = -1;
	char path[64];
	struct err ignored;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)keeper);
	if (stat(path, &st) == 0)
		(void)note(d, &st, NETNS_CLAIM_AIRLOCK);
	netns = open(path, O_RDONLY | O_CLOEXEC);
	if (netns >= 0)
		d->airlock = netns_lock_take(netns, &ignored);
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

static bool lives(const struct registry *r, const char *name)
{
	int dir = registry_open_sandbox(r, name);

	if (dir >= 0)
		close(dir);
	return dir >= 0;
}

static void look(struct search *s, DIR *d)
{
	struct dirent *entry;

	while ((entry = readdir(d))) {
		const char *name = entry->d_name;

		if (strcmp(name, s->own) == 0 || !sandbox_name_valid(name))
			continue;
		if ((says(s, name, NETNS_CLAIM_SANDBOX) || says(s, name, NETNS_CLAIM_AIRLOCK)) &&
		    lives(s->registry, name))
			snprintf(s->found, sizeof(s->found), "%.*s", SANDBOX_NAME_MAX, name);
	}
}

/*
 * Fills found. 0 or -1 with the message. Not by registry_each(), to which a folder that this very
 * process has locked looks left over.
 */
static int search(struct search *s, const struct registry *r, int netns, struct err *e)
{
	DIR *d = folder_list(openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct stat st;

	if (!d)
		return err_set(e, "%s: %s", r->path, err_why(errno));
	s->registry = r;
	if (fstat(netns, &st) == 0) {
		print(&st, s->wanted);
		look(s, d);
	}
	closedir(d);
	return 0;
}

int netns_claim_refuse(const char *name, struct err *e)
{
	return err_set(e,
		       "the network namespace is behind a gate already, that of the sandbox %s; "
		       "end it first: sandgate detach %s",
		       name, name);
}

/* The lock is held. */
static int take(const struct runtime_dir *d, int netns, struct err *e)
{
	struct search s = {.own = d->name};
	int rc;

	if (search(&s, &d->registry, netns, e))
		return -1;
	if (*s.found)
		return netns_claim_refuse(s.found, e);
	rc = note_sandbox(d, netns);
	return rc ? err_set(e, "%s/%s/%s: %s", d->registry.path, d->name, NETNS_CLAIM_SANDBOX,
			    err_why(-rc))
		  : 0;
}

/* First among this person's, which can be named, and then among all. */
int netns_claim_take(struct runtime_dir *d, int netns, struct err *e)
{
	int lock = registry_lock(&d->registry), rc;

	if (lock < 0)
		return err_set(e, "%s: %s", d->registry.path, err_why(-lock));
	rc = take(d, netns, e);
	close(lock);
	if (rc)
		return -1;
	d->netns = netns_lock_take(netns, e);
	if (d->netns >= 0)
		return 0;
	unlinkat(d->fd, NETNS_CLAIM_SANDBOX, 0);
	return -1;
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
