/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "sandbox/files/home.h"
#include "sandbox/files/hook_file.h"
#include "sandbox/path.h"
#include "sandbox/person.h"
#include "sandbox/run.h"
#include "sandbox/settings/trusted_file.h"

enum { CONF_MAX = 1024 * 1024 };

/* What podman reads without being told, root's and any person's. */
static const char of_all[] = "/usr/share/containers/oci/hooks.d";
static const char of_person[] = "containers/oci/hooks.d",
		  conf_of_person[] = "containers/containers.conf";

/* A file in the person's configuration folder. */
static int join_config(const char *rest, char out[PATH_MAX], struct err *e)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = home_find();
	char base[PATH_MAX];

	if (xdg && *xdg == '/')
		snprintf(base, sizeof(base), "%s", xdg);
	else if (!home || *home != '/' || !path_join(home, ".config", base))
		return err_set(e, "there is no home folder to put it into; name one with --dir");
	return path_join(base, rest, out) ? 0 : err_set(e, "%s: the path is too long", base);
}

static int choose_folder(const char *named, char out[PATH_MAX], struct err *e)
{
	if (named) {
		char cwd[PATH_MAX];

		if (!getcwd(cwd, sizeof(cwd)) || !path_join(cwd, named, out))
			return err_set(e, "--dir: the path is too long");
		return 0;
	}
	if (!person_is_root())
		return join_config(of_person, out, e);
	strcpy(out, of_all);
	return 0;
}

/* It and the folders above it. */
static int make_folder(const char *path, struct err *e)
{
	char upper[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		snprintf(upper, sizeof(upper), "%.*s",
			 slash ? (int)(slash - path) : (int)strlen(path), path);
		if (mkdir(upper, 0755) < 0 && errno != EEXIST)
			return err_set(e, "%s: %s", upper, err_why(errno));
		if (!slash)
			return 0;
	}
}

static int write_into(const char *path, struct err *e)
{
	_cleanup_fd_ int folder = -1;
	int rc = 0;

	if (make_folder(path, e))
		return -1;
	folder = trusted_folder_open(path, OWNER_ROOT_OR_PERSON, e);
	if (folder < 0)
		return folder == -ENOENT ? err_set(e, "%s: it is no folder", path) : -1;
	for (int stage = 0; rc == 0 && stage < HOOK_STAGES; stage++)
		rc = hook_file_write(folder, (enum hook_stage)stage, e);
	return rc ? err_prefix(e, "%s", path) : 0;
}

/* Does a file of podman's that counts for this person name the folder already? */
static bool is_named(const char *file, const char *folder)
{
	struct trusted_request r = {
		.folder = AT_FDCWD,
		.name = file,
		.shown = file,
		.owner = OWNER_ROOT_OR_PERSON,
		.follow = true,
		.max = CONF_MAX,
	};
	struct trusted_text t;
	struct err ignored;
	bool named;

	if (trusted_file_read(&r, &t, &ignored))
		return false;
	named = strstr(t.p, folder) != NULL;
	free(t.p);
	return named;
}

static void say_next(const char *folder, bool named)
{
	const char *other = getenv("CONTAINERS_CONF");
	char conf[PATH_MAX];
	struct err ignored;

	if (named) {
		printf("Written. podman --hooks-dir %s run ... uses it.\n", folder);
		return;
	}
	if (person_is_root()) {
		printf("Written into %s, which podman reads, whoever starts it.\n", folder);
		return;
	}
	if (join_config(conf_of_person, conf, &ignored))
		return;
	if (is_named(conf, folder) || (other && is_named(other, folder)))
		printf("Written into %s, which your podman reads.\n", folder);
	else
		printf("Written into %s. Your podman reads it when this is in %s, in the section "
		       "[engine]:\n\n[engine]\nhooks_dir = [\"%s\", \"%s\"]\n",
		       folder, other ? other : conf, of_all, folder);
}

int cmd_setup_podman(const struct args *a)
{
	const char *named = args_value(a, SETUP_PODMAN_DIR);
	char folder[PATH_MAX];
	struct err e;

	if (choose_folder(named, folder, &e) || write_into(folder, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	say_next(folder, named != NULL);
	return 0;
}
