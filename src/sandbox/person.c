/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/person.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* 340 lines at most (user_namespaces(7)), of three numbers. */
enum { MAP_MAX = 340 * 36 + 1 };

/* A number of up to ten digits at *at, and the white space around it. */
static bool take_number(struct span *at, uint64_t *out)
{
	size_t i = 0, digits;

	while (i < at->n && (at->p[i] == ' ' || at->p[i] == '\n'))
		i++;
	for (*out = 0, digits = 0; i < at->n && at->p[i] >= '0' && at->p[i] <= '9'; i++, digits++)
		*out = *out * 10 + (uint64_t)(at->p[i] - '0');
	at->p += i;
	at->n -= i;
	return digits > 0 && digits <= 10;
}

bool person_map_id(struct span map, id_t inside, id_t *out)
{
	uint64_t first, above, n;

	while (take_number(&map, &first) && take_number(&map, &above) && take_number(&map, &n)) {
		if (inside < first || inside - first >= n)
			continue;
		*out = (id_t)(above + (inside - first));
		return true;
	}
	return false;
}

static int read_map(const char *path, char out[MAP_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, MAP_MAX);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (int)n;
}

/* False where the namespace above has no number for it, or there is no /proc. */
static bool map_id_by(const char *path, id_t inside, id_t *out)
{
	char text[MAP_MAX];

	return person_map_id(span_of(text, (size_t)read_map(path, text)), inside, out);
}

/*
 * Of this process's own user, who is asked about again and again. A child may be in a namespace of
 * its own and reads anew; nobody enters one after asking.
 */
static uid_t own_uid_above(bool *known)
{
	static struct {
		pid_t pid;
		uid_t own, above;
		bool known;
	} last;

	if (last.pid != getpid() || last.own != geteuid()) {
		last.own = geteuid();
		last.known = map_id_by("/proc/self/uid_map", last.own, &last.above);
		last.pid = getpid();
	}
	*known = last.known;
	return last.above;
}

uid_t person_uid_of(uid_t inside)
{
	uid_t above;

	return map_id_by("/proc/self/uid_map", inside, &above) ? above : inside;
}

bool person_root_of(pid_t pid, uid_t *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	return map_id_by(path, 0, out);
}

uid_t person_uid(void)
{
	bool known;
	uid_t above = own_uid_above(&known);

	return known ? above : geteuid();
}

gid_t person_gid(gid_t inside)
{
	gid_t above;

	return map_id_by("/proc/self/gid_map", inside, &above) ? above : inside;
}

static bool owns_the_system(uid_t uid)
{
	struct stat st;

	return stat("/", &st) == 0 && st.st_uid == uid;
}

bool person_is_root(void)
{
	bool known;

	if (geteuid() != 0)
		return false;
	return (own_uid_above(&known) == 0 && known) || owns_the_system(0);
}

bool person_sees_root(uid_t owner)
{
	if (geteuid() != 0 || person_is_root())
		return owner == 0;
	return owner != 0 && owns_the_system(owner);
}
