/* SPDX-License-Identifier: Apache-2.0 */
/* lock: an open airlock for a test's body, and a way into its sandbox. */
#ifndef SG_TESTS_PLATFORM_LOCK_H
#define SG_TESTS_PLATFORM_LOCK_H

#include "airlock/airlock.h"
#include "rig.h"

#define WORLD_V4 "93.184.216.34"
#define WORLD_V6 "2a00:1450:4001:80b::200e"

enum { LOCK_UID = 1234, LOCK_GID = 2345 };

extern struct airlock lock;

void lock_open(bool door);
/* Runs the body in the sandbox's namespaces, with every capability there; its exit status. */
int lock_inside(rig_body *body);

/* A test of a body, as root and as an ordinary user. */
#define AS_ROOT(body)                               \
	static void body##_as_root(void **state)    \
	{                                           \
		if (geteuid() != 0)                 \
			skip();                     \
		assert_int_equal(rig_run(body), 0); \
	}
#define AS_USER(body)                                       \
	static void body##_as_user(void **state)            \
	{                                                   \
		assert_int_equal(rig_run_as_user(body), 0); \
	}

#endif
