/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/command_path.h"

#include <string.h>

struct search {
	const struct file_plan *plan;
	const struct tree *host;
	bool seen;		/* the sandbox has it */
	char missing[PATH_MAX]; /* the first place where only the host has it; empty: none */
};

static bool host_has_file(const struct tree *host, const char *path)
{
	char real[PATH_MAX];

	return path_resolve(host, path, real) && host->kind(host->ctx, real) == PATH_FILE;
}

static void look_at(struct search *s, const char *path)
{
	enum path_kind inside = file_plan_look(s->plan, s->host, path);

	if (inside == PATH_FILE || inside == PATH_OTHER)
		s->seen = true;
	else if (!*s->missing && host_has_file(s->host, path))
		strcpy(s->missing, path);
}

static void look_along(struct search *s, const char *command, const char *path, const char *cwd)
{
	char folder[PATH_MAX], file[PATH_MAX];

	for (const char *end; path; path = end ? end + 1 : NULL) {
		size_t n;

		end = strchr(path, ':');
		n = end ? (size_t)(end - path) : strlen(path);
		if (n >= sizeof(folder))
			continue;
		memcpy(folder, path, n);
		folder[n] = 0;
		if (path_join(cwd, *folder ? folder : ".", file) && path_join(file, command, file))
			look_at(s, file);
	}
}

/* The folder to share: of the place itself, or, when a link is seen, of what it points to. */
static void folder_to_share(const struct search *s, char out[PATH_MAX])
{
	char *slash;

	if (!path_resolve(s->host, s->missing, out))
		strcpy(out, s->missing);
	slash = strrchr(out, '/');
	if (slash && slash != out)
		*slash = 0;
}

bool command_path_check(const struct file_plan *p, const struct tree *host, const char *command,
			const char *path, const char *cwd, struct err *e)
{
	struct search s = {.plan = p, .host = host};
	char folder[PATH_MAX];

	if (strchr(command, '/')) {
		if (!path_join(cwd, command, folder))
			return true;
		look_at(&s, folder);
	} else {
		look_along(&s, command, path, cwd);
	}
	if (s.seen || !*s.missing)
		return true;
	folder_to_share(&s, folder);
	err_set(e, "%s: it is %s, which the sandbox does not see; share it: --ro %s", command,
		s.missing, folder);
	return false;
}
