/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_anchors: the certificate authorities that the host trusts, each taken apart when it is first
 * asked for. To decode the public keys of a whole bundle is most of what a broker's start would
 * cost, and a sandbox meets a handful of them.
 */
#ifndef SG_BROKER_TRUST_ANCHORS_H
#define SG_BROKER_TRUST_ANCHORS_H

#include <openssl/x509_vfy.h>

#include "base/err.h"
#include "base/span.h"

struct trust_anchors;

/*
 * All certificates of a bundle of PEM, found by a lookup of `store`, which is to be freed before
 * them. NULL with the message: a part of it cannot be read, or there is none in it.
 */
struct trust_anchors *trust_anchors_new(struct span bundle, X509_STORE *store, struct err *e);
void trust_anchors_free(struct trust_anchors *a);

#endif
