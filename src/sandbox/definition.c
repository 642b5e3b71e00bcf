/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/definition.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "policy/permission.h"
#include "sandbox/log/capture_request.h"
#include "sandbox/name_list.h"
#include "sandbox/state_dir.h"

enum { FILE_MAX = 128 << 20, LOCK_MS = 5000, LOCK_STEP_MS = 10 };

static const char file_name[] = "sandbox.json", new_name[] = "sandbox.json.new",
		  lock_name[] = "lock";

void definition_init(struct definition *d)
{
	*d = (struct definition){.generation = 1};
	policy_init(&d->policy);
}

void definition_free(struct definition *d)
{
	policy_free(&d->policy);
	free(d->agent);
	free(d->engine);
	free(d->image);
	free(d->workdir);
	free(d->pcap);
	name_list_free(d->languages);
	name_list_free(d->rw);
	name_list_free(d->ro);
	name_list_free(d->hide);
	name_list_free(d->env);
	definition_init(d);
}

/* --- from JSON --- */

struct reader_of_file {
	struct definition *d;
	struct err *e;
	bool seen_policy, seen_workdir, seen_generation;
};

typedef int read_fn(struct reader_of_file *r, const char *key, const json_t *value);

static int wrong(struct reader_of_file *r, const char *key, const char *wanted)
{
	return err_set(r->e, "\"%s\" is not %s", key, wanted);
}

static int take_string(struct reader_of_file *r, const char *key, const json_t *value, char **out)
{
	const char *s = json_string_value(value);

	/* A NUL in it would be a shorter string to all who use it. */
	if (!s || !*s || strlen(s) != json_string_length(value))
		return wrong(r, key, "a text");
	*out = strdup(s);
	return *out ? 0 : err_set(r->e, "out of memory");
}

static int take_strings(struct reader_of_file *r, const char *key, const json_t *value, char ***out)
{
	size_t n = json_array_size(value);

	if (!json_is_array(value))
		return wrong(r, key, "a list of texts");
	if (n == 0)
		return 0;
	*out = calloc(n + 1, sizeof(**out));
	if (!*out)
		return err_set(r->e, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (take_string(r, key, json_array_get(value, i), &(*out)[i]))
			return -1;
	return 0;
}

static int read_version(struct reader_of_file *r, const char *key, const json_t *value)
{
	json_int_t version = json_integer_value(value);

	if (version < 1)
		return wrong(r, key, "a format version, a number from 1");
	if (version > DEFINITION_FORMAT_VERSION)
		return err_set(r->e,
			       "it has format version %" JSON_INTEGER_FORMAT
			       " and this sandgate (" SANDGATE_VERSION ") knows those up to %d; "
			       "install the newer sandgate that wrote it",
			       version, DEFINITION_FORMAT_VERSION);
	return 0;
}

static int read_generation(struct reader_of_file *r, const char *key, const json_t *value)
{
	json_int_t n = json_integer_value(value);

	if (n < 1)
		return wrong(r, key, "a number from 1");
	r->d->generation = (uint64_t)n;
	r->seen_generation = true;
	return 0;
}

static int read_created(struct reader_of_file *r, const char *key, const json_t *value)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return wrong(r, key, "milliseconds since 1970");
	r->d->created_ms = json_integer_value(value);
	return 0;
}

static int read_policy(struct reader_of_file *r, const char *key, const json_t *value)
{
	char *text = json_is_object(value) ? json_dumps(value, JSON_INDENT(1)) : NULL;
	int rc;

	if (!text)
		return wrong(r, key, "an object");
	policy_free(&r->d->policy);
	rc = policy_parse(span_of_string(text), POLICY_JSON, key, &r->d->policy, r->e);
	free(text);
	if (rc == 0)
		rc = policy_upgrade(&r->d->policy, catalogue_builtin(), r->e);
	r->seen_policy = rc == 0;
	return rc;
}

