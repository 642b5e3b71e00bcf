/* SPDX-License-Identifier: Apache-2.0 */
/* known: the sandboxes that a person may name: those that run, and those that are kept. */
#ifndef SG_CLI_KNOWN_H
#define SG_CLI_KNOWN_H

#include <stdbool.h>

#include "base/err.h"

enum known { KNOWN_NOT, KNOWN_STOPPED, KNOWN_RUNS };

/*
 * What there is of that name; -1 with the message when it cannot be told. One that is being made or
 * taken away is waited for: it is KNOWN_RUNS as soon as it can be asked, and until its end is over.
 */
int known_find(const char *name, struct err *e) sg_must_check;

/*
 * The same; with KNOWN_RUNS `dir` is its runtime folder, with KNOWN_STOPPED the one that it is kept in,
 * for the caller to close; else it is negative.
 */
int known_open(const char *name, int *dir, struct err *e) sg_must_check;

/* Is the name still that of the stopped one whose `dir` that is, and not started, nor another's? */
bool known_is_still(const char *name, int dir);

/* There is none of that name: says so, with the nearest that there is. Returns -1. */
int known_say_not(const char *name, struct err *e);

/* 0 when it runs; -1 with the message: how to start it, or the nearest name. */
int known_require_running(const char *name, struct err *e) sg_must_check;

/* The same; `dir` is its runtime folder, for the caller to close. */
int known_open_running(const char *name, int *dir, struct err *e) sg_must_check;

#endif
