/* SPDX-License-Identifier: Apache-2.0 */
/* known: the sandboxes that a person may name: those that run, and those that are kept. */
#ifndef SG_CLI_KNOWN_H
#define SG_CLI_KNOWN_H

#include "base/err.h"

enum known { KNOWN_NOT, KNOWN_STOPPED, KNOWN_RUNS };

/* What there is of that name; -1 with the message when it cannot be told. */
int known_find(const char *name, struct err *e) sg_must_check;

/* There is none of that name: says so, with the nearest that there is. Returns -1. */
int known_say_not(const char *name, struct err *e);

/* 0 when it runs; -1 with the message: how to start it, or the nearest name. */
int known_require_running(const char *name, struct err *e) sg_must_check;

#endif