static int read_agent(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_string(r, key, value, &r->d->agent);
}

/* One that this version does not know is said when it is to be started. */
static int read_engine(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_string(r, key, value, &r->d->engine);
}

static int read_image(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_string(r, key, value, &r->d->image);
}

static int read_workdir(struct reader_of_file *r, const char *key, const json_t *value)
{
	if (take_string(r, key, value, &r->d->workdir))
		return -1;
	r->seen_workdir = true;
	return *r->d->workdir == '/' ? 0 : wrong(r, key, "an absolute path");
}

static int read_languages(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_strings(r, key, value, &r->d->languages);
}

static int read_rw(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_strings(r, key, value, &r->d->rw);
}

static int read_ro(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_strings(r, key, value, &r->d->ro);
}

static int read_hide(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_strings(r, key, value, &r->d->hide);
}

static int read_env(struct reader_of_file *r, const char *key, const json_t *value)
{
	if (take_strings(r, key, value, &r->d->env))
		return -1;
	for (char **p = r->d->env; p && *p; p++)
		if (**p == '=' || !strchr(*p, '='))
			return wrong(r, key, "a list of KEY=VALUE");
	return 0;
}

static int take_flag(struct reader_of_file *r, const char *key, const json_t *value, bool *out)
{
	if (!json_is_boolean(value))
		return wrong(r, key, "true or false");
	*out = json_is_true(value);
	return 0;
}

static int read_as_root(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_flag(r, key, value, &r->d->as_root);
}

static int read_pcap(struct reader_of_file *r, const char *key, const json_t *value)
{
	if (take_string(r, key, value, &r->d->pcap))
		return -1;
	return *r->d->pcap == '/' ? 0 : wrong(r, key, "an absolute path");
}

static int take_count(struct reader_of_file *r, const char *key, const json_t *value, uint64_t most,
		      uint64_t *out)
{
	json_int_t n = json_integer_value(value);

	if (n < 1 || (uint64_t)n > most)
		return wrong(r, key, "a number from 1, or it is too large");
	*out = (uint64_t)n;
	return 0;
}

static int read_pcap_max_mb(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_count(r, key, value, CAPTURE_MAX_MB_MOST, &r->d->pcap_max_mb);
}

static int read_pcap_files(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_count(r, key, value, CAPTURE_FILES_MOST, &r->d->pcap_files);
}

static int read_pcap_keys(struct reader_of_file *r, const char *key, const json_t *value)
{
	return take_flag(r, key, value, &r->d->pcap_keys);
}

static const struct {
	const char *key;
	read_fn *read;
} keys[] = {
	{"version", read_version},
	{"generation", read_generation},
	{"created_ms", read_created},
	{"policy", read_policy},
	{"agent", read_agent},
	{"engine", read_engine},
	{"image", read_image},
	{"languages", read_languages},
	{"workdir", read_workdir},
	{"rw", read_rw},
	{"ro", read_ro},
	{"hide", read_hide},
	{"env", read_env},
	{"as_root", read_as_root},
	{"pcap", read_pcap},
	{"pcap_max_mb", read_pcap_max_mb},
	{"pcap_files", read_pcap_files},
	{"pcap_keys", read_pcap_keys},
};

static bool is_known(const char *key)
{
	for (size_t i = 0; i < sg_array_len(keys); i++)
		if (strcmp(keys[i].key, key) == 0)
			return true;
	return false;
}

/* The version first: a newer file may have what this program calls wrong. */
static int read_keys(struct reader_of_file *r, json_t *file)
{
	const char *key;
	json_t *value;

	if (read_version(r, "version", json_object_get(file, "version")))
		return -1;
	json_object_foreach(file, key, value) if (!is_known(key)) return err_set(
		r->e, "\"%s\" is no key of it", key);
	for (size_t i = 0; i < sg_array_len(keys); i++) {
		value = json_object_get(file, keys[i].key);
		if (value && keys[i].read(r, keys[i].key, value))
			return -1;
	}
	if (!r->seen_policy || !r->seen_workdir || !r->seen_generation)
		return err_set(r->e, "\"%s\" is missing",
			       !r->seen_policy	  ? "policy"
			       : !r->seen_workdir ? "workdir"
						  : "generation");
	return 0;
}

