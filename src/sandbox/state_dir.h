/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_dir: what outlives a run: one folder for each sandbox that has a name, and the host's own
 * log.
 *
 * BASE is root's /var/lib/sandgate, or a person's $XDG_STATE_HOME/sandgate or
 * ~/.local/state/sandgate, or /var/tmp/sandgate-UID where there is no home; mode 0700, the person's
 * own, refused when it is anybody else's or a link.
 *
 *	BASE/sandboxes/NAME/sandbox.json	the definition (definition.h)
 *	BASE/sandboxes/NAME/home/		HOME inside, kept between runs
 *	BASE/sandboxes/NAME/audit/ connections/ ring
 *	BASE/host/				the host's own audit log
 *	BASE/trust.json				project folders and what of them was confirmed (trust.h)
 *	BASE/cni.lock				root's, and empty: whose ADD it is (turn.h)
 *
 * The sandbox never sees any of it but its own home: it is masked like the registry.
 */
#ifndef SG_SANDBOX_STATE_DIR_H
#define SG_SANDBOX_STATE_DIR_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

/* Fills the path of BASE. 0 or -1 with the message (too long). */
int state_dir_path(char out[PATH_MAX], struct err *e) sg_must_check;

/* A descriptor of BASE, made when `make`; -ENOENT when it is not there, -1 with the message. */
int state_dir_open(bool make, struct err *e);

/* A descriptor of the folder of one sandbox; as above. */
int state_dir_open_sandbox(const char *name, bool make, struct err *e);

/* The names, sorted, NULL-terminated; free with name_list_free(). NULL with the message. */
char **state_dir_list(struct err *e);

/* Takes the folder of one sandbox away, all of it. */
int state_dir_remove(const char *name, struct err *e) sg_must_check;

#endif
