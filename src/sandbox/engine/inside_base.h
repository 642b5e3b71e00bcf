/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside_base: what of the plan inside (inside.h) is the same whether the sandbox's system is the
 * host's or an image's.
 *
 * Theory of operation. Files are planned in an order of which no step can be left out:
 *
 *	1. a HOME that outlives the run is opened, so that its path is known
 *	2. the list of mounts is made (file_system.h), with what earlier sandboxes may have written
 *	   and without sandgate's own folders
 *	3. of an image's sandbox the mounts of the host's system are taken out again
 *	4. the places of mounts in that HOME are made, with no link followed (kept_home.h)
 *	5. what is mounted from a folder that a sandbox writes is opened, to be compared with what
 *	   lies there in the finished sandbox (mount_check.h)
 *
 * So no place is made in a kept HOME for a plan that was refused, and what is compared is what the
 * plan has in the end.
 */
#ifndef SG_SANDBOX_INSIDE_BASE_H
#define SG_SANDBOX_INSIDE_BASE_H

#include "sandbox/engine/environment.h"
#include "sandbox/engine/inside.h"

enum inside_system { INSIDE_SYSTEM_HOST, INSIDE_SYSTEM_IMAGE };

/*
 * Fills in->plan and in->check. `r` has the working directory and what is this kind of sandbox's own:
 * what is named, devices, masks, the resolver's files; the rest of it is filled in here, and lives as
 * long as the call. With `no_workdir` no HOME is kept either.
 */
int inside_base_plan(struct inside *in, const struct supervisor *s, struct file_request *r,
		     enum inside_system system, struct err *e) sg_must_check;

/* The request for the variables, but for the person's own and what is added. */
struct environment_request inside_base_environment(const struct inside *in,
						   const struct supervisor *s);

/* argv[0], or NULL when there is none: 0, or EXIT_NOT_FOUND with the message where it is empty. */
int inside_base_check_command(const char *command, struct err *e) sg_must_check;

#endif
