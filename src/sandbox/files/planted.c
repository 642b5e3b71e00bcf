/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/planted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/files/file_tables.h"

static bool look(const struct planted *p, size_t i, struct stat *st)
{
	return fstatat(p->folder, file_protected_parts[i], st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_there(const struct planted *p, size_t i)
{
	struct stat st;

	return look(p, i, &st);
}

static void note(struct planted *p, size_t i)
{
	struct stat st;

	p->absent[i] = !look(p, i, &st);
	if (p->absent[i] || !S_ISLNK(st.st_mode))
		return;
	p->link[i].number = st.st_ino;
	p->link[i].changed = st.st_ctim;
}

/* Was absent, or was a link that has another in its place. */
static bool is_new(const struct planted *p, size_t i)
{
	struct stat st;

	if (!look(p, i, &st))
		return false;
	if (p->absent[i])
		return true;
	return p->link[i].number &&
	       (st.st_ino != p->link[i].number || st.st_ctim.tv_sec != p->link[i].changed.tv_sec ||
		st.st_ctim.tv_nsec != p->link[i].changed.tv_nsec);
}

void planted_begin(struct planted *p, const char *workdir)
{
	*p = (struct planted){.folder = open(workdir, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	for (size_t i = 0; p->folder >= 0 && i < file_n_protected_parts; i++)
		note(p, i);
}

/* One that lies in another that is new is not told apart: `.git/hooks` in a new `.git`. */
static bool lies_in_new(const struct planted *p, size_t part)
{
	const char *name = file_protected_parts[part];

	for (size_t i = 0; i < file_n_protected_parts; i++) {
		size_t n = strlen(file_protected_parts[i]);

		if (i != part && p->absent[i] && strncmp(name, file_protected_parts[i], n) == 0 &&
		    name[n] == '/' && is_there(p, i))
			return true;
	}
	return false;
}

static size_t put_names(const struct planted *p, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < file_n_protected_parts; i++)
		if (is_new(p, i) && !lies_in_new(p, i))
			fprintf(to, "%s%s", n++ ? ", " : "", file_protected_parts[i]);
	return n;
}

char *planted_end(struct planted *p)
{
	char *text = NULL;
	size_t octets = 0, n;
	FILE *to;

	if (p->folder < 0)
		return NULL;
	to = open_memstream(&text, &octets);
	if (!to)
		return NULL;
	fputs("the command made ", to);
	n = put_names(p, to);
	fputs("; such files run by themselves outside the sandbox: look at them before you work on",
	      to);
	close(p->folder);
	p->folder = -1;
	if (fclose(to) == 0 && n)
		return text;
	free(text);
	return NULL;
}
