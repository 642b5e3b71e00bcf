/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/resolver_place.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "airlock/addresses.h"
#include "sandbox/files/in_root.h"

enum { LOOKED_AT = 64 * 1024 };

static const char path[] = "/etc/resolv.conf", *const file = path + 1; /* below the root */
static const char text[] = "nameserver " AIRLOCK_GATE_V4 "\n";

static bool is_mounted(const json_t *config)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(config, "mounts"), i, one)
	{
		const char *dest = json_string_value(json_object_get(one, "destination"));

		if (dest && strcmp(dest, path) == 0)
			return true;
	}
	return false;
}

static int open_in(int root, const char *name, uint64_t flags, uint64_t mode)
{
	return in_root_open(root, name, flags, mode, RESOLVE_NO_XDEV);
}

static bool names_server(int fd)
{
	static const char word[] = "nameserver";
	_cleanup_free_ char *found = malloc(LOOKED_AT + 1);
	ssize_t n = found ? pread(fd, found, LOOKED_AT, 0) : -1;

	if (n <= 0)
		return false;
	found[n] = 0;
	for (char *line = found; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, sizeof(word) - 1) == 0)
			return true;
	}
	return false;
}

static int write_text(int fd)
{
	if (names_server(fd))
		return 0;
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, sizeof(text) - 1, 0) < 0)
		return -errno;
	return 0;
}

/*
 * Of an image anything may be there: to open a device is to use it, a watchdog for one. -1 with
 * errno.
 */
static int open_regular(int root)
{
	_cleanup_fd_ int there = open_in(root, file, O_PATH, 0);
	char again[64];
	struct stat st;

	if (there < 0)
		return errno == ENOENT ? open_in(root, file, O_RDWR | O_CREAT | O_NOCTTY, 0644)
				       : -1;
	if (fstat(there, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	snprintf(again, sizeof(again), "/proc/self/fd/%d", there);
	return open(again, O_RDWR | O_CLOEXEC);
}

static int put(int root)
{
	_cleanup_fd_ int etc = open_in(root, "etc", O_PATH | O_DIRECTORY, 0);
	_cleanup_fd_ int fd = -1;

	/* An image without it has no program that would look there. */
	if (etc < 0)
		return errno == ENOENT ? 0 : -errno;
	fd = open_regular(root);
	return fd < 0 ? -errno : write_text(fd);
}

int resolver_place(struct span config, struct err *e)
{
	json_t *o = json_loadb((const char *)config.p, config.n, JSON_DECODE_INT_AS_REAL, NULL);
	const char *root = json_string_value(json_object_get(json_object_get(o, "root"), "path"));
	_cleanup_fd_ int fd = -1;
	int rc = 0;

	if (root && *root == '/' && !is_mounted(o)) {
		fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		rc = fd < 0 ? -errno : put(fd);
	}
	json_decref(o);
	return rc ? err_set(e, "%s of the container: %s; mount one that holds: nameserver %s", path,
			    err_why(-rc), AIRLOCK_GATE_V4)
		  : 0;
}
