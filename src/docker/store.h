/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: a folder of JSON files, each replaced whole: what the driver knows, for the driver that
 * comes after it.
 *
 * Each file carries a format version; a newer one is refused with the version that is needed.
 */
#ifndef SG_DOCKER_STORE_H
#define SG_DOCKER_STORE_H

#include <jansson.h>

#include "docker/message.h"

enum { DOCKER_STORE_VERSION = 1 };

/* A descriptor of BASE/docker/NAME, made when it is not there; -1 with the message. */
int docker_store_open(const char *name, struct err *e);

/*
 * Writes `id`.json: a temporary file, fsync, rename, fsync of the folder. Takes `value`, which may
 * be NULL for one that could not be made, and adds the version. 0 or -1 with the message.
 */
int docker_store_put(int folder, const char *id, json_t *value, struct err *e) sg_must_check;

/* 0, also when there is none; -1 with the message. */
int docker_store_remove(int folder, const char *id, struct err *e) sg_must_check;

/*
 * Calls fn with each, until it returns -1 with the message. What a write left half-made is taken
 * away. 0 or -1 with the message, which names the file.
 */
typedef int docker_store_fn(void *ctx, const char *id, const json_t *value, struct err *e);
int docker_store_each(int folder, docker_store_fn *fn, void *ctx, struct err *e) sg_must_check;

/* An address as a file has it, "" for none. */
json_t *docker_store_address(const struct docker_address *a);
bool docker_store_read_address(const json_t *value, const char *key, struct docker_address *out);

#endif
