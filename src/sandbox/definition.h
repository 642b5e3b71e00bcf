/* SPDX-License-Identifier: Apache-2.0 */
/*
 * definition: what is kept of a sandbox that has a name, between its runs: one JSON file, replaced
 * whole.
 *
 * It carries a format version. An older one is read and rewritten at its first change, a newer one
 * refused with the version that is needed.
 */
#ifndef SG_SANDBOX_DEFINITION_H
#define SG_SANDBOX_DEFINITION_H

#include "policy/policy.h"

/* 2: engine and image; 3: pcap */
enum { DEFINITION_FORMAT_VERSION = 3 };

struct definition {
	struct policy policy; /* as written, not resolved */
	uint64_t generation;  /* of the policy: grows with each change, over all runs */
	char *agent;	      /* "claude", or NULL */
	char **languages;     /* permission ids found when it was made; NULL: none */
	char *engine;	      /* as --engine names it; NULL: the default */
	char *image;	      /* or NULL */
	char *workdir;	      /* absolute */
	char **rw, **ro, **hide, **env;
	bool as_root;
	char *pcap;			  /* absolute: each run is captured; or NULL */
	uint64_t pcap_max_mb, pcap_files; /* as in struct capture_request */
	bool pcap_keys;
	int64_t created_ms;
};

void definition_init(struct definition *d);
void definition_free(struct definition *d);

/*
 * The file's form, pure: strict JSON, every key known. definition_parse() initialises d, and leaves
 * nothing to free on an error; the caller frees what definition_print() gives, NULL when a text is
 * not UTF-8 (or without memory).
 */
int definition_parse(struct span text, struct definition *d, struct err *e) sg_must_check;
char *definition_print(const struct definition *d);

/*
 * Reads that of `name`. -ENOENT when there is none, -1 with the message.
 */
int definition_load(const char *name, struct definition *d, struct err *e) sg_must_check;

/* Writes it: temporary file, fsync, rename, fsync of the folder. Makes the sandbox's folder. */
int definition_save(const char *name, const struct definition *d, struct err *e) sg_must_check;

/*
 * A lock that a change holds from load to save, whoever makes it (a supervisor, or a command while
 * the sandbox is stopped). A descriptor to close, or -1 with the message after 5 s.
 */
int definition_lock(const char *name, struct err *e);

#endif
