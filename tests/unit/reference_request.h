/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference_request: what of policy.md and broker.md is about requests, read literally, by scanning
 * (reference.h is about connections). Knows no checks and no operations for writing.
 */
#ifndef SG_TESTS_REFERENCE_REQUEST_H
#define SG_TESTS_REFERENCE_REQUEST_H

#include "reference.h"
#include "world.h"

/* Is TLS, or plain HTTP, to this name and address opened? `check_name` is that of the connection. */
bool reference_inspects(const struct world *w, const struct destination *d, bool check_name);

/* May this request pass, once it is seen? `d` has method and path. */
bool reference_admits_request(const struct world *w, const struct destination *d);

#endif
