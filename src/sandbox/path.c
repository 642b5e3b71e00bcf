/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/path.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

static enum path_kind host_kind(const void *ctx, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return PATH_NONE;
	if (S_ISDIR(st.st_mode))
		return PATH_DIR;
	if (S_ISREG(st.st_mode))
		return PATH_FILE;
	return S_ISLNK(st.st_mode) ? PATH_LINK : PATH_OTHER;
}

static bool host_link(const void *ctx, const char *path, char *out, size_t cap)
{
	ssize_t n = readlink(path, out, cap);

	if (n < 0 || (size_t)n >= cap)
		return false;
	out[n] = 0;
	return true;
}

static bool host_each(const void *ctx, const char *path, bool (*fn)(void *arg, const char *name),
		      void *arg)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	bool ok = d != NULL;

	while (ok && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			ok = fn(arg, entry->d_name);
	if (d)
		closedir(d);
	return ok;
}

const struct tree host_tree = {.kind = host_kind, .link = host_link, .each = host_each};

bool path_holds(const char *a, const char *b)
{
	size_t n = strlen(a);

	if (n == 1)
		return true;
	return strncmp(a, b, n) == 0 && (b[n] == 0 || b[n] == '/');
}

size_t path_depth(const char *path)
{
	size_t n = 0;

	for (const char *p = path; *p; p++)
		if (*p == '/' && p[1] && p[1] != '/')
			n++;
	return n;
}

bool path_join(const char *base, const char *rest, char out[PATH_MAX])
{
	size_t nb = strlen(base), nr = strlen(rest);
	bool alone = *rest == '/' || nb == 0;

	if (alone || base[nb - 1] == '/')
		nb = alone ? 0 : nb - 1;
	if (nb + 1 + nr >= PATH_MAX)
		return false;
	memmove(out + (alone ? 0 : nb + 1), rest, nr + 1);
	if (!alone) {
		memmove(out, base, nb);
		out[nb] = '/';
	}
	return true;
}

/* The next part of a path: its first octet and length; false at the end. */
static bool next_part(const char **path, const char **part, size_t *n)
{
	const char *p = *path;

	while (*p == '/')
		p++;
	*part = p;
	*n = strcspn(p, "/");
	*path = p + *n;
	return *n > 0;
}

static bool is_dot(const char *part, size_t n)
{
	return n == 1 && part[0] == '.';
}

static bool is_dot_dot(const char *part, size_t n)
{
	return n == 2 && part[0] == '.' && part[1] == '.';
}

/* Puts "/part" at the end of out, which has *used octets. */
static bool append(char out[PATH_MAX], size_t *used, const char *part, size_t n)
{
	if (*used + 1 + n >= PATH_MAX)
		return false;
	out[(*used)++] = '/';
	memcpy(out + *used, part, n);
	*used += n;
	out[*used] = 0;
	return true;
}

static void drop_last(char *out, size_t *used)
{
	while (*used && out[*used - 1] != '/')
		(*used)--;
	if (*used)
		(*used)--;
	out[*used] = 0;
}

static void finish(char out[PATH_MAX], size_t used)
{
	if (!used)
		out[used++] = '/';
	out[used] = 0;
}

bool path_tidy(const char *path, char out[PATH_MAX])
{
	const char *part;
	size_t n, used = 0;

	while (next_part(&path, &part, &n))
		if (!is_dot(part, n) && !append(out, &used, part, n))
			return false;
	finish(out, used);
	return true;
}

/* Replaces the part just appended by what the link there holds, put before the rest of the way. */
static bool follow(const struct tree *t, char out[PATH_MAX], size_t *used, const char *rest,
		   char todo[PATH_MAX])
{
	char target[PATH_MAX], joined[PATH_MAX];

	if (!t->link(t->ctx, out, target, sizeof(target)))
		return false;
	if (strlen(target) + 1 + strlen(rest) >= PATH_MAX)
		return false;
	strcpy(joined, target);
	strcat(joined, "/");
	strcat(joined, rest);
	strcpy(todo, joined);
	if (*target == '/')
		*used = 0;
	else
		drop_last(out, used);
	out[*used] = 0;
	return true;
}

bool path_resolve(const struct tree *t, const char *path, char out[PATH_MAX])
{
	return path_resolve_each(t, path, out, NULL, NULL);
}

bool path_resolve_each(const struct tree *t, const char *path, char out[PATH_MAX],
		       bool (*visit)(void *ctx, const char *link), void *ctx)
{
	char todo[PATH_MAX];
	const char *at = todo, *part;
	size_t n, used = 0, links = 0;

	if (strlen(path) >= PATH_MAX)
		return false;
	strcpy(todo, path);
	while (next_part(&at, &part, &n)) {
		if (is_dot(part, n))
			continue;
		if (is_dot_dot(part, n)) {
			drop_last(out, &used);
			continue;
		}
		if (!append(out, &used, part, n))
			return false;
		if (t->kind(t->ctx, out) != PATH_LINK)
			continue;
		if (visit && !visit(ctx, out))
			return false;
		if (++links > LINKS_MAX || !follow(t, out, &used, at, todo))
			return false;
		at = todo;
	}
	finish(out, used);
	return true;
}
