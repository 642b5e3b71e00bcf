/* SPDX-License-Identifier: Apache-2.0 */
/* run_words: the options of a sandbox, as `run` and `create` both have them. */
#ifndef SG_CLI_RUN_WORDS_H
#define SG_CLI_RUN_WORDS_H

#include "cli/args.h"
#include "cli/run_policy.h"
#include "sandbox/run.h"

/* The form of a name; NULL is right. 0 or -1 with the message, which begins with `option`. */
int run_words_check_name(const char *option, const char *name, struct err *e) sg_must_check;

/* What can be seen wrong in --engine, what goes with it, and --env alone. 0 or -1 with the message. */
int run_words_check(const struct args *a, struct err *e) sg_must_check;
int run_words_check_env(const char *const *env, struct err *e) sg_must_check;

/* What stands after "--", or an empty list. */
char *const *run_words_command(const struct args *a);

/* Is a command there, where the engine wants one? 0 or -1 with the message. */
int run_words_check_command(const struct args *a, struct err *e) sg_must_check;

/* For run_policy_build(); borrows from the arguments. */
struct policy_words run_words_policy(const struct args *a);

/* Folders, variables and switches; borrows likewise. */
void run_words_options(const struct args *a, struct run_options *o);

#endif
