/* SPDX-License-Identifier: Apache-2.0 */
/* private_dir: a folder of the person's own that nobody else may enter. */
#ifndef SG_SANDBOX_PRIVATE_DIR_H
#define SG_SANDBOX_PRIVATE_DIR_H

#include <stdbool.h>

/*
 * Opens the folder `path`, from the folder `at` (or AT_FDCWD), making it when `make`; the folders
 * above it must be there. A descriptor, -EPERM when it is a link, no folder, another's, or open to
 * others, or another -errno.
 */
int private_dir_open(int at, const char *path, bool make);

#endif
