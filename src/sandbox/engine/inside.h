/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside: what the command of a process sandbox finds: files, environment, and whether the command
 * itself is among them.
 */
#ifndef SG_SANDBOX_INSIDE_H
#define SG_SANDBOX_INSIDE_H

#include "sandbox/files/file_system.h"
#include "sandbox/files/mount_check.h"
#include "sandbox/files/planted.h"

struct supervisor;

struct inside {
	struct file_plan plan;
	struct mount_check *check;
	struct planted planted;
	char **env;
};

/* What is run, and with what; lists are NULL-terminated or NULL. */
struct inside_request {
	const char *command; /* argv[0]; NULL: none */
	const char *const *rw, *const *ro;
	const char *const *env;
	const char *const *devices; /* as file_system.h has them */
	bool alone; /* it works on no project: no working directory, and no HOME that is kept */
};

/*
 * Plans all of it, the rest from the options of s. 0, or the exit status with the message;
 * inside_free() in both cases, of one that was empty before.
 */
int inside_plan(struct inside *in, struct supervisor *s, const struct inside_request *r,
		const char *cwd, struct err *e) sg_must_check;

/*
 * The same for a sandbox whose system is an image's: HOME, the working directory with what is
 * protected in it, and what the options name; of the variables those that an image does not have
 * its own words for. The command is looked for by `start`.
 */
int inside_plan_image(struct inside *in, struct supervisor *s, const char *cwd,
		      struct err *e) sg_must_check;

/* What a networked sandbox sees as /etc/resolv.conf, and what all see as /etc/hosts. */
#define INSIDE_RESOLV_CONF "nameserver " AIRLOCK_GATE_V4 "\n"
enum { INSIDE_HOSTS_MAX = 512 };
const char *inside_hosts(const struct supervisor *s, char out[INSIDE_HOSTS_MAX]);

/* What the person should know of it, at the start, and at the end. */
void inside_say_start(const struct inside *in);
void inside_say_end(struct inside *in);

void inside_free(struct inside *in);

#define INSIDE_NONE ((struct inside){.planted = {.folder = -1}})

#endif
