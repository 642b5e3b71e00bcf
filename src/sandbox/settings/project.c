/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "policy/document.h"
#include "policy/rule.h"
#include "sandbox/path.h"

/* --- sandgate.yaml --- */

/* A file that cannot be parsed names nothing: who parses it as a policy says what is wrong. */
static bool has_key(const struct trusted_text *text, const char *key)
{
	struct document d;
	struct err e;
	bool found = false;

	if (document_parse(trusted_span(text), POLICY_YAML, PROJECT_FILE, &d, &e))
		return false;
	for (size_t i = 0; d.root.kind == NODE_MAP && i + 1 < d.root.n; i += 2)
		found = found || strcmp(d.root.items[i].text, key) == 0;
	document_free(&d);
	return found;
}

static int read_file(int folder, struct project_file *out, struct err *e)
{
	struct trusted_request r = {.folder = folder,
				    .name = PROJECT_FILE,
				    .shown = out->path,
				    .owner = OWNER_PERSON,
				    .max = PROJECT_FILE_MAX};
	int rc = trusted_file_read(&r, &out->text, e);
	struct span octets;

	if (rc == -1) {
		struct err why = *e;

		return err_set(e, "%s; --no-project runs without it", why.text);
	}
	if (rc)
		return rc;
	octets = trusted_span(&out->text);
	out->digest = digest_of(&octets, 1);
	out->names_network = has_key(&out->text, "network");
	return 0;
}

/* 0 found, -ENOENT not there, -EPERM the folder is not the person's, -1 with the message. */
static int look_in(struct project_file *out, struct err *e)
{
	_cleanup_fd_ int fd = open(out->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return -EACCES;
	if (!path_join(out->folder, PROJECT_FILE, out->path))
		return -EACCES;
	return read_file(fd, out, e);
}

static bool go_up(char *folder)
{
	char *slash = strrchr(folder, '/');

	if (!slash || slash == folder)
		return false;
	*slash = 0;
	return true;
}

int project_find(const char *cwd, const char *home, struct project_file *out, struct err *e)
{
	char home_real[PATH_MAX] = "";
	int rc = -ENOENT;

	*out = (struct project_file){0};
	if (home && *home == '/' && !path_resolve(&host_tree, home, home_real))
		return -ENOENT;
	if (!path_tidy(cwd, out->folder))
		return -ENOENT;
	do {
		if (strcmp(out->folder, home_real) == 0)
			return -ENOENT;
		rc = look_in(out, e);
	} while (rc == -ENOENT && go_up(out->folder));
	return rc == -EACCES ? -ENOENT : rc;
}

void project_free(struct project_file *p)
{
	free(p->text.p);
	*p = (struct project_file){0};
}

/* --- languages --- */

static bool is_regular(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* Plain names are asked for, so that no number of others hides them. */
static bool has_plain(int folder, const struct language *l)
{
	for (const char *const *f = l->files; *f; f++)
		if (!strchr(*f, '*') && is_regular(folder, *f))
			return true;
	return false;
}

/* One reading of the folder for the patterns of all languages. */
static void find_patterns(int folder, const struct catalogue *c, bool *shown)
{
	DIR *d = folder_list(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;

	if (!d)
		return;
	for (unsigned n = 0; n < PROJECT_NAMES_MAX && (entry = readdir(d)); n++) {
		const struct language *l = catalogue_language_of_file(c, entry->d_name);

		if (l && !shown[l - c->languages])
			shown[l - c->languages] = is_regular(folder, entry->d_name);
	}
	closedir(d);
}

static void look(const struct catalogue *c, const char *folder, bool *shown)
{
	_cleanup_fd_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	for (size_t i = 0; i < c->n_languages; i++)
		shown[i] = has_plain(fd, &c->languages[i]);
	find_patterns(fd, c, shown);
}

static int by_octets(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **project_languages(const struct catalogue *c, const char *folder)
{
	_cleanup_free_ bool *shown = calloc(c->n_languages + 1, sizeof(*shown));
	char **found = calloc(c->n_languages + 1, sizeof(*found));
	size_t n = 0;

	if (shown)
		look(c, folder, shown);
	for (size_t i = 0; shown && found && i < c->n_languages; i++) {
		if (!shown[i])
			continue;
		found[n] = strdup(c->languages[i].permission);
		if (!found[n++]) {
			string_list_free(found);
			return NULL;
		}
	}
	if (shown && found) {
		qsort(found, n, sizeof(*found), by_octets);
		return found;
	}
	free(found);
	return NULL;
}
