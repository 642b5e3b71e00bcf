/* SPDX-License-Identifier: Apache-2.0 */
#include "airlock/userns.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "airlock/missing.h"
#include "airlock/namespace.h"

static int write_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

static int write_map(const char *path, unsigned inside, unsigned outside)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	return write_file(path, line);
}

int userns_enter(uid_t uid, gid_t gid, struct err *e)
{
	uid_t outside_uid = geteuid();
	gid_t outside_gid = getegid();
	struct missing_facts facts;
	int error;

	error = unshare(CLONE_NEWUSER) < 0 ? -errno : 0;
	/* setgroups is given up first, or an unprivileged writer may not map a group. */
	if (!error)
		error = write_file("/proc/self/setgroups", "deny");
	if (!error)
		error = write_map("/proc/self/uid_map", uid, outside_uid);
	if (!error)
		error = write_map("/proc/self/gid_map", gid, outside_gid);
	if (!error)
		return 0;
	facts = missing_read_facts();
	return missing_userns(&facts, -error, e);
}

int userns_enter_owner(int netns, struct err *e)
{
	_cleanup_fd_ int owner = ioctl(netns, NS_GET_USERNS);

	/* EPERM: it belongs to a user namespace that is not below the caller's. */
	if (owner < 0)
		return err_set(e, errno == ENOTTY ? "that is no network namespace"
						  : "the network namespace belongs to a user "
						    "namespace outside of this one; run sandgate "
						    "where it was made");
	if (capng_get_caps_process() == 0 && capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN))
		return 0;
	if (namespace_is(owner, "/proc/self/ns/user"))
		return err_set(e, "the network namespace is root's; run sandgate as root");
	if (setns(owner, CLONE_NEWUSER) < 0)
		return err_set(e,
			       "the network namespace belongs to another user: %s; run sandgate "
			       "as the one who made it, or as root",
			       strerror(errno));
	return 0;
}

int userns_enter_netns(struct err *e)
{
	struct missing_facts facts;
	int error;

	if (unshare(CLONE_NEWNET) == 0)
		return 0;
	error = errno;
	facts = missing_read_facts();
	return missing_netns(&facts, error, e);
}
