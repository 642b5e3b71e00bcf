/* SPDX-License-Identifier: Apache-2.0 */
/* entry: one line of a log, and the two keys that every one of them has: "seq" and "time". */
#ifndef SG_AUDIT_ENTRY_H
#define SG_AUDIT_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/span.h"

/* "2026-01-31T23:59:59.999Z": RFC 3339, UTC, milliseconds; such texts are ordered as strings. */
enum { ENTRY_TIME = 24, ENTRY_MAX = 1 << 20 /* octets of a line, with its newline */ };

struct entry {
	uint64_t seq; /* 0 is the first: its index in the tree */
	char time[ENTRY_TIME + 1];
	json_t *value; /* all of it; owned */
};

/* From a line without its newline. 0 or -1 with the message; then there is nothing to free. */
int entry_parse(struct span line, struct entry *out, struct err *e) sg_must_check;
void entry_free(struct entry *en);

/* "sandgate.audit.prune": entries before "first_seq" may be gone from here on. */
#define ENTRY_PRUNE "sandgate.audit.prune"
bool entry_says_pruned(const json_t *entry, uint64_t *first);

/* The wall clock's, in milliseconds since 1970. */
int64_t entry_now_ms(void);
/* Milliseconds since 1970, from 0 to the end of the year 9999; beyond, the nearest of them. */
void entry_print_time(int64_t ms, char out[ENTRY_TIME + 1]);
/* -1 when it is no such time. */
int64_t entry_parse_time(const char *text);

#endif
