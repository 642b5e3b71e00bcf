/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/exposure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"

extern char **environ;

/* Where nothing can be kept nothing was recorded, the folder that this was started in included. */
static void take_workdir(struct exposure *x)
{
	if (x->trust.root || !getcwd(x->workdir, sizeof(x->workdir)) || !x->workdir[1])
		x->workdir[0] = 0;
}

int exposure_read(struct exposure *x, struct err *e)
{
	if (trust_read_if_kept(&x->trust, e) < 0)
		return -1;
	take_workdir(x);
	return 0;
}

void exposure_free(struct exposure *x)
{
	trust_free(&x->trust);
}

static bool is_within(const struct exposure *x, const char *path)
{
	return (*x->workdir && path_holds(x->workdir, path)) || trust_was_shared(&x->trust, path);
}

static bool is_own_link(void *ctx, const char *link)
{
	return !is_within(ctx, link);
}

bool exposure_has(const struct exposure *x, const char *path)
{
	char real[PATH_MAX];

	/* What goes round leads nowhere that can be vouched for. */
	return !path_resolve_each(&host_tree, path, real, is_own_link, (void *)x) ||
	       is_within(x, real);
}

/* As the folder of a file: what is recorded are folders. */
static bool is_own_folder(const struct exposure *x, const char *folder)
{
	char within[PATH_MAX];

	return folder[0] == '/' && path_join(folder, "program", within) && !exposure_has(x, within);
}

char *exposure_clean_path(const struct exposure *x)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *all = strdup(path ? path : "");
	char *out = all ? calloc(1, strlen(all) + 1) : NULL, *rest = all, *one;

	while (out && (one = strsep(&rest, ":")))
		if (is_own_folder(x, one))
			sprintf(out + strlen(out), "%s%s", *out ? ":" : "", one);
	return out;
}

/* "/a:/b", "--require /a", "dir=/a": what begins with a slash behind any of these is a path. */
static bool names_some(const struct exposure *x, const char *value)
{
	static const char between[] = " \t:;,='\"";

	for (size_t n; *value; value += n + (value[n] != 0)) {
		char path[PATH_MAX];

		n = strcspn(value, between);
		/* What is too long for a path is none. */
		if (value[0] != '/' || n >= sizeof(path))
			continue;
		memcpy(path, value, n);
		path[n] = 0;
		if (!is_own_folder(x, path))
			return true;
	}
	return false;
}

/* The list that `at` lies in is as it was, or the next one has come to its place. */
static int drop_exposed(const struct exposure *x, char **at)
{
	char *value = strchr(*at, '=');
	_cleanup_free_ char *name = value ? strndup(*at, (size_t)(value - *at)) : NULL;

	if (!value || strcmp(name ? name : "", "PATH") == 0 || !names_some(x, value + 1))
		return 0;
	return name ? unsetenv(name) : -1;
}

int exposure_clean_environment(const struct exposure *x)
{
	_cleanup_free_ char *path = exposure_clean_path(x);

	if (!path || setenv("PATH", path, 1))
		return -1;
	for (char **at = environ; at && *at;) {
		const char *before = *at;

		if (drop_exposed(x, at))
			return -1;
		at += *at == before;
	}
	return 0;
}
