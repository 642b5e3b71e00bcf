/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "sandbox/path.h"
#include "sandbox/state_dir.h"
#include "sandbox/settings/trusted_file.h"

/* Folders that are gone are dropped when there are more than FOLDERS_MAX. */
enum { FILE_MAX = 16 * 1024 * 1024, FOLDERS_MAX = 4096, LOCK_MS = 5000, LOCK_STEP_MS = 20 };

static const char file_name[] = "trust.json", lock_name[] = "trust.lock";

/* --- the text --- */

static bool is_language_list(const json_t *list)
{
	size_t i;
	json_t *id;

	if (!json_is_array(list))
		return false;
	json_array_foreach(list, i, id) if (!json_is_string(id)) return false;
	return true;
}

static bool is_folder(const char *path, json_t *entry)
{
	const json_t *file = json_object_get(entry, "file");
	const json_t *languages = json_object_get(entry, "languages");
	size_t known = (file != NULL) + (languages != NULL);
	struct digest d;

	return *path == '/' && json_is_object(entry) && json_object_size(entry) == known &&
	       (!file || (json_is_string(file) &&
			  digest_parse(span_of_string(json_string_value(file)), &d))) &&
	       (!languages || is_language_list(languages));
}

static int check(json_t *root, const char *file, struct err *e)
{
	const json_t *version = json_object_get(root, "version");
	json_t *folders = json_object_get(root, "folders"), *entry;
	const char *path;

	if (json_is_integer(version) && json_integer_value(version) > TRUST_FORMAT_VERSION)
		return err_set(e,
			       "%s: format version %lld needs a newer sandgate; this one knows "
			       "versions up to %d",
			       file, (long long)json_integer_value(version), TRUST_FORMAT_VERSION);
	if (json_object_size(root) != 2 || json_integer_value(version) < 1 ||
	    !json_is_object(folders))
		return err_set(e, "%s: it is damaged; take it away, and confirm again", file);
	json_object_foreach(folders, path, entry) if (!is_folder(path, entry)) return err_set(
		e,
		"%s: the entry of %s is damaged; take it out, and "
		"confirm again",
		file, path);
	return 0;
}

int trust_parse(struct span text, const char *file, struct trust *t, struct err *e)
{
	json_error_t why;

	t->root = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, &why);
	if (!t->root)
		return err_set(e, "%s:%d:%d: %s; take the file away, and confirm again", file,
			       why.line, why.column, why.text);
	if (check(t->root, file, e) == 0)
		return 0;
	trust_free(t);
	return -1;
}

void trust_free(struct trust *t)
{
	json_decref(t->root);
	t->root = NULL;
}

/* --- the file --- */

static int read_from(int dir, struct trust *t, struct err *e)
{
	char path[PATH_MAX + 16];
	struct trusted_request r = {.folder = dir,
				    .name = file_name,
				    .shown = path,
				    .owner = OWNER_PERSON,
				    .max = FILE_MAX};
	struct trusted_text text;
	int rc;

	if (state_dir_path(path, e))
		return -1;
	strcat(path, "/");
	strcat(path, file_name);
	rc = trusted_file_read(&r, &text, e);
	if (rc == -ENOENT) {
		t->root = json_pack("{s:i, s:{}}", "version", TRUST_FORMAT_VERSION, "folders");
		return t->root ? 0 : err_set(e, "out of memory");
	}
	if (rc)
		return -1;
	rc = trust_parse(trusted_span(&text), path, t, e);
	free(text.p);
	return rc;
}

int trust_read(struct trust *t, struct err *e)
{
	_cleanup_fd_ int dir = state_dir_open(true, e);

	*t = (struct trust){0};
	return dir < 0 ? -1 : read_from(dir, t, e);
}

int trust_read_if_kept(struct trust *t, struct err *e)
{
	_cleanup_fd_ int dir = state_dir_open(true, e);

	*t = (struct trust){0};
	return dir < 0 ? 1 : read_from(dir, t, e);
}

/* --- what it says --- */

static json_t *entry_of(const struct trust *t, const char *folder)
{
	return json_object_get(json_object_get(t->root, "folders"), folder);
}

