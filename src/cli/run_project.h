/* SPDX-License-Identifier: Apache-2.0 */
/* run_project: what of the working directory's project the person lets count: its file, its
 * languages. */
#ifndef SG_CLI_RUN_PROJECT_H
#define SG_CLI_RUN_PROJECT_H

#include "cli/run_policy.h"
#include "sandbox/settings/project.h"
#include "sandbox/settings/trust.h"

struct run_project {
	char *cwd;
	bool shared;	    /* the sandbox may write the working directory */
	struct trust trust; /* root NULL: nothing can be kept here, and so nothing is known */
	char **languages;   /* that the folder shows, and that count */
	char **fresh;	    /* that it shows, and that nobody accepted */
	char **accepted;    /* what is recorded from now on: those that count, and earlier ones */
	bool has_file;
	bool file_new; /* confirmed just now */
	struct project_file file;
};

/* Looks, and reads what was confirmed earlier. 0, or the exit status with the message. */
int run_project_begin(struct run_project *p, const struct policy_words *w,
		      const struct catalogue *c, struct err *e) sg_must_check;

/*
 * Reads the project's file into `out`, which is initialised here; without a file it stays so. Its
 * permissions must be those of `c`, unless that is NULL. 0 or the exit status.
 */
int run_project_read(const struct run_project *p, const struct catalogue *c, struct policy *out,
		     struct err *e) sg_must_check;

/* Shows what the file grants and has it confirmed, when its octets are not known. 0 or the exit
 * status. */
int run_project_confirm(struct run_project *p, const struct policy_words *w,
			struct err *e) sg_must_check;

/* Says which languages do not count, when `wanted`, and records what is new. 0, or the exit status.
 */
int run_project_end(struct run_project *p, const struct policy_words *w,
		    const struct policy *policy, const struct catalogue *c,
		    struct err *e) sg_must_check;

void run_project_free(struct run_project *p);

#endif
