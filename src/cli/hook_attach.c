/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hook_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "cli/container_trust.h"
#include "cli/hook_policy.h"
#include "cli/hook_trust.h"
#include "sandbox/attach.h"
#include "sandbox/control/client.h"
#include "sandbox/engine/image_annotations.h"
#include "sandbox/engine/netns.h"
#include "sandbox/engine/netns_claim.h"
#include "sandbox/engine/netns_number.h"
#include "sandbox/files/resolver_place.h"

/* The sandbox of the container's last run may still be ending. */
enum { NAME_MS = 15000, NAME_STEP_MS = 50, ID_SHOWN = 12 };
/* A gate that is being made is asked when it is ready. */
enum { GATE_MS = 30000 };

/* --- the container --- */

struct container {
	const struct oci_state *state;
	struct trusted_text config; /* config.json */
	struct oci_network network;
	int netns;
	int process; /* pidfd of its first one: a number may be another's when that has ended */
	int alive;   /* and of the one that the network ends with, which may be the same */
};

static bool is_same_file(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/* The process that holds the network that the container joins. */
static int open_other(struct container *c, struct err *e)
{
	int netns = netns_open_pid(c->network.of, &c->alive, e);
	bool same;

	if (netns < 0)
		return -1;
	same = is_same_file(netns, c->netns);
	close(netns);
	return same ? 0
		    : err_set(e, "the container whose network it joins has ended; start it again");
}

static int open_network(struct container *c, struct err *e)
{
	if (c->network.kind == OCI_NETWORK_HOST)
		return err_set(e,
			       "--network host: the container has the network of the host, which "
			       "no gate can hold; take --network none");
	c->netns = netns_open_pid(c->state->pid, &c->process, e);
	if (c->netns < 0 || netns_check(c->netns, e))
		return -1;
	if (c->network.kind != OCI_NETWORK_OWN)
		return open_other(c, e);
	c->alive = fcntl(c->process, F_DUPFD_CLOEXEC, 0);
	return c->alive >= 0 ? 0 : err_set(e, "its first process: %s", err_why(errno));
}

static int look(struct container *c, struct err *e)
{
	const struct oci_state *s = c->state;

	if (s->of_podman && image_annotations_check(s->bundle, s->id, e))
		return -1;
	if (hook_config_read(s, &c->config, e) ||
	    oci_network_parse(trusted_span(&c->config), &c->network, e))
		return -1;
	return open_network(c, e);
}

static void forget(struct container *c)
{
	free(c->config.p);
	if (c->netns >= 0)
		close(c->netns);
	if (c->process >= 0)
		close(c->process);
	if (c->alive >= 0)
		close(c->alive);
}

/* --- a network that is behind a gate already --- */

static int check_same_policy(const char *name, const struct policy *p, struct err *e)
{
	json_t *request = json_pack("{s:s}", "op", "policy");
	json_t *answer = request ? client_request(name, request, GATE_MS, e) : NULL;
	char *text = policy_print_wire(p);
	json_t *wanted = text ? json_loads(text, 0, NULL) : NULL;
	bool same = answer && wanted && json_equal(json_object_get(answer, "policy"), wanted);

	free(text);
	json_decref(request);
	json_decref(answer);
	json_decref(wanted);
	if (!answer)
		return -1;
	return same ? 0
		    : err_set(e,
			      "the network that it joins is behind the gate of %s already, with "
			      "another policy; give both the same annotations",
			      name);
}

/* Root that comes into a namespace which once had a link to the host (netns_number.h). */
static int check_comer(const struct container *c, struct err *e)
{
	struct netns_watch w;
	int rc = netns_watch_open(c->netns, &w, e);

	if (rc == 0) {
		rc = netns_number_check(&w.ask, c->netns, c->process, e);
		netns_watch_close(&w);
	}
	return rc < 0 ? -1 : 0;
}

/* 0 when a gate is to be put before it, 1 and its name when that is there, -1 with the message. */
static int look_for_gate(const struct container *c, const struct policy *p,
			 char name[SANDBOX_NAME_SIZE], struct err *e)
{
	int found = netns_claim_find(c->netns, name, e);

	if (found < 0)
		return -1;
	if (found && c->network.admin && check_comer(c, e))
		return -1;
	if (found)
		return check_same_policy(name, p, e) ? -1 : 1;
	if (c->network.kind == OCI_NETWORK_OF && !c->state->pod)
		return err_set(e,
			       "the container whose network it joins is not behind a gate; start "
			       "that one with the annotations");
	return 0;
}

/* --- putting it behind one --- */

static void choose_name(const struct container *c, char out[SANDBOX_NAME_SIZE])
{
	const struct oci_state *s = c->state;
	bool pod = c->network.kind == OCI_NETWORK_OF;
	char made[SANDBOX_NAME_SIZE];

	snprintf(made, sizeof(made), "%s-%.*s", pod ? "pod" : "podman", ID_SHOWN,
		 pod ? s->pod : s->id);
	if (s->say[OCI_NAME])
		snprintf(out, SANDBOX_NAME_SIZE, "%s", s->say[OCI_NAME]);
	else
		sandbox_name_from_path(made, out);
}

static bool is_taken(const char *name)
{
	struct err ignored;

	return registry_find(name, &ignored) == 1;
}

static bool has_gate(const struct container *c)
{
	char name[SANDBOX_NAME_SIZE];
	struct err ignored;

	return netns_claim_find(c->netns, name, &ignored) == 1;
}

/* Another container of the pod may put the network behind a gate meanwhile, by that name or another. */
static void await_name(const struct container *c, const char *name, mono_t end)
{
	const struct timespec step = {.tv_nsec = NAME_STEP_MS * 1000000L};

	while (is_taken(name) && !has_gate(c) && mono_before(mono_now(), end))
		nanosleep(&step, NULL);
}

/* Until `end` for the name. */
static int attach(const struct container *c, const struct sources *sources,
		  const struct run_policy *p, mono_t end, char name[SANDBOX_NAME_SIZE],
		  struct err *e)
{
	char wanted[SANDBOX_NAME_SIZE];
	struct attach_request r = {
		.name = wanted,
		.engine = "podman",
		.netns = c->netns,
		.alive = c->alive,
		.policy = &p->policy,
		.sources = sources,
		.others = AIRLOCK_OTHERS_REMOVED,
		.engine_takes = true,
		.without_admin = !c->network.admin,
	};

	choose_name(c, wanted);
	if (!sandbox_name_valid(wanted))
		return err_set(e,
			       "the annotation sandgate.name: \"%s\" is no name; small letters, "
			       "digits and hyphens",
			       wanted);
	await_name(c, wanted, end);
	return attach_start(&r, name, e);
}

/* --- its files --- */

static int place_files(const struct container *c, const struct run_policy *p,
		       const struct sources *sources, const char *name, struct err *e)
{
	if (resolver_place(trusted_span(&c->config), e))
		return -1;
	if (!container_trust_is_wanted(p, sources))
		return 0;
	return hook_trust_place(trusted_span(&c->config), name, c->process, e);
}

/* Another had the network first, or the name, under which it will be seen to have it. */
static bool is_late(const struct container *c)
{
	char wanted[SANDBOX_NAME_SIZE];

	choose_name(c, wanted);
	return has_gate(c) || is_taken(wanted);
}

/*
 * Of the containers of a pod that start at the same moment one makes the gate, and the others find it
 * there after all; or find that the one that they had found has ended. -1 with the message.
 */
static int find_or_make_gate(const struct container *c, const struct sources *sources,
			     const struct run_policy *p, char name[SANDBOX_NAME_SIZE],
			     struct err *e)
{
	mono_t end = mono_add_ms(mono_now(), NAME_MS);
	bool again;
	int rc;

	do {
		int found = look_for_gate(c, &p->policy, name, e);

		rc = found == 0 ? attach(c, sources, p, end, name, e) : found;
		again = rc < 0 && (found == 0 ? is_late(c) : *name && !has_gate(c));
	} while (again && mono_before(mono_now(), end));
	return rc;
}

static int attach_with(const struct container *c, const struct sources *sources, struct err *e)
{
	char name[SANDBOX_NAME_SIZE];
	struct run_policy p;
	int rc = hook_policy_build(c->state, sources, &p, e);

	if (rc)
		return -1;
	rc = find_or_make_gate(c, sources, &p, name, e);
	if (rc >= 0)
		rc = place_files(c, &p, sources, name, e);
	run_policy_free(&p);
	return rc < 0 ? -1 : 0;
}

int hook_attach(const struct oci_state *s, struct err *e)
{
	struct container c = {.state = s, .netns = -1, .process = -1, .alive = -1};
	struct sources sources;
	int rc = look(&c, e);

	if (rc == 0 && (rc = sources_read(&sources, e)) == 0) {
		rc = attach_with(&c, &sources, e);
		sources_free(&sources);
	}
	forget(&c);
	return rc;
}
