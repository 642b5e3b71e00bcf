/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem: the certificates in a text (RFC 7468, section 5). Pure.
 *
 * What stands between them is passed over, as OpenSSL does: bundles have comments there.
 */
#ifndef SG_SANDBOX_PEM_H
#define SG_SANDBOX_PEM_H

#include <stdbool.h>

#include "base/span.h"

/* Longer ones are passed over: no certificate is. */
enum { PEM_CERTIFICATE_MAX = 64 * 1024 };

/*
 * The DER of the next certificate, which `text` then has passed; false at the end. One that is not
 * base64, or no single SEQUENCE of the length that it says, is passed over. `out` has room for
 * PEM_CERTIFICATE_MAX octets.
 */
bool pem_next_certificate(struct span *text, uint8_t *out, struct span *der);

/* Nothing but certificates, with line feeds after and between them; an empty text is. */
bool pem_is_certificates(struct span text);

#endif
