/* SPDX-License-Identifier: Apache-2.0 */
/* policy_file: a policy from a file that a person named. */
#ifndef SG_CLI_POLICY_FILE_H
#define SG_CLI_POLICY_FILE_H

#include "audit/digest.h"
#include "policy/policy.h"

/*
 * Reads and parses PATH, or standard input for "-". A name that ends in ".json", or standard input
 * that begins with "{", is JSON, all else YAML. A file that names no base is `standard`. Its
 * permissions must be those of the catalogue. p is initialised here, and free of memory after a
 * failure. `octets`, if not NULL, is set to the digest of what was read. 0 or -1 with the message.
 */
int policy_file_read(const char *path, const struct catalogue *c, struct policy *p,
		     struct digest *octets, struct err *e) sg_must_check;

/* What messages call it: "standard input" for "-". */
const char *policy_file_name(const char *path);

#endif
