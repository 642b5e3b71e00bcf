/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/shared_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "sandbox/files/pem.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/settings/trusted_file.h"

static const char shown_name[] = "ca", members_name[] = "of";
static const char *const files[] = {"bundle.pem", "extra.pem"};

struct folders {
	int network, shown, members; /* -1 */
};

#define FOLDERS_NONE ((struct folders){-1, -1, -1})

char *shared_trust_path(const char *id, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/%s/%s", SHARED_TRUST_BASE, id, shown_name);
	return out;
}

static int failed(const char *id, int why, struct err *e)
{
	return err_set(e, "%s/%s, whom the containers of the network trust: %s", SHARED_TRUST_BASE,
		       id, why == -EPERM ? "it must be root's alone to write" : err_why(-why));
}

/* --- the folders --- */

/* A descriptor or -errno. Where dockerd was first, it has made what a container mounts. */
static int open_folder(int at, const char *name, mode_t mode)
{
	struct stat st;
	int fd;

	if (mode && mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && !trusted_why_not(&st, OWNER_ROOT) &&
	    (!mode || fchmod(fd, mode) == 0))
		return fd;
	close(fd);
	return -EPERM;
}

static void close_folders(struct folders *f)
{
	if (f->network >= 0)
		close(f->network);
	if (f->shown >= 0)
		close(f->shown);
	if (f->members >= 0)
		close(f->members);
	*f = FOLDERS_NONE;
}

/* 0 or -errno; locked until they are closed. */
static int open_below(int base, const char *id, bool make, struct folders *f)
{
	f->network = open_folder(base, id, make ? 0711 : 0);
	if (f->network < 0)
		return f->network;
	if (flock(f->network, LOCK_EX) < 0)
		return -errno;
	f->shown = open_folder(f->network, shown_name, make ? 0755 : 0);
	f->members = open_folder(f->network, members_name, make ? 0700 : 0);
	if (f->shown < 0 && (make || f->shown != -ENOENT))
		return f->shown;
	return f->members < 0 && (make || f->members != -ENOENT) ? f->members : 0;
}

static int open_folders(const char *id, bool make, struct folders *f)
{
	_cleanup_fd_ int base = open_folder(AT_FDCWD, SHARED_TRUST_BASE, make ? 0755 : 0);
	int rc = base < 0 ? base : open_below(base, id, make, f);

	if (rc)
		close_folders(f);
	return rc;
}

