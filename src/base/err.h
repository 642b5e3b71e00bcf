/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: the message that a person reads when something cannot be done.
 *
 * Inside, functions return 0 or -errno; a function that talks to a person takes
 * a `struct err *` as well and fills it with "what: why; what to do".
 */
#ifndef SG_BASE_ERR_H
#define SG_BASE_ERR_H

#include "base/compiler.h"

enum { ERR_MAX = 1024 };

struct err {
	char text[ERR_MAX]; /* NUL-terminated, no final newline, no control characters */
};

/* Writes the message. Returns -1, so that a caller may `return err_set(...)`. */
int err_set(struct err *e, const char *fmt, ...) sg_printf(2, 3);

/* Puts "prefix: " before the message that is there. Returns -1. */
int err_prefix(struct err *e, const char *fmt, ...) sg_printf(2, 3);

/*
 * strerror() of an errno, and what to do where that is the same whatever was being done: a limit or
 * a resource of the machine was reached.
 */
const char *err_why(int error);

/* Prints "sandgate: MESSAGE" to standard error and exits. Only before a loop starts. */
void die(int status, const char *fmt, ...) sg_printf(2, 3) sg_noreturn;

#endif
