/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: one sandbox from start to end, as `sandgate run` asks for it.
 */
#ifndef SG_SANDBOX_RUN_H
#define SG_SANDBOX_RUN_H

#include <stdbool.h>

#include "policy/policy.h"
#include "sandbox/log/capture_request.h"
#include "sandbox/settings/sources.h"

/* Exit statuses that are sandgate's own. */
enum { EXIT_USAGE = 2, EXIT_SANDGATE = 125, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

struct attach_request;
struct machine_options;
struct engine_class;

struct run_options {
	const char *name;      /* NULL: made from `name_from` */
	const char *name_from; /* NULL: the working directory */
	struct policy *policy; /* validated, and resolved with the three below */
	const struct sources *sources;
	const char *agent;	 /* the catalogue's name for it, or NULL */
	char *const *languages;	 /* permission ids, NULL-terminated, or NULL */
	uint64_t generation;	 /* of the policy; 0: the first */
	bool lasting;		 /* it has a definition, which changes are kept in */
	const char *policy_file; /* what it was read from, or NULL */
	const char *const *rw;	 /* NULL-terminated lists; NULL: none */
	const char *const *ro;
	const char *const *hide;
	const char *const *env;		       /* "K=V" */
	const struct engine_class *engine;     /* engine.h; NULL: the default */
	const char *image;		       /* of a container or machine, or NULL */
	const char *const *engine_words;       /* further words for the engine's command, or NULL */
	const struct attach_request *attach;   /* attach.h: a namespace that is there already */
	const struct machine_options *machine; /* machine.h: of a virtual machine, or NULL */
	bool as_root;
	struct capture_request pcap; /* of this run alone */
	bool quiet;
	const char *workdir;  /* absolute; NULL: the folder that sandgate was started in */
	int lock;	      /* of the definition, let go when the name is taken; 0: none */
	bool yields;	      /* when another has taken the name: RUN_NAME_TAKEN, without a word */
	int ready;	      /* in the background: for background_ready(); 0: in the foreground */
	char *const *argv;    /* NULL-terminated; empty: no command, it runs until it is stopped */
	char *const *written; /* the options as the person wrote them, for the closing summary */
	size_t n_written;
};

/* No exit status: nothing was made, and signals and secrets are as they were. */
enum { RUN_NAME_TAKEN = -1 };

/* Runs the sandbox to its end and returns the exit status of `sandgate run`, or RUN_NAME_TAKEN. */
int sandbox_run(const struct run_options *o);

#endif
