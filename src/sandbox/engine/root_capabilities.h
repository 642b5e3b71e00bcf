/* SPDX-License-Identifier: Apache-2.0 */
/* root_capabilities: what uid 0 in a sandbox may do to its own files; none of it is about the
 * network. */
#ifndef SG_SANDBOX_ROOT_CAPABILITIES_H
#define SG_SANDBOX_ROOT_CAPABILITIES_H

#include <stddef.h>

extern const char *const root_capabilities[];
extern const size_t root_capabilities_n;

#endif
