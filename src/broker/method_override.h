/* SPDX-License-Identifier: Apache-2.0 */
/* method_override: words by which a server may take a request for another one than it is. */
#ifndef SG_BROKER_METHOD_OVERRIDE_H
#define SG_BROKER_METHOD_OVERRIDE_H

#include "broker/message.h"

/* Where it says so, a static sentence piece; NULL: nowhere. `target` is its path with the query. */
const char *method_override_find(const struct message *request, const char *target);

#endif