/* Calls fn for each name; the first that is not 0, or -errno. */
static int each_name(int folder, int (*fn)(int folder, const char *name, void *ctx), void *ctx)
{
	DIR *d = folder_list(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	int rc = 0;

	if (!d)
		return -errno;
	while (rc == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = fn(folder, entry->d_name, ctx);
	closedir(d);
	return rc;
}

/* --- the files --- */

struct gathering {
	struct registry registry; /* fd -1: nobody lives */
	const char *own;	  /* this process is its supervisor; NULL: none */
	FILE *out;
};

/*
 * A process does not see its own record lock (runtime_dir.h), and would lose it with the first
 * descriptor of that file that it closes.
 */
static bool is_alive(const struct gathering *g, const char *name)
{
	int fd;

	if (g->own && strcmp(g->own, name) == 0)
		return true;
	fd = g->registry.fd >= 0 && sandbox_name_valid(name)
		     ? registry_open_sandbox(&g->registry, name)
		     : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Also what a write left half-made, whose name is none of a sandbox. */
static int gather_one(int folder, const char *name, void *ctx)
{
	const struct trusted_request r = {.folder = folder,
					  .name = name,
					  .shown = name,
					  .owner = OWNER_ROOT,
					  .max = CA_BUNDLE_HEAD};
	struct gathering *g = ctx;
	struct trusted_text text;
	struct err ignored;

	if (!is_alive(g, name) || trusted_file_read(&r, &text, &ignored))
		return unlinkat(folder, name, 0) < 0 ? -errno : 0;
	fwrite(text.p, 1, text.n, g->out);
	fputc('\n', g->out);
	free(text.p);
	return 0;
}

/* The authorities of those that live, to free; 0 or -errno. */
static int gather(int members, const char *own, char **text, size_t *n)
{
	struct gathering g = {.registry = {.fd = -1}, .own = own, .out = open_memstream(text, n)};
	struct err ignored;
	int rc;

	if (!g.out)
		return -ENOMEM;
	if (registry_open(&g.registry, false, &ignored))
		g.registry.fd = -1;
	rc = each_name(members, gather_one, &g);
	if (g.registry.fd >= 0)
		registry_close(&g.registry);
	if (fclose(g.out) == EOF && rc == 0)
		rc = -ENOMEM;
	return rc;
}

static int write_file(int shown, const char *name, struct span authorities, struct span others)
{
	_cleanup_free_ char *all = malloc(authorities.n + others.n + 1);

	if (!all)
		return -ENOMEM;
	if (authorities.n)
		memcpy(all, authorities.p, authorities.n);
	if (others.n)
		memcpy(all + authorities.n, others.p, others.n);
	return trusted_file_replace(shown, name, span_of(all, authorities.n + others.n), 0444);
}

static int write_files(const struct folders *f, const char *own, const struct host_bundle *host)
{
	_cleanup_free_ char *text = NULL;
	const struct trusted_text *others[] = {&host->text, &host->extra};
	size_t n = 0;
	int rc = gather(f->members, own, &text, &n);

	for (size_t i = 0; rc == 0 && i < sg_array_len(files); i++)
		rc = write_file(f->shown, files[i], span_of(text, n), trusted_span(others[i]));
	return rc;
}

int shared_trust_put(const char *id, const char *sandbox, const struct host_bundle *host,
		     struct span pem, struct err *e)
{
	struct folders f = FOLDERS_NONE;
	int rc;

	if (!pem_is_certificates(pem) || pem.n > CA_BUNDLE_HEAD)
		return err_set(e, "the authority of %s: it is no certificate", sandbox);
	rc = open_folders(id, true, &f);
	if (rc == 0)
		rc = trusted_file_replace(f.members, sandbox, pem, 0400);
	if (rc == 0)
		rc = write_files(&f, sandbox, host);
	close_folders(&f);
	return rc ? failed(id, rc, e) : 0;
}

int shared_trust_refresh(const char *id, struct err *e)
{
	const struct host_bundle_request r = {.host = &host_tree, .person = environ};
	struct folders f = FOLDERS_NONE;
	struct host_bundle host;
	int rc;

	if (host_bundle_read(&r, &host, e))
		return -1;
	rc = open_folders(id, true, &f);
	if (rc == 0)
		rc = write_files(&f, NULL, &host);
	close_folders(&f);
	host_bundle_free(&host);
	return rc ? failed(id, rc, e) : 0;
}

/* --- the end --- */

static int unlink_one(int folder, const char *name, void *ctx)
{
	return unlinkat(folder, name, 0) < 0 ? -errno : 0;
}

static int empty(int parent, int folder, const char *name)
{
	int rc = folder < 0 ? 0 : each_name(folder, unlink_one, NULL);

	if (rc == 0 && folder >= 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
		rc = -errno;
	return rc;
}

static int remove_all(const char *id, const struct folders *f)
{
	_cleanup_fd_ int base = open_folder(AT_FDCWD, SHARED_TRUST_BASE, 0);
	int rc = empty(f->network, f->shown, shown_name);

	if (rc == 0)
		rc = empty(f->network, f->members, members_name);
	if (rc == 0 && unlinkat(base, id, AT_REMOVEDIR) < 0)
		rc = -errno;
	return rc;
}

int shared_trust_remove(const char *id, struct err *e)
{
	struct folders f = FOLDERS_NONE;
	int rc = open_folders(id, false, &f);

	if (rc == -ENOENT)
		return 0;
	if (rc == 0)
		rc = remove_all(id, &f);
	close_folders(&f);
	return rc ? failed(id, rc, e) : 0;
}
