/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "policy/rule.h"
#include "sandbox/settings/organisation_files.h"
#include "sandbox/person.h"
#include "sandbox/settings/trusted_file.h"

enum { OVERRIDE_MAX = 4 * 1024 * 1024 };

/* --- the overrides --- */

static int is_override(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 5, ".yaml") == 0;
}

static int by_octets(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_override(struct sources *s, const struct trusted_request *r, struct err *e)
{
	struct trusted_text text;
	struct catalogue *c;

	if (s->n_overrides == SOURCES_OVERRIDES_MAX)
		return err_set(e, "%s: more than %d files of the catalogue; put several into one",
			       r->shown, SOURCES_OVERRIDES_MAX);
	if (trusted_file_read(r, &text, e)) /* One that is gone since is an error as well. */
		return -1;
	s->local = digest_of(
		(struct span[]){span_of(s->local.b, DIGEST_OCTETS), trusted_span(&text)}, 2);
	c = catalogue_read(s->catalogue, trusted_span(&text), r->shown, e);
	free(text.p);
	if (!c)
		return -1;
	s->overrides[s->n_overrides++] = c;
	s->catalogue = c;
	return 0;
}

static int add_named(struct sources *s, int folder, const char *dir, enum trusted_owner owner,
		     struct dirent **names, int n, struct err *e)
{
	for (int i = 0; i < n; i++) {
		char path[2 * PATH_MAX];
		struct trusted_request r = {.folder = folder,
					    .name = names[i]->d_name,
					    .shown = path,
					    .owner = owner,
					    .follow = owner == OWNER_ROOT,
					    .max = OVERRIDE_MAX};

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		err_set(e, "%s: it is gone", path);
		if (add_override(s, &r, e))
			return -1;
	}
	return 0;
}

/* Those of one configuration folder; `why_none` refuses any. */
static int add_overrides(struct sources *s, const char *config, enum trusted_owner owner,
			 const char *why_none, struct err *e)
{
	char dir[PATH_MAX + 16];
	struct dirent **names;
	int folder, n, rc;

	snprintf(dir, sizeof(dir), "%s/catalogue", config);
	folder = trusted_folder_open(dir, owner, e);
	if (folder < 0)
		return folder == -ENOENT ? 0 : -1;
	n = scandirat(folder, ".", &names, is_override, by_octets);
	if (n < 0)
		rc = err_set(e, "%s: %s", dir, err_why(errno));
	else if (n && why_none)
		rc = err_set(e, "%s/%s: %s", dir, names[0]->d_name, why_none);
	else
		rc = add_named(s, folder, dir, owner, names, n, e);
	for (int i = 0; i < n; i++)
		free(names[i]);
	if (n >= 0)
		free(names);
	close(folder);
	return rc;
}

/* A person without a home has none. */
static int add_persons(struct sources *s, struct err *e)
{
	const char *why_none = NULL;
	char dir[PATH_MAX];
	struct err none;

	if (person_is_root() || config_dir_path(dir, &none))
		return 0;
	if (s->organisation.present && s->organisation.locked)
		why_none = "the organisation's policy is locked, so permissions are not yours to "
			   "change; move the file away";
	return add_overrides(s, dir, OWNER_ROOT_OR_PERSON, why_none, e);
}

/* --- all of them --- */

int sources_read_catalogue(struct sources *s, struct err *e)
{
	*s = (struct sources){.catalogue = catalogue_builtin()};
	settings_init(&s->settings);
	if (add_overrides(s, CONFIG_DIR_SYSTEM, OWNER_ROOT, NULL, e) == 0)
		return 0;
	sources_free(s);
	return -1;
}

int sources_read(struct sources *s, struct err *e)
{
	if (sources_read_catalogue(s, e))
		return -1;
	if (organisation_files_read(s->catalogue, &s->organisation, e) == 0 &&
	    add_persons(s, e) == 0 && settings_read(&s->settings, e) == 0)
		return 0;
	sources_free(s);
	return -1;
}

void sources_free(struct sources *s)
{
	settings_free(&s->settings);
	organisation_free(&s->organisation);
	while (s->n_overrides)
		catalogue_free(s->overrides[--s->n_overrides]);
	*s = (struct sources){.catalogue = catalogue_builtin()};
}

struct policy_sources sources_for(const struct sources *s, const char *agent,
				  char *const *languages)
{
	return (struct policy_sources){
		.catalogue = s->catalogue,
		.organisation = s->organisation.present ? &s->organisation : NULL,
		.agent = agent ? catalogue_agent(s->catalogue, agent) : NULL,
		.languages = languages,
	};
}
