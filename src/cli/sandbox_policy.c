/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/join.h"
#include "cli/known.h"
#include "policy/rule.h"
#include "sandbox/control/client.h"
#include "sandbox/definition.h"
#include "sandbox/run.h"
#include "sandbox/control/stopped_policy.h"

/* The gate may take long over a policy of a million names. */
enum { CHANGE_MS = 60000 };
/* One that is started or ended by others just then is looked for again, so often. */
enum { LOOKS = 16 };

/* Since it was found: it has ended, was started, or taken away. */
static bool has_changed(const char *name, int found, int dir)
{
	return found == KNOWN_RUNS ? join_has_ended(dir) : !known_is_still(name, dir);
}

/* --- its policy --- */

static int take_policy(const char *name, const json_t *answer, struct sandbox_policy *out,
		       struct err *e)
{
	char *text = json_dumps(json_object_get(answer, "policy"), JSON_COMPACT);
	int rc;

	if (!text)
		return err_set(e, "%s: the sandbox did not give its policy", name);
	rc = policy_parse_wire(span_of_string(text), &out->policy, e);
	free(text);
	return rc ? err_prefix(e, "%s: its policy", name) : 0;
}

static int take_strings(const json_t *answer, struct sandbox_policy *out)
{
	const json_t *list = json_object_get(answer, "languages");
	const char *agent = json_string_value(json_object_get(answer, "agent"));
	size_t n = json_array_size(list);

	out->agent = agent ? strdup(agent) : NULL;
	out->languages = calloc(n + 1, sizeof(*out->languages));
	if ((agent && !out->agent) || !out->languages)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *id = json_string_value(json_array_get(list, i));

		out->languages[i] = strdup(id ? id : "");
		if (!out->languages[i])
			return -ENOMEM;
	}
	return 0;
}

static int read_running(const char *name, struct sandbox_policy *out, struct err *e)
{
	json_t *answer = client_ask(name, "policy", e);
	int rc;

	if (!answer)
		return -1;
	out->runs = true;
	out->generation = (uint64_t)json_integer_value(json_object_get(answer, "generation"));
	rc = take_policy(name, answer, out, e);
	if (rc == 0 && take_strings(answer, out))
		rc = err_set(e, "out of memory");
	json_decref(answer);
	return rc;
}

static int read_kept(const char *name, struct sandbox_policy *out, struct err *e)
{
	struct policy_sources s;
	struct definition d;
	int rc = definition_load(name, &d, e);

	if (rc == -ENOENT)
		return err_set(e, "%s: it has just been removed", name);
	if (rc)
		return -1;
	out->generation = d.generation;
	out->policy = d.policy;
	out->agent = d.agent;
	out->languages = d.languages;
	policy_init(&d.policy);
	d.agent = NULL;
	d.languages = NULL;
	definition_free(&d);
	s = sandbox_policy_sources(out);
	return policy_resolve(&out->policy, &s, e) ? err_prefix(e, "%s", name) : 0;
}

/* -ENOENT when it was not what it was found to be any more, and is to be looked for again. */
static int read_as_found(const char *name, struct sandbox_policy *out, struct err *e)
{
	int dir, found = known_open(name, &dir, e), rc = -1;

	*out = (struct sandbox_policy){.runs = false};
	policy_init(&out->policy);
	if (found == KNOWN_NOT)
		return known_say_not(name, e);
	if (found < 0)
		return -1;
	if (sources_read(&out->sources, e) == 0)
		rc = found == KNOWN_RUNS ? read_running(name, out, e) : read_kept(name, out, e);
	if (rc) {
		sandbox_policy_free(out);
		rc = has_changed(name, found, dir) ? -ENOENT : -1;
	}
	close(dir);
	return rc;
}

int sandbox_policy_read(const char *name, struct sandbox_policy *out, struct err *e)
{
	int rc = -ENOENT;

	for (int i = 0; i < LOOKS && rc == -ENOENT; i++)
		rc = read_as_found(name, out, e);
	return rc ? -1 : 0;
}

void sandbox_policy_free(struct sandbox_policy *p)
{
	policy_free(&p->policy);
	sources_free(&p->sources);
	string_list_free(p->languages);
	free(p->agent);
	*p = (struct sandbox_policy){.runs = false};
}

struct policy_sources sandbox_policy_sources(const struct sandbox_policy *p)
{
	return sources_for(&p->sources, p->agent, p->languages);
}

/* --- its change --- */

/* What went wrong with what is kept of a sandbox names it already. */
static bool names_it(const char *why, const char *name)
{
	size_t n = strlen(name);

	return strncmp(why, name, n) == 0 && why[n] == ':';
}

/* Words that are not right, and not something that went wrong, are told apart by the answer. */
static json_t *take_error(json_t *answer, const char *name, int *status, struct err *e)
{
	const char *why = json_string_value(json_object_get(answer, "error"));

	if (!why)
		return answer;
	err_set(e, "%s", why);
	if (!names_it(why, name))
		err_prefix(e, "%s", name);
	*status = json_is_true(json_object_get(answer, "failed")) ? EXIT_SANDGATE : EXIT_USAGE;
	json_decref(answer);
	return NULL;
}

static json_t *change_running(const char *name, const struct change_request *r, int *status,
			      struct err *e)
{
	json_t *request = change_request_print(&r->change, r->dry_run), *answer;

	*status = EXIT_SANDGATE;
	if (!request) {
		err_set(e, "out of memory");
		return NULL;
	}
	answer = client_exchange(name, request, CHANGE_MS, e);
	json_decref(request);
	return answer ? take_error(answer, name, status, e) : NULL;
}

static json_t *change_kept(const char *name, const struct change_request *r, int *status,
			   struct err *e)
{
	bool started;
	json_t *answer = stopped_policy_change(name, r, &started, e);

	*status = EXIT_SANDGATE;
	if (started)
		return change_running(name, r, status, e);
	return answer ? take_error(answer, name, status, e) : NULL;
}

json_t *sandbox_policy_change(const char *name, const struct change_request *r, int *status,
			      struct err *e)
{
	json_t *answer = NULL;
	bool again = true;

	for (int i = 0; i < LOOKS && again; i++) {
		int dir, found = known_open(name, &dir, e);

		*status = EXIT_SANDGATE;
		if (found == KNOWN_NOT)
			known_say_not(name, e);
		if (found < 0 || found == KNOWN_NOT)
			return NULL;
		answer = found == KNOWN_RUNS ? change_running(name, r, status, e)
					     : change_kept(name, r, status, e);
		/* Words that are not right are not righter for the one that comes after it. */
		again = !answer && *status != EXIT_USAGE && has_changed(name, found, dir);
		close(dir);
	}
	return answer;
}
