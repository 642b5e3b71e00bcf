/* SPDX-License-Identifier: Apache-2.0 */
/* proc_file: numbers that the kernel shows in /proc. */
#ifndef SG_CLI_PROC_FILE_H
#define SG_CLI_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads up to n decimal numbers. Returns how many there were; 0 when there is no such file. */
size_t proc_file_numbers(const char *path, long long *out, size_t n);

/* True when the file exists and its first number is `value`. */
bool proc_file_is(const char *path, long long value);

#endif
