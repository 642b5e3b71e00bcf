/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exposure: whether a sandbox may have had a hand in what a path leads to.
 *
 * The folders that a sandbox of this person's may write, or could once, are recorded (trust.h).
 * What lies there, and what a link there points to, is the agent's to say. Asked at the moment of
 * use: another sandbox may have been started since.
 */
#ifndef SG_SANDBOX_EXPOSURE_H
#define SG_SANDBOX_EXPOSURE_H

#include "sandbox/path.h"
#include "sandbox/settings/trust.h"

struct exposure {
	struct trust trust;
	char workdir[PATH_MAX]; /* counts as well; empty: none */
};

/* 0, or -1 with the message and nothing to free. */
int exposure_read(struct exposure *x, struct err *e) sg_must_check;
void exposure_free(struct exposure *x);

/* May a sandbox have written the file, its folder, or a link on the way? The path is absolute. */
bool exposure_has(const struct exposure *x, const char *path);

/*
 * PATH without the entries that lead there: what is found along it, by a program that is started
 * with it as well, is not the agent's. Relative entries lead to whatever folder this was started in.
 * Allocated; NULL without memory.
 */
char *exposure_clean_path(const struct exposure *x);

/*
 * This process's environment, for a program of the person's: PATH so, and without any variable that
 * names a path there, PYTHONPATH or NODE_OPTIONS for instance, by which the agent's code would be
 * loaded. 0, or -1 without memory.
 */
int exposure_clean_environment(const struct exposure *x) sg_must_check;

#endif
