/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_policy.h"

#include <string.h>

#include "base/nearest.h"
#include "cli/policy_file.h"
#include "cli/policy_trust.h"
#include "cli/question.h"
#include "cli/run_project.h"
#include "policy/host_entry.h"
#include "policy/rule.h"
#include "sandbox/run.h"

/* Reads a decimal port at s and moves it past. 0 when there is none from 1 to 65535. */
static uint16_t take_port(const char **s)
{
	uint32_t port = 0;

	if (**s == '0')
		return 0;
	for (; **s >= '0' && **s <= '9' && port <= 65535; ++*s)
		port = port * 10 + (uint32_t)(**s - '0');
	return port <= 65535 ? (uint16_t)port : 0;
}

static void *grown(void *array, size_t n, size_t size)
{
	void *p = reallocarray(array, n + 1, size);

	if (!p)
		die(EXIT_SANDGATE, "out of memory");
	return p;
}

static int add_publish(struct policy *p, const char **s, struct err *e)
{
	const char *written = *s;
	struct publish one = {.host = take_port(s)};

	if (one.host && **s == ':') {
		++*s;
		one.sandbox = take_port(s);
	}
	if (!one.sandbox || (**s && **s != ','))
		return err_set(e,
			       "--publish: \"%s\" is not HOST:PORT, two ports from 1 to 65535; "
			       "write --publish 8080:3000",
			       written);
	for (size_t i = 0; i < p->n_publish; i++)
		if (p->publish[i].host == one.host)
			return err_set(e,
				       "--publish: port %u of the host is published twice; leave "
				       "one out",
				       one.host);
	p->publish = grown(p->publish, p->n_publish, sizeof(one));
	p->publish[p->n_publish++] = one;
	return 0;
}

static int add_host_port(struct policy *p, const char **s, struct err *e)
{
	const char *written = *s;
	uint16_t port = take_port(s);

	if (!port || (**s && **s != ','))
		return err_set(e,
			       "--host-port: \"%s\" is not a port from 1 to 65535; write "
			       "--host-port 5432",
			       written);
	for (size_t i = 0; i < p->n_host_ports; i++)
		if (p->host_ports[i] == port)
			return 0;
	p->host_ports = grown(p->host_ports, p->n_host_ports, sizeof(port));
	p->host_ports[p->n_host_ports++] = port;
	return 0;
}

typedef int add_fn(struct policy *p, const char **s, struct err *e);

/* Each value is a list with commas; `add` leaves off at a comma or at the end. */
static int add_ports(struct policy *p, const char *const *lists, add_fn *add, struct err *e)
{
	for (; lists && *lists; lists++)
		for (const char *s = *lists;; s++) {
			if (add(p, &s, e))
				return -1;
			if (!*s)
				break;
		}
	return 0;
}

static bool is_all(struct span host)
{
	return span_equal(host, span_of_string("all"));
}

static int add_inspected(struct policy *p, struct span host, struct err *e)
{
	if (is_all(host)) {
		host_list_free(&p->inspect);
		p->inspect_all = true;
	}
	return p->inspect_all ? 0 : host_entry_add(&p->inspect, host, e);
}

static int add_spliced(struct policy *p, struct span host, struct err *e)
{
	if (is_all(host))
		return err_set(e, "`all` goes with --inspect; write the hosts that stay closed");
	return host_entry_add(&p->splice, host, e);
}

/* A name without a dot may be a host's, but not when --allow would take it for a permission. */
static int refuse_permission(const struct catalogue *c, struct span host, struct err *e)
{
	for (size_t i = 0; i < c->n_permissions; i++)
		if (span_equal(host, span_of_string(c->permissions[i].id)))
			return err_set(e,
				       "`%s` is a permission; write its hosts, which `sandgate net "
				       "permissions` lists",
				       c->permissions[i].id);
	return 0;
}

typedef int add_host_fn(struct policy *p, struct span host, struct err *e);

static int add_hosts(struct policy *p, const struct catalogue *c, const char *option,
		     const char *const *lists, add_host_fn *add, struct err *e)
{
	for (; lists && *lists; lists++)
		for (const char *s = *lists;; s++) {
			size_t n = strcspn(s, ",");
			struct span host = span_of(s, n);

			if (refuse_permission(c, host, e) || add(p, host, e)) {
				err_prefix(e, "%s", option);
				return -1;
			}
			s += n;
			if (!*s)
				break;
		}
	return 0;
}

static int add_items(struct policy *p, const struct catalogue *c, enum effect effect,
		     const char *option, const char *const *lists, struct err *e)
{
	for (; lists && *lists; lists++)
		if (policy_add_list(p, c, effect, *lists, e)) {
			err_prefix(e, "%s", option);
			return -1;
		}
	return 0;
}

