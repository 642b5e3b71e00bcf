/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run_policy.h"
#include "docker/driver.h"
#include "sandbox/run.h"

/* A word that --net takes, or one that is near it: a path begins with a slash. */
static bool is_base(const char *word)
{
	return *word != '/' && !strchr(word, '/') && !strchr(word, '.');
}

/* Whoever makes a network is root, and meant what it says: nobody is asked. */
static int make_with(const struct sources *s, const struct docker_network_options *o, char **json,
		     struct err *e)
{
	const char *allow[] = {o->allow, NULL}, *deny[] = {o->deny, NULL},
		   *only[] = {o->only, NULL};
	bool base = o->policy && is_base(o->policy);
	struct policy_words words = {
		.net = base ? o->policy : NULL,
		.policy_file = o->policy && !base ? o->policy : NULL,
		.allow = o->allow ? allow : NULL,
		.deny = o->deny ? deny : NULL,
		.only = o->only ? only : NULL,
		.yes = true,
		.no_project = true,
	};
	struct run_policy built;

	if (words.policy_file && *words.policy_file != '/')
		return err_set(e, "-o policy=%s: a policy file is named by its absolute path",
			       o->policy);
	if (run_policy_parse(&words, s, &built, e))
		return -1;
	*json = policy_print_json(&built.policy);
	if (built.policy.network == NET_NONE)
		err_set(e, "-o policy=none: the network `none` has no link to be behind; take "
			   "policy=deny, or docker run --network none");
	else if (!*json)
		err_set(e, "out of memory");
	else
		e->text[0] = '\0';
	run_policy_free(&built);
	if (!*e->text)
		return 0;
	free(*json);
	*json = NULL;
	return -1;
}

static int make_policy(const struct docker_network_options *o, char **json, struct err *e)
{
	struct sources s;
	int rc;

	*json = NULL;
	if (sources_read(&s, e))
		return -1;
	rc = make_with(&s, o, json, e);
	sources_free(&s);
	return rc;
}

int cmd_docker_driver(const struct args *a)
{
	const char *socket = args_value(a, DOCKER_DRIVER_SOCKET);
	const char *docker_socket = args_value(a, DOCKER_DRIVER_DOCKER_SOCKET);
	struct docker_driver_config c = {
		.socket = socket ? socket : DOCKER_PLUGIN_SOCKET,
		.docker_socket = docker_socket ? docker_socket : DOCKER_API_SOCKET,
		.make_policy = make_policy,
	};
	struct err e;

	if (geteuid() != 0) {
		err_set(&e,
			"docker-driver: only root can serve dockerd; sudo sandgate docker-driver");
		return cli_fail(EXIT_SANDGATE, &e);
	}
	return docker_driver_run(&c, &e) ? cli_fail(EXIT_SANDGATE, &e) : 0;
}
