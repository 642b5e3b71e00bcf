/* SPDX-License-Identifier: Apache-2.0 */
/* sealer_rig: a sealer over a folder of its own, for the tests of it. */
#ifndef SG_TESTS_SEALER_RIG_H
#define SG_TESTS_SEALER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/sealer.h"

enum { SYNC_MS = 20000 };

struct world {
	char path[64];
	int folder, ring_file, broker_file, wake;
	struct ring *ring, *broker; /* the second NULL until sealer_rig_add_broker() */
	struct sealer_setup setup;
	struct sealer sealer;
};

/* Fixtures: the world is *state. */
int sealer_rig_begin(void **state);
int sealer_rig_end(void **state);

/* Its folder at `path` and the ring in it, and no sealer; again after sealer_rig_close(). */
void sealer_rig_open(struct world *w);
void sealer_rig_close(struct world *w);

void sealer_rig_start(struct world *w);

/* A ring of a broker as well; the sealer that lives is told. */
void sealer_rig_add_broker(struct world *w);

#define WITH_WORLD(f) cmocka_unit_test_setup_teardown(f, sealer_rig_begin, sealer_rig_end)

#endif
