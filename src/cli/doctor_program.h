/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_program: other people's programs that sandgate starts, and which version they are. */
#ifndef SG_CLI_DOCTOR_PROGRAM_H
#define SG_CLI_DOCTOR_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { PROGRAM_PATH_MAX = 64, PROGRAM_LINE_MAX = 128 };

struct program_version {
	int major, minor;
	char line[PROGRAM_LINE_MAX]; /* what it says of itself, printable */
};

/*
 * In the folders that only root can write to: PATH is the person's, and may begin in a folder that
 * an agent writes. False when it is in none of them.
 */
bool doctor_find_program(const char *name, char out[PROGRAM_PATH_MAX]);

/*
 * Starts it with one argument and an empty environment, and reads the first "N.N" of the first line
 * that it prints. False when it does not start, fails, or names no version; `line` is set whenever
 * it printed one, else empty.
 */
bool doctor_program_version(const char *path, const char *argument, struct program_version *out);

static inline bool program_version_is_at_least(const struct program_version *v, int major,
					       int minor)
{
	return v->major > major || (v->major == major && v->minor >= minor);
}

#endif
