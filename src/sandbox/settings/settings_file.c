/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/settings_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/person.h"
#include "sandbox/settings/trusted_file.h"

enum { CONFIG_MAX = 1024 * 1024, LOCK_MS = 5000, LOCK_STEP_MS = 20 };

/* Each folder on the way that is not there. */
static int make_folders(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t n = strlen(path);

	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= n; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int lock_folder(int folder, const char *dir, struct err *e)
{
	const struct timespec pause = {.tv_nsec = LOCK_STEP_MS * 1000000L};

	for (int waited = 0; flock(folder, LOCK_EX | LOCK_NB) < 0; waited += LOCK_STEP_MS) {
		if (errno != EWOULDBLOCK)
			return err_set(e, "%s: %s", dir, err_why(errno));
		if (waited >= LOCK_MS)
			return err_set(e, "%s: another sandgate changes it; try again", dir);
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* This user's folder, made when it is not there, and locked. -1 with the message. */
static int open_folder(const char *dir, struct err *e)
{
	bool root = person_is_root();
	int rc = make_folders(dir, root ? 0755 : 0700), fd;

	if (rc)
		return err_set(e, "%s: %s", dir, err_why(-rc));
	fd = trusted_folder_open(dir, root ? OWNER_ROOT : OWNER_ROOT_OR_PERSON, e);
	if (fd == -ENOENT)
		return err_set(e, "%s: it is gone", dir);
	if (fd < 0 || lock_folder(fd, dir, e) == 0)
		return fd;
	close(fd);
	return -1;
}

static int change(int folder, const char *path, size_t key, const char *value, bool *changed,
		  struct err *e)
{
	bool root = person_is_root();
	struct trusted_request r = {.folder = folder,
				    .name = CONFIG_FILE,
				    .shown = path,
				    .owner = root ? OWNER_ROOT : OWNER_ROOT_OR_PERSON,
				    .max = CONFIG_MAX};
	struct trusted_text text;
	char *edited;
	int rc = trusted_file_read(&r, &text, e);

	if (rc && rc != -ENOENT)
		return -1;
	edited = settings_edit(trusted_span(&text), path, key, value, e);
	*changed = edited && (strlen(edited) != text.n || memcmp(edited, text.p, text.n) != 0);
	rc = *changed ? trusted_file_replace(folder, CONFIG_FILE, span_of_string(edited),
					     root ? 0644 : 0600)
		      : 0;
	if (rc)
		err_set(e, "%s: %s", path, err_why(-rc));
	rc = rc || !edited ? -1 : 0;
	free(edited);
	free(text.p);
	return rc;
}

int settings_file_set(size_t key, const char *value, bool *changed, struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	int folder, rc;

	*changed = false;
	if (config_dir_path(dir, e))
		return -1;
	folder = open_folder(dir, e);
	if (folder < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/%s", dir, CONFIG_FILE);
	rc = change(folder, path, key, value, changed, e);
	close(folder);
	return rc;
}