/* --- what contradicts --- */

/* --only says "and nothing else": what would admit more beside it is a contradiction. */
static int check_only(const struct policy_words *w, struct err *e)
{
	if (!w->only)
		return 0;
	if (w->allow)
		return err_set(e,
			       "--only and --allow: only means nothing else; put all of it in one "
			       "of them");
	if (w->policy_file)
		return err_set(e,
			       "--only and --policy: only means nothing else; add to the file with "
			       "--allow");
	if (w->net && strcmp(w->net, "deny") != 0)
		return err_set(e, "--only and --net %s: only stands for --net deny; leave one out",
			       w->net);
	return 0;
}

static int check_words(const struct policy_words *w, struct err *e)
{
	if (w->unattended && w->yes)
		return err_set(e, "--unattended and --yes: what nobody was asked about, nobody "
				  "can accept; leave one out");
	return check_only(w, e);
}

/* --- who runs --- */

static int find_agent(const struct policy_words *w, const struct catalogue *c, const char **out,
		      struct err *e)
{
	const char *slash = w->command ? strrchr(w->command, '/') : NULL;
	const struct agent *found;
	struct nearest near;

	if (w->agent)
		found = catalogue_agent(c, w->agent);
	else
		found = w->command ? catalogue_agent_of_command(c, slash ? slash + 1 : w->command)
				   : NULL;
	*out = found ? found->name : NULL;
	if (found || !w->agent)
		return 0;
	near = nearest_to(w->agent);
	for (size_t i = 0; i < c->n_agents; i++)
		nearest_offer(&near, c->agents[i].name);
	if (near.word)
		return err_set(e, "--agent: \"%s\" is unknown; did you mean %s?", w->agent,
			       near.word);
	return err_set(e,
		       "--agent: \"%s\" is unknown; leave it out and name the agent's hosts with "
		       "--allow",
		       w->agent);
}

/* --- the base, and what comes with it --- */

static enum network_base default_base(const struct policy_words *w, const struct sources *s)
{
	if (w->unattended)
		return s->settings.agent_network;
	if (s->organisation.present && s->organisation.has_default_network &&
	    !settings_has(&s->settings, "defaults.network"))
		return s->organisation.default_network;
	return s->settings.network;
}

/* Said already, in whatever sense? */
static bool says_permission(const struct policy *p, const char *word)
{
	const char *id = *word == '-' ? word + 1 : word;

	for (char *const *v = p->permissions; v && *v; v++)
		if (strcmp(**v == '-' ? *v + 1 : *v, id) == 0)
			return true;
	return false;
}

/* The settings' permissions go with the settings' base, and give way to what a file says. */
static int add_defaults(struct policy *p, const struct sources *s, struct err *e)
{
	for (char *const *id = s->settings.permissions; id && *id; id++)
		if (!says_permission(p, *id) &&
		    policy_add_item(p, s->catalogue, EFFECT_ALLOW, *id, e)) {
			err_prefix(e, "the setting defaults.permissions");
			return -1;
		}
	return 0;
}

static int set_base(const struct policy_words *w, const struct sources *s, struct policy *p,
		    bool base_known, struct err *e)
{
	const char *net = w->only ? "deny" : w->net;

	if (net && policy_set_network(p, net, e)) {
		err_prefix(e, "--net");
		return -1;
	}
	if (net || w->policy_file)
		return 0;
	if (!base_known)
		p->network = default_base(w, s);
	return w->unattended ? 0 : add_defaults(p, s, e);
}

static int add_words(const struct policy_words *w, const struct catalogue *c, struct policy *p,
		     struct err *e)
{
	if (add_items(p, c, EFFECT_ALLOW, "--allow", w->allow, e) ||
	    add_items(p, c, EFFECT_ALLOW, "--only", w->only, e) ||
	    add_items(p, c, EFFECT_DENY, "--deny", w->deny, e) ||
	    add_ports(p, w->publish, add_publish, e) ||
	    add_ports(p, w->host_port, add_host_port, e) ||
	    add_hosts(p, c, "--inspect", w->inspect, add_inspected, e) ||
	    add_hosts(p, c, "--splice", w->splice, add_spliced, e))
		return -1;
	return policy_validate(p, e);
}

/* --- what a person is asked about --- */

static void put_warning(char text[ERR_MAX], const char *what, const char *warning)
{
	size_t n = strlen(text);

	snprintf(text + n, ERR_MAX - n, "%s%s: %s", n ? "; " : "", what, warning);
}

