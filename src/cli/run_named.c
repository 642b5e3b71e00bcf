/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_named.h"

#include <errno.h>
#include <string.h>

#include "cli/change_question.h"
#include "cli/cli.h"
#include "cli/known.h"
#include "cli/pcap_words.h"
#include "cli/run_words.h"
#include "cli/sandbox_policy.h"
#include "cli/stored.h"
#include "sandbox/engine/engine.h"
#include "sandbox/control/exec_client.h"
#include "sandbox/name_list.h"
#include "sandbox/path.h"

/* --- what is not for a sandbox that there is --- */

#define AGAIN "make another one, or take it away first: sandgate rm "

/* Options that made it what it is, with what to do instead, before its name. */
static const struct {
	const char *option, *instead;
} fixed[] = {
	{"only", "say it as a change: sandgate net policy --preset deny --allow ITEM "},
	{"policy", "change its policy with: sandgate net policy "},
	{"publish", AGAIN},
	{"host-port", AGAIN},
	{"inspect", AGAIN},
	{"splice", AGAIN},
	{"image", AGAIN},
};

static int refuse(const char *name, const char *option, const char *instead, struct err *e)
{
	return err_set(
		e, "--%s: the sandbox %s is there already, and keeps what it was made with; %s%s",
		option, name, instead, name);
}

static bool has_path(char *const *kept, const char *written)
{
	char cwd[PATH_MAX], path[PATH_MAX];

	if (!getcwd(cwd, sizeof(cwd)) || !path_join(cwd, written, path))
		return false;
	for (; kept && *kept; kept++)
		if (strcmp(*kept, path) == 0)
			return true;
	return false;
}

/* Folders that it has already are no contradiction. */
static int check_paths(const struct args *a, const char *name, const char *option,
		       char *const *kept, struct err *e)
{
	const struct args_values *v = args_named(a, option);

	for (size_t i = 0; i < v->n; i++)
		if (!has_path(kept, v->values[i]))
			return refuse(name, option, AGAIN, e);
	return 0;
}

static int check_fixed(const struct args *a, const char *name, struct err *e)
{
	for (size_t i = 0; i < sg_array_len(fixed); i++)
		if (args_named(a, fixed[i].option)->n)
			return refuse(name, fixed[i].option, fixed[i].instead, e);
	return 0;
}

static int check_definition(const struct args *a, const char *name, struct err *e)
{
	const char *agent = args_value(a, RUN_AGENT), *engine = args_value(a, RUN_ENGINE);
	struct definition d;
	int rc = definition_load(name, &d, e);

	if (rc && rc != -ENOENT)
		return -1;
	rc = check_fixed(a, name, e);
	if (rc == 0 && args_has(a, RUN_AS_ROOT) && !d.as_root)
		rc = refuse(name, "as-root", AGAIN, e);
	if (rc == 0 && engine && strcmp(engine, engine_name(d.engine)) != 0)
		rc = refuse(name, "engine", AGAIN, e);
	if (rc == 0 && agent && (!d.agent || strcmp(agent, d.agent) != 0))
		rc = refuse(name, "agent", AGAIN, e);
	if (rc == 0)
		rc = check_paths(a, name, "rw", d.rw, e) || check_paths(a, name, "ro", d.ro, e) ||
				     check_paths(a, name, "hide", d.hide, e)
			     ? -1
			     : 0;
	definition_free(&d);
	return rc;
}

/* --- a change of its policy --- */

static int add_item(void *ctx, const char *item, struct err *e)
{
	struct name_list *l = ctx;

	name_list_add(l, item);
	return l->failed ? err_set(e, "out of memory") : 0;
}

/* In the order written, since a later one may take back an earlier. */
static int split_lists(const char *option, const char *const *lists, struct name_list *out,
		       struct err *e)
{
	for (; lists && *lists; lists++)
		if (policy_each_item(*lists, add_item, out, e))
			return err_prefix(e, "--%s", option);
	return 0;
}

static int change(const char *name, const struct change_request *r, bool yes, struct err *e)
{
	int status = change_question_ask(name, r, yes, e);
	json_t *answer = status ? NULL : sandbox_policy_change(name, r, &status, e);

	if (!answer)
		return status;
	json_decref(answer);
	return 0;
}

/* As `sandgate net` would, whether it runs or not. 0, or the exit status with the message. */
static int change_policy(const struct args *a, const char *name, struct err *e)
{
	struct name_list allow = {0}, deny = {0};
	struct change_request r = {.change.preset = args_value(a, RUN_NET)};
	int status = EXIT_USAGE;

	if (!split_lists("allow", args_values(a, RUN_ALLOW), &allow, e) &&
	    !split_lists("deny", args_values(a, RUN_DENY), &deny, e)) {
		r.change.allow = (const char *const *)allow.v;
		r.change.deny = (const char *const *)deny.v;
		status = 0;
		if (allow.v || deny.v || r.change.preset)
			status = change(name, &r, args_has(a, RUN_YES), e);
	}
	name_list_free(allow.v);
	name_list_free(deny.v);
	return status;
}

/* --- the command --- */

/* Where it works is part of it; from a folder of that one the command starts there. */
static const char *choose_cwd(const struct definition *d, char cwd[PATH_MAX])
{
	return getcwd(cwd, PATH_MAX) && path_holds(d->workdir, cwd) ? cwd : NULL;
}

static int run_inside(const struct args *a, const char *name, struct err *e)
{
	char cwd[PATH_MAX];
	struct definition d;
	struct exec_options o = {.name = name, .env = args_values(a, RUN_ENV), .argv = a->rest};
	int status;

	if (definition_load(name, &d, e) == 0)
		o.cwd = choose_cwd(&d, cwd);
	status = exec_client_run(&o, e);
	definition_free(&d);
	return *e->text ? cli_fail(status, e) : status;
}

int run_stored(const struct args *a, const char *name, const struct sources *s)
{
	struct pcap_words pcap;
	struct stored st;
	struct err e;
	int status;

	if (pcap_words_read(a, args_value(a, RUN_PCAP), &pcap, &e))
		return cli_fail(EXIT_USAGE, &e);
	status = stored_open(name, s, args_values(a, RUN_ENV), &st, &e);
	if (status)
		return cli_fail(status, &e);
	stored_capture(&st, &pcap.request);
	st.o.quiet = args_has(a, RUN_QUIET);
	st.o.argv = run_words_command(a);
	st.o.written = a->written;
	st.o.n_written = a->n_written;
	status = sandbox_run(&st.o);
	stored_close(&st);
	return status;
}

int run_named(const struct args *a, const char *name, const struct sources *s)
{
	struct err e;
	int known = known_find(name, &e), status;

	if (known < 0 || check_definition(a, name, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	if (known == KNOWN_RUNS && args_has(a, RUN_PCAP)) {
		err_set(&e, "--pcap: %s runs already; capture it with: sandgate pcap %s FILE", name,
			name);
		return cli_fail(EXIT_SANDGATE, &e);
	}
	status = change_policy(a, name, &e);
	if (status)
		return cli_fail(status, &e);
	return known == KNOWN_RUNS ? run_inside(a, name, &e) : run_stored(a, name, s);
}
