/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_file: what makes a container engine call sandgate before a container runs: a file of
 * configuration for podman and CRI-O (oci-hooks(5), version 1.0.0). It names the annotations that it
 * is for, so that no other container pays for it.
 */
#ifndef SG_SANDBOX_HOOK_FILE_H
#define SG_SANDBOX_HOOK_FILE_H

#include "base/err.h"

/* The same name everywhere: of two folders that have it, engines take the later one. */
#define HOOK_FILE_NAME "sandgate.json"

/* Its text, allocated, for the program that runs; NULL with the message. */
char *hook_file_text(struct err *e);

/* Writes it into a folder. 0, or -1 with the message. */
int hook_file_write(int folder, struct err *e) sg_must_check;

#endif
