/* SPDX-License-Identifier: Apache-2.0 */
/* tls_store: what all connections to real servers share. */
#ifndef SG_BROKER_TLS_STORE_H
#define SG_BROKER_TLS_STORE_H

#include "broker/trust_anchors.h"
#include "broker/session_cache.h"
#include "broker/tls.h"

struct tls_store {
	SSL_CTX *context;
	struct trust_anchors *anchors; /* whom the host trusts; of the context's store */
	struct session_cache *sessions;
};

#endif
