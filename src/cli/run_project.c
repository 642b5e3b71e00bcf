/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_project: an agent may write the working directory, so what it says is a request.
 *
 * The file counts when the person confirmed its exact octets. The languages count that the folder
 * showed before any sandbox ran there; one that shows later is named, and counts when it is
 * accepted. What is recorded is recorded before the command starts.
 */
#include "cli/run_project.h"

#include <errno.h>
#include <string.h>

#include "cli/question.h"
#include "policy/print_yaml.h"
#include "policy/rule.h"
#include "sandbox/files/file_system.h"
#include "sandbox/files/home.h"
#include "sandbox/files/own_folders.h"
#include "sandbox/path.h"
#include "sandbox/run.h"
#include "sandbox/state_dir.h"

/* --- looking --- */

/* As the sandbox will have it: a home or a folder of the system is not shared with it. */
static bool is_shared(const char *cwd)
{
	struct own_folders own;
	struct file_request r = {
		.host = &host_tree, .cwd = cwd, .home = getenv("HOME"), .own = own.list};

	own_folders_find(NULL, &own);
	return !file_plan_why_not_shared(&r);
}

static int find_file(struct run_project *p, const struct policy_words *w, struct err *e)
{
	int rc;

	if (w->policy_file || w->only || w->no_project || w->unattended || !p->shared)
		return 0;
	rc = project_find(p->cwd, home_find(), &p->file, e);
	p->has_file = rc == 0;
	return rc == 0 || rc == -ENOENT ? 0 : EXIT_USAGE;
}

static bool holds(const json_t *list, const char *id)
{
	size_t i;
	const json_t *one;

	json_array_foreach(list, i, one) if (strcmp(json_string_value(one), id) == 0) return true;
	return false;
}

/* --- lists of ids --- */

