/* SPDX-License-Identifier: Apache-2.0 */
/*
 * masked_files: what in /etc is not for everyone: shadow, host keys, private keys, passwords of
 * services. A person cannot read it anyway; root could, so for root it is hidden in the sandbox.
 */
#ifndef SG_SANDBOX_MASKED_FILES_H
#define SG_SANDBOX_MASKED_FILES_H

/*
 * Paths of files and folders under /etc that "others" may not read, NULL-terminated, none of them
 * within another. Empty for one who is not root. The list is freed by the caller, and so is *store,
 * where the texts are. NULL with errno.
 */
const char **masked_files_list(char **store);

#endif