bool trust_has_file(const struct trust *t, const char *folder, const struct digest *octets)
{
	const char *text = json_string_value(json_object_get(entry_of(t, folder), "file"));
	struct digest confirmed;

	return text && digest_parse(span_of_string(text), &confirmed) &&
	       digest_equal(&confirmed, octets);
}

bool trust_had_file(const struct trust *t, const char *folder)
{
	return json_object_get(entry_of(t, folder), "file") != NULL;
}

const json_t *trust_languages(const struct trust *t, const char *folder)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s", folder) >= sizeof(path))
		return NULL;
	for (;;) {
		const json_t *list = json_object_get(entry_of(t, *path ? path : "/"), "languages");
		char *slash = strrchr(path, '/');

		if (list || !slash)
			return list;
		*slash = 0;
	}
}

bool trust_was_shared(const struct trust *t, const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	/* What does not fit was not recorded either; nobody is to gain by that. */
	if ((size_t)snprintf(folder, sizeof(folder), "%s", path) >= sizeof(folder))
		return true;
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	return trust_languages(t, folder) != NULL;
}

bool trust_says_shared(const void *t, const char *path)
{
	return trust_was_shared(t, path);
}

static json_t *list_of(char *const *languages)
{
	json_t *list = json_array();

	for (; languages && *languages; languages++)
		json_array_append_new(list, json_string(*languages));
	return list;
}

bool trust_has_languages(const struct trust *t, const char *folder, char *const *languages)
{
	json_t *list = list_of(languages);
	bool same = json_equal(json_object_get(entry_of(t, folder), "languages"), list);

	json_decref(list);
	return same;
}

/* --- recording --- */

/* A descriptor that holds the lock, or -1 with the message. */
static int lock(int dir, struct err *e)
{
	int fd = openat(dir, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	const struct timespec pause = {.tv_nsec = LOCK_STEP_MS * 1000000L};

	if (fd < 0)
		return err_set(e, "%s: %s", lock_name, err_why(errno));
	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_STEP_MS) {
		if (errno == EWOULDBLOCK && waited < LOCK_MS) {
			nanosleep(&pause, NULL);
			continue;
		}
		err_set(e, "%s: another sandgate holds it; try again", lock_name);
		close(fd);
		return -1;
	}
	return fd;
}

static void put_entry(struct trust *t, const struct trust_entry *entry)
{
	json_t *folders = json_object_get(t->root, "folders");
	json_t *one = json_object_get(folders, entry->folder);
	char text[DIGEST_TEXT + 1];

	if (!one) {
		one = json_object();
		json_object_set_new(folders, entry->folder, one);
	}
	if (entry->file) {
		digest_print(entry->file, text);
		json_object_set_new(one, "file", json_string(text));
	}
	if (entry->languages)
		json_object_set_new(one, "languages", list_of(entry->languages));
}

/*
 * A folder that is gone can come back by another name only inside a folder that a sandbox may
 * write, which is recorded as well and still says what it had.
 */
static void drop_gone(struct trust *t)
{
	json_t *folders = json_object_get(t->root, "folders"), *one;
	const char *path;
	struct stat st;
	void *next;

	if (json_object_size(folders) <= FOLDERS_MAX)
		return;
	json_object_foreach_safe(folders, next, path,
				 one) if (lstat(path, &st) < 0 && errno == ENOENT)
		json_object_del(folders, path);
}

static int write_to(int dir, const struct trust *t, struct err *e)
{
	_cleanup_free_ char *text = json_dumps(t->root, JSON_INDENT(1) | JSON_SORT_KEYS);
	int rc = text ? trusted_file_replace(dir, file_name, span_of_string(text), 0600) : -ENOMEM;

	return rc ? err_set(e, "%s: %s", file_name, err_why(-rc)) : 0;
}

static int record(int dir, const struct trust_entry *entry, struct err *e)
{
	struct trust t = {0};
	int rc;

	if (read_from(dir, &t, e))
		return -1;
	put_entry(&t, entry);
	drop_gone(&t);
	rc = write_to(dir, &t, e);
	trust_free(&t);
	return rc;
}

int trust_record(const struct trust_entry *entry, struct err *e)
{
	_cleanup_fd_ int dir = state_dir_open(true, e);
	_cleanup_fd_ int held = dir < 0 ? -1 : lock(dir, e);

	return held < 0 ? -1 : record(dir, entry, e);
}
