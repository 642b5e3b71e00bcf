/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "sandbox/private_dir.h"
#include "sandbox/state_dir.h"

static const char suffix[] = ".json", new_suffix[] = ".json.new";

enum { FILE_NAME_MAX = DOCKER_ID_MAX + sizeof(new_suffix) };

static int open_below(int at, const char *name, struct err *e)
{
	mode_t mask = umask(077);
	int fd = private_dir_open(at, name, true);

	umask(mask);
	close(at);
	if (fd >= 0)
		return fd;
	return err_set(e, "%s, where the docker driver keeps what it knows: %s", name,
		       fd == -EPERM ? "it must be a folder of root's with mode 0700, no link"
				    : err_why(-fd));
}

int docker_store_open(const char *name, struct err *e)
{
	int fd = state_dir_open(true, e);

	fd = fd < 0 ? -1 : open_below(fd, "docker", e);
	return fd < 0 ? -1 : open_below(fd, name, e);
}

static int fail(const char *file, struct err *e)
{
	return err_set(e, "%s: %s", file, err_why(errno));
}

static int write_file(int folder, const char *file, const json_t *value, struct err *e)
{
	int fd = openat(folder, file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return fail(file, e);
	errno = EIO;
	rc = json_dumpfd(value, fd, JSON_INDENT(1)) || fsync(fd) < 0 ? fail(file, e) : 0;
	close(fd);
	return rc;
}

int docker_store_put(int folder, const char *id, json_t *value, struct err *e)
{
	char file[FILE_NAME_MAX], fresh[FILE_NAME_MAX];
	int rc;

	snprintf(file, sizeof(file), "%s%s", id, suffix);
	snprintf(fresh, sizeof(fresh), "%s%s", id, new_suffix);
	if (!value ||
	    json_object_set_new(value, "version", json_integer(DOCKER_STORE_VERSION)) < 0) {
		json_decref(value);
		return err_set(e, "out of memory");
	}
	rc = write_file(folder, fresh, value, e);
	json_decref(value);
	if (rc == 0 && (renameat(folder, fresh, folder, file) < 0 || fsync(folder) < 0))
		rc = fail(file, e);
	return rc;
}

int docker_store_remove(int folder, const char *id, struct err *e)
{
	char file[FILE_NAME_MAX];

	snprintf(file, sizeof(file), "%s%s", id, suffix);
	if ((unlinkat(folder, file, 0) < 0 && errno != ENOENT) || fsync(folder) < 0)
		return fail(file, e);
	return 0;
}

/* The id in the name of a file; false when it is no file of the store's. */
static bool read_id(const char *file, const char *end, char id[DOCKER_ID_SIZE])
{
	size_t n = strlen(file), m = strlen(end);

	if (n <= m || n - m > DOCKER_ID_MAX || strcmp(file + n - m, end) != 0)
		return false;
	memcpy(id, file, n - m);
	id[n - m] = '\0';
	return docker_id_valid(id);
}

static int check_version(const json_t *value, struct err *e)
{
	json_int_t version = json_integer_value(json_object_get(value, "version"));

	if (version < 1)
		return err_set(e, "\"version\" is not a format version, a number from 1");
	if (version > DOCKER_STORE_VERSION)
		return err_set(e,
			       "it has format version %" JSON_INTEGER_FORMAT
			       " and this sandgate (" SANDGATE_VERSION ") knows those up to %d; "
			       "install the newer sandgate that wrote it",
			       version, DOCKER_STORE_VERSION);
	return 0;
}

static json_t *read_file(int folder, const char *file, struct err *e)
{
	_cleanup_fd_ int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	json_error_t why;
	json_t *value;

	if (fd < 0)
		return fail(file, e), NULL;
	value = json_loadfd(fd, JSON_REJECT_DUPLICATES, &why);
	if (!value)
		err_set(e, "it is not JSON: line %d, column %d: %s", why.line, why.column,
			why.text);
	if (value && check_version(value, e)) {
		json_decref(value);
		value = NULL;
	}
	return value;
}

static int each_file(int folder, const char *file, docker_store_fn *fn, void *ctx, struct err *e)
{
	char id[DOCKER_ID_SIZE];
	json_t *value;
	int rc;

	if (read_id(file, new_suffix, id)) {
		unlinkat(folder, file, 0);
		return 0;
	}
	if (!read_id(file, suffix, id))
		return 0;
	value = read_file(folder, file, e);
	rc = value ? fn(ctx, id, value, e) : -1;
	json_decref(value);
	if (rc)
		err_prefix(e, "%s", file);
	return rc;
}

int docker_store_each(int folder, docker_store_fn *fn, void *ctx, struct err *e)
{
	DIR *d = folder_list(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	int rc = 0;

	if (!d)
		return err_set(e, "the docker driver's folder: %s", err_why(errno));
	while (rc == 0 && (entry = readdir(d)))
		rc = each_file(folder, entry->d_name, fn, ctx, e);
	closedir(d);
	return rc;
}

json_t *docker_store_address(const struct docker_address *a)
{
	char text[DOCKER_ADDRESS_TEXT_MAX];

	return json_string(a->given ? docker_address_format(a, text) : "");
}

bool docker_store_read_address(const json_t *value, const char *key, struct docker_address *out)
{
	const char *s = json_string_value(json_object_get(value, key));

	return s && (!*s || docker_address_parse(s, out));
}