int definition_parse(struct span text, struct definition *d, struct err *e)
{
	struct reader_of_file r = {.d = d, .e = e};
	json_error_t why;
	json_t *file = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, &why);
	int rc;

	definition_init(d);
	if (!file)
		return err_set(e, "it is not JSON: line %d, column %d: %s", why.line, why.column,
			       why.text);
	rc = json_is_object(file) ? read_keys(&r, file) : err_set(e, "it is not a JSON object");
	json_decref(file);
	if (rc)
		definition_free(d);
	return rc;
}

/* --- to JSON --- */

static json_t *strings(char *const *v)
{
	json_t *list = json_array();

	for (; v && *v; v++)
		if (json_array_append_new(list, json_string(*v)) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

/* Takes the value; a key without one is left out. False when it could not be made. */
static bool put(json_t *file, const char *key, json_t *value)
{
	return value && json_object_set_new(file, key, value) == 0;
}

static bool put_list(json_t *file, const char *key, char *const *v)
{
	return !v || !*v || put(file, key, strings(v));
}

static bool put_count(json_t *file, const char *key, uint64_t n)
{
	return !n || put(file, key, json_integer((json_int_t)n));
}

static bool put_pcap(json_t *file, const struct definition *d)
{
	return !d->pcap || (put(file, "pcap", json_string(d->pcap)) &&
			    put_count(file, "pcap_max_mb", d->pcap_max_mb) &&
			    put_count(file, "pcap_files", d->pcap_files) &&
			    put(file, "pcap_keys", json_boolean(d->pcap_keys)));
}

char *definition_print(const struct definition *d)
{
	_cleanup_free_ char *policy = policy_print_json(&d->policy);
	json_t *file = json_object();
	char *text = NULL;

	if (policy && put(file, "version", json_integer(DEFINITION_FORMAT_VERSION)) &&
	    put(file, "generation", json_integer((json_int_t)d->generation)) &&
	    put(file, "created_ms", json_integer(d->created_ms)) &&
	    (!d->agent || put(file, "agent", json_string(d->agent))) &&
	    (!d->engine || put(file, "engine", json_string(d->engine))) &&
	    (!d->image || put(file, "image", json_string(d->image))) &&
	    put_list(file, "languages", d->languages) &&
	    put(file, "workdir", json_string(d->workdir)) && put_list(file, "rw", d->rw) &&
	    put_list(file, "ro", d->ro) && put_list(file, "hide", d->hide) &&
	    put_list(file, "env", d->env) && put(file, "as_root", json_boolean(d->as_root)) &&
	    put_pcap(file, d) && put(file, "policy", json_loads(policy, 0, NULL)))
		text = json_dumps(file, JSON_INDENT(2));
	json_decref(file);
	return text;
}

/* --- the file --- */

/* Its size, or -errno: nothing but a plain file of the person's own is read. */
static ssize_t check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	return st.st_size > FILE_MAX ? -EFBIG : st.st_size;
}

static int read_file(int dir, char **text, size_t *n)
{
	_cleanup_fd_ int fd =
		openat(dir, file_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t size = fd < 0 ? -errno : check_file(fd), r = 1;

	if (size < 0)
		return size == -ELOOP ? -EPERM : (int)size;
	*n = 0;
	*text = malloc((size_t)size + 1);
	while (*text && *n < (size_t)size && r > 0) {
		r = read(fd, *text + *n, (size_t)size - *n);
		*n += r > 0 ? (size_t)r : 0;
	}
	return !*text ? -ENOMEM : r < 0 ? -errno : 0;
}

static int refuse_file(const char *name, int rc, struct err *e)
{
	if (rc == -EPERM)
		return err_set(e,
			       "%s: what is kept of it, %s, must be a plain file of your own; "
			       "sandgate rm %s takes the sandbox away",
			       name, file_name, name);
	return err_set(e, "%s: what is kept of it cannot be read: %s", name, err_why(-rc));
}

/* Names the file, and a way out. */
static int refuse_contents(const char *name, struct err *e)
{
	char path[PATH_MAX];
	struct err why = *e, ignored;

	if (state_dir_path(path, &ignored))
		*path = 0;
	return err_set(
		e,
		"%s: %s/sandboxes/%s/%s: %s; put a good copy in its place, or take the sandbox "
		"away: sandgate rm %s",
		name, path, name, file_name, why.text, name);
}

int definition_load(const char *name, struct definition *d, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_fd_ int dir = state_dir_open_sandbox(name, false, e);
	size_t n = 0;
	int rc;

	definition_init(d);
	if (dir < 0)
		return dir;
	rc = read_file(dir, &text, &n);
	if (rc)
		return rc == -ENOENT ? rc : refuse_file(name, rc, e);
	return definition_parse(span_of(text, n), d, e) ? refuse_contents(name, e) : 0;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno != EINTR)
			return -errno;
		if (w > 0) {
			p += w;
			n -= (size_t)w;
		}
	}
	return 0;
}

