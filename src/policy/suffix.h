/* SPDX-License-Identifier: Apache-2.0 */
/* suffix: domains under which strangers can register names. */
#ifndef SG_POLICY_SUFFIX_H
#define SG_POLICY_SUFFIX_H

#include <stdbool.h>

#include "base/name.h"

struct suffix_match {
	const char *suffix; /* which suffix a wildcard over the name would cover */
	const char *list;   /* where it stands: "a public suffix (private section)" */
};

/* True when `*.name` would cover names that strangers can register. */
bool suffix_is_shared(const struct name *name, struct suffix_match *m);

/* True when some name below `parent` is one of encrypted DNS. */
bool suffix_holds_encrypted_dns(const struct name *parent);

/* True when the name is a known public DNS-over-HTTPS or TLS resolver, or lies below one. */
bool suffix_is_encrypted_dns(const struct name *name);

#endif
