/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/pcap_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "audit/entry.h"
#include "sandbox/engine/exposure.h"
#include "sandbox/path.h"

/* Of a name, so that there is room for a time and the number of a segment. */
enum { STEM_MAX = NAME_MAX - 32, NAME_SIZE = 2 * (NAME_MAX + 1) + 16 };

/* What every sandbox sees of the system. */
static const char *const system_folders[] = {"/usr",  "/etc", "/opt",	"/bin",
					     "/sbin", "/lib", "/lib64", NULL};

/* ---- is the folder out of the sandbox's reach? ---- */

static bool holds_resolved(const char *folder, const char *path)
{
	char real[PATH_MAX];

	return folder && *folder == '/' && path_resolve(&host_tree, folder, real) &&
	       path_holds(real, path);
}

static const char *first_above(const char *const *folders, const char *base, const char *path)
{
	char joined[PATH_MAX];

	for (; folders && *folders; folders++)
		if (path_join(base ? base : "/", *folders, joined) && holds_resolved(joined, path))
			return *folders;
	return NULL;
}

static const char *seen_by(const struct pcap_seen *s, const char *folder)
{
	const char *above = NULL;

	if (holds_resolved(s->workdir, folder))
		return s->workdir;
	above = first_above(s->rw, s->workdir, folder);
	if (!above)
		above = first_above(s->ro, s->workdir, folder);
	return above ? above : first_above(system_folders, NULL, folder);
}

static int refuse_seen(const char *file, const char *folder, struct err *e)
{
	return err_set(e,
		       "--pcap %s: a sandbox sees %s: it could read, fill or replace the capture; "
		       "name a file in another folder",
		       file, folder);
}

/* Also of the sandboxes before this one, and of a link on the way. */
static int check_out_of_reach(const char *file, const char *folder, const struct pcap_seen *seen,
			      struct err *e)
{
	const char *above = seen_by(seen, folder);
	struct exposure x;
	int rc;

	if (above)
		return refuse_seen(file, above, e);
	if (exposure_read(&x, e))
		return -1;
	/* Where this was called from is no sandbox's by that alone. */
	x.workdir[0] = 0;
	rc = exposure_has(&x, file) ? refuse_seen(file, "the folder, or once did", e) : 0;
	exposure_free(&x);
	return rc;
}

/* ---- the folder ---- */

static int split(struct pcap_place *p, const char *file, char folder[PATH_MAX], struct err *e)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot;

	if (!slash || strlen(file) >= PATH_MAX)
		return err_set(e, "--pcap %s: the path is too long", file);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(e, "--pcap %s: a folder; name a file in it", file);
	if (strlen(name) > STEM_MAX)
		return err_set(e, "--pcap %s: the name is too long", file);
	snprintf(folder, PATH_MAX, "%.*s", slash == file ? 1 : (int)(slash - file), file);
	dot = strrchr(name, '.');
	if (!dot || dot == name)
		dot = name + strlen(name);
	snprintf(p->stem, sizeof(p->stem), "%.*s", (int)(dot - name), name);
	p->stem_n = strlen(p->stem);
	snprintf(p->suffix, sizeof(p->suffix), "%s", dot);
	return 0;
}

int pcap_place_open(struct pcap_place *p, const char *file, const struct pcap_seen *seen,
		    struct err *e)
{
	char folder[PATH_MAX], tidy[PATH_MAX];

	*p = PCAP_PLACE_NONE;
	if (!path_tidy(file, tidy))
		return err_set(e, "--pcap %s: the path is too long", file);
	if (split(p, tidy, folder, e))
		return -1;
	if (!path_resolve(&host_tree, folder, p->path))
		return err_set(e, "--pcap %s: its folder leads nowhere", file);
	if (check_out_of_reach(tidy, p->path, seen, e))
		return -1;
	p->folder = open(p->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return p->folder < 0 ? err_set(e, "--pcap %s: its folder: %s", file, err_why(errno)) : 0;
}

void pcap_place_close(struct pcap_place *p)
{
	if (p->folder >= 0)
		close(p->folder);
	p->folder = -1;
}

/* ---- the files ---- */

static void name_of(const struct pcap_place *p, unsigned number, char name[NAME_SIZE])
{
	char count[16] = "";

	if (number > 1)
		snprintf(count, sizeof(count), "-%u", number);
	snprintf(name, NAME_SIZE, "%s%s%s", p->stem, count, p->suffix);
}

static bool is_taken(const struct pcap_place *p)
{
	char name[NAME_SIZE];
	struct stat there;

	name_of(p, 1, name);
	return fstatat(p->folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0;
}

static void put_time(struct pcap_place *p, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	char when[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "-%Y%m%dT%H%M%S", &tm);
	snprintf(p->stem + p->stem_n, sizeof(p->stem) - p->stem_n, "%s.%03dZ", when,
		 (int)(ms % 1000));
}

void pcap_place_take_another(struct pcap_place *p)
{
	int64_t ms = entry_now_ms();

	for (p->stem[p->stem_n] = 0; is_taken(p); ms++)
		put_time(p, ms);
}

static int failed(const char *path, int error, struct err *e)
{
	err_set(e, "--pcap %s: %s", path,
		error == EISDIR	  ? "a folder; name a file in it"
		: error == EEXIST ? "it is there already, and a capture overwrites nothing; name "
				    "another file, or remove it"
				  : err_why(error));
	errno = error;
	return -1;
}

/* Why a file of that name was not made. */
static int why_not(const struct pcap_place *p, const char *name, int error)
{
	struct stat there;
	bool folder = error == EEXIST &&
		      fstatat(p->folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		      S_ISDIR(there.st_mode);

	return folder ? EISDIR : error;
}

int pcap_place_create(const struct pcap_place *p, unsigned number, char path[PATH_MAX],
		      struct err *e)
{
	char name[NAME_SIZE];
	int fd, error;

	name_of(p, number, name);
	if (!path_join(p->path, name, path))
		return failed(name, ENAMETOOLONG, e);
	fd = openat(p->folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(path, why_not(p, name, errno), e);
	/* Neither the umask nor an ACL of the folder makes it another's. */
	if (fchmod(fd, 0600) == 0)
		return fd;
	error = errno;
	close(fd);
	return failed(path, error, e);
}

void pcap_place_remove(const struct pcap_place *p, unsigned number, int fd)
{
	char name[NAME_SIZE];
	struct stat there, own;

	name_of(p, number, name);
	if (fstat(fd, &own) == 0 && fstatat(p->folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    own.st_dev == there.st_dev && own.st_ino == there.st_ino)
		unlinkat(p->folder, name, 0);
}
