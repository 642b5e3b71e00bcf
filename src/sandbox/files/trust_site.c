/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/trust_site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/files/in_root.h"

int trust_site_open(const struct trust_site *s, const char *path, uint64_t flags, uint64_t resolve)
{
	return in_root_open(s->root, path, flags | O_PATH, 0, resolve);
}

int trust_site_mount_id(int fd, uint64_t *out)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) < 0)
		return -errno;
	*out = x.stx_mnt_id;
	return x.stx_mask & STATX_MNT_ID ? 0 : -ENOSYS;
}

FILE *trust_site_table(const struct trust_site *s)
{
	int fd = fcntl(s->table, F_DUPFD_CLOEXEC, 3);
	FILE *table = fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? NULL : fdopen(fd, "r");

	if (!table && fd >= 0)
		close(fd);
	return table;
}

/* "36 35 98:0 /root /at rw,noatime shared:1 - ext4 ...", proc_pid_mountinfo(5). 1, 0 or -ENOENT. */
static int find_shared(FILE *table, uint64_t id)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int rc = -ENOENT;

	while (rc == -ENOENT && getline(&line, &room, table) > 0) {
		char *end = strstr(line, " - ");

		if (!end || strtoull(line, NULL, 10) != id)
			continue;
		*end = 0;
		rc = strstr(line, " shared:") != NULL;
	}
	return rc;
}

static int check_unshared(const struct trust_site *s, int at, const char *path, struct err *e)
{
	FILE *table = trust_site_table(s);
	uint64_t id;
	int rc;

	if (!table)
		return err_set(e, "the list of its mounts: %s", err_why(errno));
	rc = trust_site_mount_id(at, &id);
	if (rc == 0)
		rc = find_shared(table, id);
	fclose(table);
	if (rc == 0)
		return 0;
	return rc < 0 ? err_set(e, "%s: its mount: %s", path, err_why(-rc))
		      : err_set(e,
				"%s: it lies on a mount that is shared with others (bind "
				"propagation \"shared\"), where it would show as well",
				path);
}

int trust_site_put(const struct trust_site *s, int tree, int at, const char *path, struct err *e)
{
	if (check_unshared(s, at, path, e))
		return -1;
	if (move_mount(tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_set(e, "%s: the mount: %s", path, err_why(errno));
	return 0;
}

int trust_site_unmount(const struct trust_site *s, int at)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", at);
	return fchdir(s->descriptors) < 0 || umount2(name, MNT_DETACH) < 0 ? -errno : 0;
}
