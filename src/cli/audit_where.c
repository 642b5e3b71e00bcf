/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit_where.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/known.h"
#include "sandbox/log/host_log.h"
#include "sandbox/log/log_folder.h"

static const size_t file_max = 64 << 20;

int audit_where_check(const struct audit_where *w, struct err *e)
{
	if (!!w->name + !!w->dir + w->host == 1)
		return 0;
	return err_set(e, "which log? the name of a sandbox, --host or --dir FOLDER, one of them");
}

static int open_folder(int at, const char *path, const char *label, struct err *e)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT && at != AT_FDCWD)
		return err_set(e, "%s: it has never run, so there is no log of it", label);
	if (errno == ENOENT)
		return err_set(e, "%s: there is no such folder; correct the path", label);
	return err_set(e, "%s: %s", label, err_why(errno));
}

static int open_host(struct err *e)
{
	int fd = host_log_open(e);

	return fd == -ENOENT ? err_set(e, "the host's own log: there is none, nothing was written "
					  "into it yet")
			     : fd;
}

int audit_where_open(const struct audit_where *w, struct err *e)
{
	_cleanup_fd_ int folder = -1;

	if (w->host)
		return open_host(e);
	if (w->dir)
		return open_folder(AT_FDCWD, w->dir, w->dir, e);
	folder = log_folder_open(w->name, e);
	if (folder == -ENOENT)
		return known_say_not(w->name, e);
	return folder < 0 ? -1 : open_folder(folder, "audit", w->name, e);
}

const char *audit_where_label(const struct audit_where *w)
{
	return w->host ? "(host)" : w->dir ? w->dir : w->name;
}

static int read_stream(FILE *f, struct span *out)
{
	char *text = NULL;
	size_t n = 0, room = 0, got;

	do {
		if (n == room) {
			char *more;

			room = room ? 2 * room : 8192;
			more = room > file_max ? NULL : realloc(text, room);
			if (!more) {
				free(text);
				return -EFBIG;
			}
			text = more;
		}
		got = fread(text + n, 1, room - n, f);
		n += got;
	} while (got);
	*out = span_of(text, n);
	return ferror(f) ? -EIO : 0;
}

int audit_where_read(const char *path, struct span *out, struct err *e)
{
	bool standard = path && strcmp(path, "-") == 0;
	FILE *f;
	int r;

	*out = span_of(NULL, 0);
	if (!path)
		return 0;
	f = standard ? stdin : fopen(path, "re");
	if (!f && errno == ENOENT)
		return err_set(e, "%s: there is no such file; correct the path", path);
	if (!f)
		return err_set(e, "%s: %s", path, err_why(errno));
	r = read_stream(f, out);
	if (!standard)
		fclose(f);
	if (r == 0 && out->n)
		return 0;
	free((void *)out->p);
	*out = span_of(NULL, 0);
	return err_set(e, "%s: %s", path, r ? err_why(-r) : "it is empty");
}
