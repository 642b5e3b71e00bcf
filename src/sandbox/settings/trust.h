/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust: what a person has confirmed of the folders that they work in.
 *
 * Theory. A sandbox may write its working directory, so what lies there is a request and never a
 * grant. A grant is what the person confirmed: the exact octets of a sandgate.yaml, by their
 * SHA-256, and the languages that a folder showed before any sandbox ran in it. Both are kept by
 * the folder's path in BASE/trust.json (state_dir.h), which no sandbox sees. Folders are compared
 * as paths without links. What a sandbox did in a folder it may have done in all below, so one that
 * is not recorded has the languages of the nearest recorded folder above it, and only a folder
 * without any has them for the asking.
 *
 * The file is replaced whole, under a lock, and read without one.
 */
#ifndef SG_SANDBOX_TRUST_H
#define SG_SANDBOX_TRUST_H

#include <jansson.h>
#include <stdbool.h>

#include "audit/digest.h"
#include "base/err.h"

enum { TRUST_FORMAT_VERSION = 1 };

struct trust {
	json_t *root;
};

/* Empty when nothing was recorded yet. 0 or -1 with the message. */
int trust_read(struct trust *t, struct err *e) sg_must_check;
/*
 * The same, but where nothing can be kept, since there is no home or it cannot be written, nothing
 * is known: 1, with the reason in the message and `root` NULL.
 */
int trust_read_if_kept(struct trust *t, struct err *e) sg_must_check;
void trust_free(struct trust *t);

/* Are these the octets that the person confirmed for sandgate.yaml in this folder? */
bool trust_has_file(const struct trust *t, const char *folder, const struct digest *octets);

/* Was there ever one that they confirmed? */
bool trust_had_file(const struct trust *t, const char *folder);

/* The languages of the folder, or of the nearest one above: an array of ids; borrowed. NULL: no
 * sandbox ran there. */
const json_t *trust_languages(const struct trust *t, const char *folder);

/* May a sandbox have written the folder that `path` lies in? Absolute, without links. */
bool trust_was_shared(const struct trust *t, const char *path);
/* The same, for those who are given a function and its context. */
bool trust_says_shared(const void *t, const char *path);

/* Is the folder itself recorded with exactly these? */
bool trust_has_languages(const struct trust *t, const char *folder, char *const *languages);

/* What to record; NULL leaves what is there. */
struct trust_entry {
	const char *folder;
	const struct digest *file;
	char *const *languages; /* NULL-terminated */
};

/* Under the lock: reads again, puts the entry in, replaces the file. 0 or -1 with the message. */
int trust_record(const struct trust_entry *entry, struct err *e) sg_must_check;

/* Parses the text of trust.json, strictly; pure. 0 or -1 with "FILE: ...". */
int trust_parse(struct span text, const char *file, struct trust *t, struct err *e) sg_must_check;

#endif
