/* SPDX-License-Identifier: Apache-2.0 */
/* namespace: which one a descriptor is of. */
#ifndef SG_AIRLOCK_NAMESPACE_H
#define SG_AIRLOCK_NAMESPACE_H

#include <stdbool.h>

/* Is it the one that `path` names, such as "/proc/self/ns/net"? False where that cannot be seen. */
bool namespace_is(int fd, const char *path);

#endif
