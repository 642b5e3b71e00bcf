/* SPDX-License-Identifier: Apache-2.0 */
/* file_tables: what of the host a sandbox sees, and what of the working directory is read-only. */
#ifndef SG_SANDBOX_FILE_TABLES_H
#define SG_SANDBOX_FILE_TABLES_H

#include <stddef.h>

#include "sandbox/files/file_system.h"

/* When a row of the system applies. */
enum file_row_when { ALWAYS, IF_THERE, UNLESS_ROOT, IF_ROOT, OF_HOST_ROOT };

struct file_row {
	const char *path;
	enum mount_kind kind;
	enum file_row_when when;
	unsigned mode;
	const char *target; /* of a link */
	bool closed;	    /* a working directory in it is not shared */
};

extern const struct file_row file_system_rows[];
extern const size_t file_n_system_rows;

/* Relative to the working directory. */
extern const char *const file_protected_parts[];
extern const size_t file_n_protected_parts;

#endif
