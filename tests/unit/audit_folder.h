/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit_folder: folders of logs for tests: made, filled, copied, changed octet by octet, taken
 * away.
 */
#ifndef SG_TESTS_AUDIT_FOLDER_H
#define SG_TESTS_AUDIT_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"

struct folder {
	char path[64];
	int fd;
};

/* In `parent`. Most are in memory: a test writes and syncs more than a disk likes. */
static inline struct folder folder_make_in(const char *parent)
{
	struct folder f;

	snprintf(f.path, sizeof(f.path), "%s/sg-audit-XXXXXX", parent);
	assert_non_null(mkdtemp(f.path));
	f.fd = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f.fd >= 0);
	return f;
}

static inline struct folder folder_make(void)
{
	return folder_make_in("/dev/shm");
}

/* Calls fn for each file of the folder. */
static inline void folder_each(int fd, void (*fn)(int fd, const char *name, void *ctx), void *ctx)
{
	DIR *d = fdopendir(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;

	assert_non_null(d);
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			fn(fd, entry->d_name, ctx);
	closedir(d);
}

static inline void folder_unlink(int fd, const char *name, void *ctx)
{
	assert_int_equal(unlinkat(fd, name, 0), 0);
}

static inline void folder_empty(const struct folder *f)
{
	folder_each(f->fd, folder_unlink, NULL);
}

static inline void folder_remove(struct folder *f)
{
	folder_empty(f);
	close(f->fd);
	assert_int_equal(rmdir(f->path), 0);
}

/* The file and a NUL; the caller frees. */
static inline char *folder_read(int fd, const char *name, size_t *n)
{
	int file = openat(fd, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;

	assert_true(file >= 0);
	assert_int_equal(fstat(file, &st), 0);
	text = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(file, text, (size_t)st.st_size), st.st_size);
	text[st.st_size] = 0;
	close(file);
	if (n)
		*n = (size_t)st.st_size;
	return text;
}

static inline void folder_write(int fd, const char *name, const void *p, size_t n)
{
	int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, p, n), n);
	close(file);
}

static inline void folder_copy_file(int fd, const char *name, void *to)
{
	size_t n;
	char *text = folder_read(fd, name, &n);

	folder_write(*(int *)to, name, text, n);
	free(text);
}

/* Makes `to` hold what `from` holds. */
static inline void folder_copy(const struct folder *from, const struct folder *to)
{
	int fd = to->fd;

	folder_empty(to);
	folder_each(from->fd, folder_copy_file, &fd);
}

static inline struct audit_log *log_open(const struct folder *f, const struct audit_log_options *o)
{
	struct err e;
	struct audit_log *l = audit_log_open(f->fd, o, &e);

	if (!l)
		fail_msg("%s", e.text);
	return l;
}

static inline int log_add(struct audit_log *l, int n)
{
	return audit_log_append(l, json_pack("{s:s,s:s,s:i}", "action", "sandgate.test.note",
					     "sandbox", "alpha", "n", n));
}

/* Adds entries, each signed. Of one number and one millisecond they are the same in every log. */
static inline void log_fill_from(const struct folder *f, const struct audit_log_options *o, int n,
				 int entries)
{
	struct audit_log *l = log_open(f, o);

	for (int i = 0; i < entries; i++) {
		assert_int_equal(log_add(l, n + i), 0);
		assert_int_equal(audit_log_commit(l, true), 0);
	}
	audit_log_close(l);
}

static inline void log_fill(const struct folder *f, const struct audit_log_options *o, int entries)
{
	log_fill_from(f, o, 0, entries);
}

static inline struct folder log_make(const struct audit_log_options *o, int entries)
{
	struct folder f = folder_make();

	log_fill(&f, o, entries);
	return f;
}

static inline struct audit_verdict verdict_of(const struct folder *f)
{
	struct audit_verdict v;
	struct err e;

	if (audit_verify(f->fd, span_of(NULL, 0), span_of(NULL, 0), &v, &e) < 0)
		fail_msg("%s", e.text);
	return v;
}

static inline void assert_holds(const struct folder *f, uint64_t size)
{
	struct audit_verdict v = verdict_of(f);

	if (!v.holds)
		fail_msg("%s", v.why.text);
	assert_int_equal(v.size, size);
}

#endif