/* What the options switch on that is never switched on without a question. */
static int ask(const struct policy_words *w, const struct catalogue *c, const struct policy *before,
	       const struct policy *p, struct err *e)
{
	const struct preset *preset = catalogue_preset(c, network_base_name(p->network));
	char text[ERR_MAX] = "";

	if (preset && preset->asks && (w->net || p->network != before->network))
		put_warning(text, preset->name, preset->warning);
	for (char *const *id = p->permissions; id && *id; id++) {
		const struct permission *one = catalogue_permission(c, *id);

		if (!one || !(one->asks || one->personal) || says_permission(before, *id))
			continue;
		put_warning(text, one->id,
			    one->warning ? one->warning : "it uses a credential of yours");
	}
	if (!*text)
		return 0;
	if (w->unattended)
		return err_set(e, "%s; --unattended asks nobody, so it is refused", text);
	if (w->foreign)
		return err_set(e, "%s; that is for who runs this machine to accept", text);
	return question_ask(text, w->yes, e);
}

/* --- all of it --- */

/* What was written in a file, the person's or the project's. 0 or the exit status. */
static int read_file(const struct policy_words *w, const struct run_project *project,
		     const struct catalogue *c, struct policy_trust *named, struct policy *p,
		     struct err *e)
{
	struct digest octets;

	if (!w->policy_file)
		return run_project_read(project, c, p, e);
	if (policy_file_read(w->policy_file, c, p, &octets, e))
		return EXIT_USAGE;
	return policy_trust_look(named, project->cwd, w->policy_file, &octets, p, &project->trust,
				 e);
}

/* The base and the permissions, before the options switched something on: what nobody is asked
 * about. */
static int note_before(const struct policy *p, struct policy *before, struct err *e)
{
	*before = (struct policy){.network = p->network};
	if (p->permissions && !(before->permissions = string_list_copy(p->permissions)))
		return err_set(e, "out of memory");
	return 0;
}

static int resolve(const struct sources *s, struct run_policy *out, struct err *e)
{
	struct policy_sources sources = sources_for(s, out->agent, out->languages);

	return policy_resolve(&out->policy, &sources, e);
}

/* Nothing is asked before all that was written is known to be right. */
static int build(const struct policy_words *w, const struct sources *s, struct run_project *project,
		 struct policy_trust *named, struct run_policy *out, struct err *e)
{
	bool base_known = project->has_file && project->file.names_network;
	struct policy before = {0};
	int rc = read_file(w, project, s->catalogue, named, &out->policy, e);

	if (rc)
		return rc;
	out->languages = project->languages;
	project->languages = NULL;
	if (find_agent(w, s->catalogue, &out->agent, e) ||
	    set_base(w, s, &out->policy, base_known, e) || note_before(&out->policy, &before, e))
		return EXIT_USAGE;
	if (add_words(w, s->catalogue, &out->policy, e) || resolve(s, out, e))
		rc = EXIT_USAGE;
	if (rc == 0)
		rc = run_project_confirm(project, w, e);
	if (rc == 0)
		rc = policy_trust_confirm(named, w, e);
	if (rc == 0 && ask(w, s->catalogue, &before, &out->policy, e))
		rc = EXIT_USAGE;
	string_list_free(before.permissions);
	if (rc)
		return rc;
	if (project->has_file && !(out->project_file = strdup(project->file.path)))
		return err_set(e, "out of memory"), EXIT_SANDGATE;
	rc = run_project_end(project, w, &out->policy, s->catalogue, e);
	if (rc == 0 && policy_trust_record(named, e))
		rc = EXIT_SANDGATE;
	return rc;
}

static int build_all(const struct policy_words *w, const struct sources *s, bool look,
		     struct run_policy *out, struct err *e)
{
	struct run_project project = {0};
	struct policy_trust named = {.path = ""};
	int rc = check_words(w, e) ? EXIT_USAGE : 0;

	*out = (struct run_policy){0};
	policy_init(&out->policy);
	if (rc == 0 && look)
		rc = run_project_begin(&project, w, s->catalogue, e);
	if (rc == 0)
		rc = build(w, s, &project, &named, out, e);
	policy_trust_free(&named);
	run_project_free(&project);
	if (rc)
		run_policy_free(out);
	return rc;
}

int run_policy_build(const struct policy_words *w, const struct sources *s, struct run_policy *out,
		     struct err *e)
{
	return build_all(w, s, true, out, e);
}

int run_policy_parse(const struct policy_words *w, const struct sources *s, struct run_policy *out,
		     struct err *e)
{
	return build_all(w, s, false, out, e);
}

void run_policy_free(struct run_policy *p)
{
	policy_free(&p->policy);
	string_list_free(p->languages);
	free(p->project_file);
	*p = (struct run_policy){0};
}
