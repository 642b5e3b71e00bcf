/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. There is one of that name that runs, and the command joins it; or it is
 * started for the command; or it is made. Between the look and the deed others may have made, started,
 * ended or taken it away. Then nothing has been done yet (RUN_NAME_TAKEN), and it is looked again: of
 * any number at once each does what it would have done a moment later. A command that has begun is
 * never begun again.
 */
#include "cli/run_named.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/change_question.h"
#include "cli/cli.h"
#include "cli/join.h"
#include "cli/known.h"
#include "cli/pcap_words.h"
#include "cli/run_words.h"
#include "cli/sandbox_policy.h"
#include "cli/stored.h"
#include "sandbox/engine/engine.h"
#include "sandbox/name_list.h"
#include "sandbox/path.h"
#include "sandbox/state_dir.h"

enum { AGAIN_MS = 120000 };

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

/* -ENOENT where nothing is kept of it: of one that runs and is not kept, or that was just taken away. */
static int check_definition(const struct args *a, const char *name, struct err *e)
{
	const char *agent = args_value(a, RUN_AGENT), *engine = args_value(a, RUN_ENGINE);
	struct definition d;
	int rc = definition_load(name, &d, e), kept = rc;

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
	return rc ? rc : kept;
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

/* The sandbox of a command that joins it does not end before that, if it is one that is kept. */
static int run_inside(const struct args *a, const char *name, int dir, struct err *e)
{
	char cwd[PATH_MAX];
	struct definition d;
	struct exec_options o = {
		.name = name, .dir = dir, .env = args_values(a, RUN_ENV), .argv = a->rest};
	int status;

	if (definition_load(name, &d, e) == 0) {
		o.cwd = choose_cwd(&d, cwd);
		o.holds = true;
	}
	status = join_run(&o, e);
	definition_free(&d);
	if (status == JOIN_ENDED)
		return RUN_NAME_TAKEN;
	return *e->text ? cli_fail(status, e) : status;
}

/* What went wrong with one that is stopped is no matter when it is not what it was any more. */
static int fail_or_look_again(const char *name, int dir, int status, const struct err *e)
{
	return known_is_still(name, dir) ? cli_fail(status, e) : RUN_NAME_TAKEN;
}

/* `dir` is the folder that it is kept in. */
static int run_stored(const struct args *a, const char *name, int dir, const struct sources *s)
{
	struct pcap_words pcap;
	struct stored st;
	struct err e;
	int status;

	if (pcap_words_read(a, args_value(a, RUN_PCAP), &pcap, &e))
		return cli_fail(EXIT_USAGE, &e);
	status = stored_open(name, s, args_values(a, RUN_ENV), &st, &e);
	if (status)
		return fail_or_look_again(name, dir, status, &e);
	stored_capture(&st, &pcap.request);
	st.o.quiet = args_has(a, RUN_QUIET);
	st.o.argv = run_words_command(a);
	st.o.written = a->written;
	st.o.n_written = a->n_written;
	st.o.yields = true;
	status = sandbox_run(&st.o);
	stored_close(&st);
	return status;
}

static int run_stopped(const struct args *a, const char *name, int dir, const struct sources *s)
{
	struct err e;
	int rc = check_definition(a, name, &e), status;

	status = rc && rc != -ENOENT ? EXIT_SANDGATE : rc ? 0 : change_policy(a, name, &e);
	return status ? fail_or_look_again(name, dir, status, &e) : run_stored(a, name, dir, s);
}

static int run_running(const struct args *a, const char *name, int dir)
{
	struct err e;
	int rc = check_definition(a, name, &e), status;

	if (rc && rc != -ENOENT)
		return cli_fail(EXIT_SANDGATE, &e);
	if (args_has(a, RUN_PCAP)) {
		err_set(&e, "--pcap: %s runs already; capture it with: sandgate pcap %s FILE", name,
			name);
		return cli_fail(EXIT_SANDGATE, &e);
	}
	status = change_policy(a, name, &e);
	if (status)
		return join_has_ended(dir) ? RUN_NAME_TAKEN : cli_fail(status, &e);
	return run_inside(a, name, dir, &e);
}

/* --- a new one --- */

static int run_just_made(const struct args *a, const char *name, const struct sources *s)
{
	struct err e;
	int dir = state_dir_open_sandbox(name, false, &e), status;

	if (dir < 0)
		return dir == -ENOENT ? RUN_NAME_TAKEN : cli_fail(EXIT_SANDGATE, &e);
	status = run_stored(a, name, dir, s);
	close(dir);
	return status;
}

/* Kept first, and then run as it will be run again, but for a capture, which is of this run. */
int run_new(const struct args *a, const struct run_options *o)
{
	struct run_options kept = *o;
	struct err e;
	int status;

	kept.pcap = (struct capture_request){.file = NULL};
	status = stored_create(&kept, &e);
	if (status == STORED_TAKEN)
		return RUN_NAME_TAKEN;
	return status ? cli_fail(status, &e) : run_just_made(a, o->name, o->sources);
}

static int run_as_found(const struct args *a, const char *name, const struct sources *s,
			run_with_fn *make, struct err *e)
{
	int dir, status, found = known_open(name, &dir, e);

	if (found < 0)
		return cli_fail(EXIT_SANDGATE, e);
	if (found == KNOWN_NOT)
		return make(a, s);
	status = found == KNOWN_RUNS ? run_running(a, name, dir) : run_stopped(a, name, dir, s);
	close(dir);
	return status;
}

int run_named(const struct args *a, const char *name, const struct sources *s, run_with_fn *make)
{
	mono_t end = mono_add_ms(mono_now(), AGAIN_MS);
	struct err e;
	int status;

	do
		status = run_as_found(a, name, s, make, &e);
	while (status == RUN_NAME_TAKEN && mono_before(mono_now(), end));
	if (status != RUN_NAME_TAKEN)
		return status;
	err_set(&e,
		"%s: others start it and end it all the time; the command was not started; try again",
		name);
	return cli_fail(EXIT_SANDGATE, &e);
}
