/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file: contents handed to another program by descriptor. */
#ifndef SG_SANDBOX_MEMORY_FILE_H
#define SG_SANDBOX_MEMORY_FILE_H

#include <stddef.h>

/* A close-on-exec descriptor at offset 0, or -1 with errno. */
int memory_file(const char *name, const void *p, size_t n);

/* The same, of which neither the contents nor the size can be changed by anybody. */
int memory_file_sealed(const char *name, const void *p, size_t n);

#endif
