/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_policy: the policy that the options of `sandgate run` or `create` amount to.
 *
 * In this order: the base (--net, --only, the file of --policy, the project's sandgate.yaml, the
 * settings, the organisation's default), the permissions of the settings, the project's file,
 * --allow and --deny. What widens is asked about first, or refused where nobody can be asked. Which
 * agent runs and which languages the project uses is found out here as well, and what of the
 * project was not known before is recorded (trust.h).
 */
#ifndef SG_CLI_RUN_POLICY_H
#define SG_CLI_RUN_POLICY_H

#include "policy/policy.h"
#include "sandbox/settings/sources.h"

/* The options, as written; NULL or false: not given. Lists are NULL-terminated. */
struct policy_words {
	const char *net, *policy_file, *agent;
	const char *command; /* argv[0] of what is run, or NULL: an agent may be told by it */
	const char *const *allow, *const *deny, *const *only;
	const char *const *publish, *const *host_port;
	const char *const *inspect, *const *splice;
	const char *const *rw; /* folders that the sandbox may write beside its working directory */
	bool yes, unattended, no_project;
	bool foreign;	/* by one who accepts nothing in the name of who runs sandgate */
	bool elsewhere; /* it does not work in the working directory, which says nothing then */
};

struct run_policy {
	struct policy policy; /* validated, and resolved */
	const char *agent;  /* the catalogue's name for it, or NULL; lives as long as the sources */
	char **languages;   /* permission ids, NULL-terminated */
	char *project_file; /* the sandgate.yaml that was used, or NULL */
};

/*
 * 0, or the exit status with the message and nothing to free. May ask on the terminal, and says on
 * standard error what the person should know.
 */
int run_policy_build(const struct policy_words *w, const struct sources *s, struct run_policy *out,
		     struct err *e) sg_must_check;
void run_policy_free(struct run_policy *p);

/* The same from the options and the file of --policy alone: without the project, nothing recorded.
 */
int run_policy_parse(const struct policy_words *w, const struct sources *s, struct run_policy *out,
		     struct err *e) sg_must_check;

#endif
