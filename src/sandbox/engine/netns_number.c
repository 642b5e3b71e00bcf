/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/netns_number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "airlock/link.h"

enum { LINE_MAX_OCTETS = 256 };

/* Of what a descriptor or path leads to; false when there is none. */
struct identity {
	dev_t dev;
	ino_t ino;
};

static bool identify(int fd, struct identity *out)
{
	struct stat s;
	bool known = fd >= 0 && fstat(fd, &s) == 0;

	if (known)
		*out = (struct identity){s.st_dev, s.st_ino};
	return known;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* Which user namespaces own the host's network namespace and the one that is asked about. */
struct owners {
	bool host_is_above; /* of this process's: nothing below has a right over the host's devices */
	struct identity host, netns; /* the former unless it is above */
};

/* Once: what a second look could not tell would pass for an owner above, which the kernel hides
 * (EPERM). -1 with the message. */
static int look(int netns, struct owners *o, struct err *e)
{
	_cleanup_fd_ int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int above = host < 0 ? -1 : ioctl(host, NS_GET_USERNS);
	_cleanup_fd_ int owner = -1;

	o->host_is_above = host >= 0 && above < 0 && errno == EPERM;
	if (o->host_is_above || identify(above, &o->host))
		owner = ioctl(netns, NS_GET_USERNS);
	return identify(owner, &o->netns)
		       ? 0
		       : err_set(e, "whom the network namespace belongs to cannot be told: %s",
				 err_why(errno));
}

/* True also when it cannot be told. */
static bool knows_host(struct nl *ask)
{
	_cleanup_fd_ int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	return host < 0 || link_knows(ask, host) != 0;
}

/* The number behind a key of a file of /proc, one to a line. */
static bool read_number(const char *path, const char *key, int base, uint64_t *out)
{
	FILE *f = fopen(path, "re");
	char line[LINE_MAX_OCTETS];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = strncmp(line, key, strlen(key)) == 0;
		if (found)
			*out = strtoull(line + strlen(key), NULL, base);
	}
	if (f)
		fclose(f);
	return found;
}

/* Of the process of a pidfd: whether it may have, or get, CAP_NET_ADMIN over the host's users. */
static bool may_admin(int alive, const struct identity *owner)
{
	char path[64];
	uint64_t pid, bounds;
	struct stat s;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", alive);
	/* -1, or 0, of a process that has ended or is not to be seen from here. */
	if (!read_number(path, "Pid:", 10, &pid) || pid == 0 || pid > INT32_MAX)
		return true;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/ns/user", pid);
	if (stat(path, &s) == 0 && !is_same(&(struct identity){s.st_dev, s.st_ino}, owner))
		return false;
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/status", pid);
	return !read_number(path, "CapBnd:", 16, &bounds) || (bounds >> CAP_NET_ADMIN & 1);
}

static int count(void *ctx, const struct nlmsghdr *h)
{
	size_t *n = ctx;

	*n += h->nlmsg_type == RTM_NEWNSID;
	return 0;
}

/* Besides the airlock. True also when it cannot be told. */
static bool knows_others(struct nl *ask)
{
	struct nlmsghdr *h =
		nl_begin(ask, RTM_GETNSID, NLM_F_DUMP, "ask for the numbers of namespaces");
	size_t n = 0;

	mnl_nlmsg_put_extra_header(h, sizeof(struct rtgenmsg));
	return nl_dump(ask, count, &n) < 0 || n > 1;
}

/*
 * Where the host's owner is above, its devices are out of reach; what a person's engine puts between
 * its containers and the host (podman's rootless network) is not. Of another owner than the host's its
 * root has no right over the host's devices, whatever its capabilities.
 */
static bool is_in_reach(struct nl *ask, const struct owners *o)
{
	if (o->host_is_above)
		return knows_others(ask);
	return is_same(&o->netns, &o->host) && knows_host(ask);
}

int netns_number_check(struct nl *ask, int netns, int alive, struct err *e)
{
	struct owners o = {0};
	const char *where;

	if (look(netns, &o, e))
		return -1;
	where = o.host_is_above ? "another network namespace" : "the host";
	if (!is_in_reach(ask, &o))
		return 0;
	if (alive < 0) {
		err_set(e,
			"the namespace has had a link to %s: a process in it that has "
			"CAP_NET_ADMIN could make devices there; give it none",
			where);
		return 1;
	}
	if (!may_admin(alive, &o.netns))
		return 0;
	return err_set(e,
		       "the process could make devices on %s, past the gate: it has "
		       "CAP_NET_ADMIN, and once had a link to it; start it without --cap-add, or "
		       "with --network none",
		       where);
}
