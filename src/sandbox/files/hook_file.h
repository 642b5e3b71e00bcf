/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_file: what makes a container engine call sandgate before a container runs: a file of
 * configuration for podman and CRI-O (oci-hooks(5), version 1.0.0). It names the annotations that it
 * is for, so that no other container pays for it.
 */
#ifndef SG_SANDBOX_HOOK_FILE_H
#define SG_SANDBOX_HOOK_FILE_H

#include "base/err.h"

/* The same names everywhere: of two folders that have one, engines take the later one. */
#define HOOK_FILE_NAME "sandgate.json"

enum hook_stage {
	HOOK_CREATE_RUNTIME, /* HOOK_FILE_NAME: puts the container behind its gate */
	HOOK_PRECREATE,	     /* sandgate-precreate.json: adds to its configuration */
	HOOK_STAGES,
};

/* The text of one, allocated, for the program that runs; NULL with the message. */
char *hook_file_text(enum hook_stage stage, struct err *e);

/* Writes one into a folder. 0, or -1 with the message. */
int hook_file_write(int folder, enum hook_stage stage, struct err *e) sg_must_check;

#endif
