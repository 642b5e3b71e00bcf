/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rerun: the command line once more, with what would have let the refused through.
 */
#ifndef SG_SANDBOX_RERUN_H
#define SG_SANDBOX_RERUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sandbox/run.h"

enum { RERUN_ITEMS_MAX = 32 };

/* The options of all remedies, each once; {0} is none. */
struct rerun {
	bool net_deny; /* in the place of the base that was written */
	char *items[RERUN_ITEMS_MAX], *ports[RERUN_ITEMS_MAX];
	size_t n_items, n_ports;
};

/*
 * Takes the options of "sandgate run [OPTION VALUE]... ...", as remedy_format() writes it. The text
 * comes from the process that reads the sandbox's octets: what a shell or a terminal would take for
 * more than a word is left out.
 */
void rerun_take(struct rerun *r, const char *remedy);

/* "sandgate: to allow it: " and the command, if anything was taken. */
void rerun_put(FILE *to, const struct rerun *r, const struct run_options *o);

void rerun_free(struct rerun *r);

#endif