/* What stands in `file_name` is at every moment the old text or the new one, whole. */
static int replace_file(int dir, const char *text)
{
	int fd, rc;

	unlinkat(dir, new_name, 0);
	fd = openat(dir, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, text, strlen(text));
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	close(fd);
	if (rc == 0 && (renameat(dir, new_name, dir, file_name) < 0 || fsync(dir) < 0))
		rc = -errno;
	if (rc)
		unlinkat(dir, new_name, 0);
	return rc;
}

int definition_save(const char *name, const struct definition *d, struct err *e)
{
	_cleanup_free_ char *text = definition_print(d);
	_cleanup_fd_ int dir = -1;
	int rc;

	if (!text)
		return err_set(e,
			       "%s: a path or variable of it is not UTF-8, which cannot be kept; "
			       "rename it, or leave it out",
			       name);
	dir = state_dir_open_sandbox(name, true, e);
	if (dir < 0)
		return -1;
	rc = replace_file(dir, text);
	return rc ? err_set(e, "%s: what is to be kept of it cannot be written: %s", name,
			    err_why(-rc))
		  : 0;
}

/* --- the lock --- */

static int take_lock(int fd)
{
	mono_t end = mono_add_ms(mono_now(), LOCK_MS);
	struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (!mono_before(mono_now(), end))
			return -ETIMEDOUT;
		nanosleep(&step, NULL);
	}
	return 0;
}

/* Who waited may hold the lock of one that was taken away meanwhile, and made anew. */
static bool is_current(const char *name, int lock)
{
	struct err ignored;
	_cleanup_fd_ int dir = state_dir_open_sandbox(name, false, &ignored);
	struct stat held, now;

	return dir >= 0 && fstat(lock, &held) == 0 &&
	       fstatat(dir, lock_name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == now.st_dev && held.st_ino == now.st_ino;
}

int definition_lock(const char *name, struct err *e)
{
	_cleanup_fd_ int dir = state_dir_open_sandbox(name, false, e);
	int fd, rc;

	if (dir == -ENOENT)
		return err_set(e, "%s: no sandbox of that name is kept", name);
	if (dir < 0)
		return -1;
	fd = openat(dir, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : take_lock(fd);
	if (rc == 0 && !is_current(name, fd))
		rc = -ESTALE;
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return err_set(e, "%s: %s", name,
		       rc == -ETIMEDOUT ? "another change of it is under way; try again"
		       : rc == -ESTALE	? "it has just been removed"
					: err_why(-rc));
}