static size_t length(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static bool has(char *const *list, const char *id)
{
	for (; list && *list; list++)
		if (strcmp(*list, id) == 0)
			return true;
	return false;
}

/* Once. 0 or -1 without memory. */
static int add(char ***list, const char *id)
{
	size_t n = length(*list);
	char **more;

	if (has(*list, id))
		return 0;
	more = reallocarray(*list, n + 2, sizeof(*more));
	if (!more)
		return -1;
	*list = more;
	more[n] = strdup(id);
	more[n + 1] = NULL;
	return more[n] ? 0 : -1;
}

static int by_octets(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* --- languages --- */

/*
 * Parts what is shown into what counts and what is new. What was accepted once stays recorded while
 * its files are gone.
 */
static int sort_languages(struct run_project *p, const struct policy_words *w, char *const *shown)
{
	const json_t *known = trust_languages(&p->trust, p->cwd), *one;
	bool first = !known && !w->unattended && p->trust.root;
	size_t i;

	for (; *shown; shown++) {
		bool counts = first || w->yes || holds(known, *shown);

		if (add(counts ? &p->languages : &p->fresh, *shown) ||
		    (counts && add(&p->accepted, *shown)))
			return -1;
	}
	json_array_foreach(known, i, one) if (add(&p->accepted, json_string_value(one))) return -1;
	if (!p->accepted)
		p->accepted = calloc(1, sizeof(*p->accepted));
	if (!p->accepted)
		return -1;
	qsort(p->accepted, length(p->accepted), sizeof(*p->accepted), by_octets);
	return 0;
}

static int find_languages(struct run_project *p, const struct policy_words *w,
			  const struct catalogue *c, struct err *e)
{
	char **shown = project_languages(c, p->cwd);
	int rc = shown ? sort_languages(p, w, shown) : -1;

	string_list_free(shown);
	return rc ? err_set(e, "out of memory"), EXIT_SANDGATE : 0;
}

/*
 * Where nothing can be kept (no home, or one that cannot be written) nothing is known: no language
 * counts by itself, and no file can be confirmed.
 */
static int read_trust(struct run_project *p, struct err *e)
{
	struct err why;
	int rc = trust_read_if_kept(&p->trust, &why);

	if (rc == 0 || (rc > 0 && !p->has_file))
		return 0;
	if (rc < 0)
		*e = why;
	else
		err_set(e, "%s: what you confirm cannot be kept: %s; --no-project runs without it",
			p->file.path, why.text);
	return EXIT_SANDGATE;
}

int run_project_begin(struct run_project *p, const struct policy_words *w,
		      const struct catalogue *c, struct err *e)
{
	int rc;

	*p = (struct run_project){.cwd = getcwd(NULL, 0)};
	p->shared = !w->elsewhere && p->cwd && *p->cwd == '/' && is_shared(p->cwd);
	rc = find_file(p, w, e);
	if (rc == 0)
		rc = read_trust(p, e);
	return rc || !p->shared ? rc : find_languages(p, w, c, e);
}

/* --- the file --- */

int run_project_read(const struct run_project *p, const struct catalogue *c, struct policy *out,
		     struct err *e)
{
	policy_init(out);
	if (!p->has_file)
		return 0;
	return policy_parse_known(trusted_span(&p->file.text), POLICY_YAML, p->file.path, c, out, e)
		       ? EXIT_USAGE
		       : 0;
}

static int show_file(const struct run_project *p, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	struct policy policy;
	int rc = run_project_read(p, NULL, &policy, e);

	if (rc == 0)
		text = policy_print_yaml(&policy);
	policy_free(&policy);
	if (text)
		question_show(p->file.path, text);
	return rc || text ? rc : (err_set(e, "out of memory"), EXIT_SANDGATE);
}

int run_project_confirm(struct run_project *p, const struct policy_words *w, struct err *e)
{
	bool before;
	char text[PATH_MAX + 128];
	int rc;

	if (!p->has_file || trust_has_file(&p->trust, p->file.folder, &p->file.digest))
		return 0;
	rc = show_file(p, e);
	if (rc)
		return rc;
	before = trust_had_file(&p->trust, p->file.folder);
	snprintf(text, sizeof(text), "%s %s, and you have not confirmed it%s", p->file.path,
		 before ? "has changed" : "is new here",
		 question_can_ask() || w->yes ? "" : "; --no-project runs without it");
	if (question_ask(text, w->yes, e))
		return EXIT_USAGE;
	p->file_new = true;
	return 0;
}

/* --- the end --- */

/* Does the base take the project's languages in? */
static bool uses_languages(const struct policy *policy, const struct catalogue *c)
{
	const struct preset *preset = catalogue_preset(c, network_base_name(policy->network));

	for (const char *const *id = preset ? preset->permissions : NULL; id && *id; id++)
		if (strcmp(*id, "languages") == 0)
			return true;
	return false;
}

static void say_fresh(const struct run_project *p, const struct policy *policy,
		      const struct catalogue *c)
{
	char list[ERR_MAX] = "";
	size_t n = 0;

	for (char *const *id = p->fresh; id && *id && n < sizeof(list); id++)
		if (!has(policy->resolved.on, *id))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? "," : "",
					      *id);
	if (n && uses_languages(policy, c))
		fprintf(stderr,
			"sandgate: files that came after you first ran here ask for %s, which "
			"stays off; to allow it: --allow %s, or --yes to keep it on here\n",
			list, list);
}

/* Folders that the sandbox may write as well: what it makes there later is not to be taken for
 * theirs. */
static int record_rw(const struct run_project *p, const struct policy_words *w,
		     const struct catalogue *c, struct err *e)
{
	for (const char *const *rw = w->rw; rw && *rw; rw++) {
		char joined[PATH_MAX], folder[PATH_MAX];
		struct trust_entry entry = {.folder = folder};
		int rc;

		if (!path_join(p->cwd, *rw, joined) || !path_resolve(&host_tree, joined, folder) ||
		    host_tree.kind(NULL, folder) != PATH_DIR || trust_languages(&p->trust, folder))
			continue;
		entry.languages = project_languages(c, folder);
		rc = entry.languages ? trust_record(&entry, e) : err_set(e, "out of memory");
		string_list_free((char **)entry.languages);
		if (rc)
			return -1;
	}
	return 0;
}

static int record(const struct run_project *p, const struct policy_words *w,
		  const struct catalogue *c, struct err *e)
{
	struct trust_entry file = {.folder = p->file.folder, .file = &p->file.digest};
	struct trust_entry languages = {.folder = p->cwd, .languages = p->accepted};

	if (!p->trust.root)
		return 0;
	if (p->file_new && trust_record(&file, e))
		return -1;
	if (p->shared && !trust_has_languages(&p->trust, p->cwd, p->accepted) &&
	    trust_record(&languages, e))
		return -1;
	return record_rw(p, w, c, e);
}

int run_project_end(struct run_project *p, const struct policy_words *w,
		    const struct policy *policy, const struct catalogue *c, struct err *e)
{
	if (record(p, w, c, e))
		return EXIT_SANDGATE;
	say_fresh(p, policy, c);
	return 0;
}

void run_project_free(struct run_project *p)
{
	free(p->cwd);
	trust_free(&p->trust);
	string_list_free(p->languages);
	string_list_free(p->fresh);
	string_list_free(p->accepted);
	project_free(&p->file);
	*p = (struct run_project){0};
}
