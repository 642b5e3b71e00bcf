/* SPDX-License-Identifier: Apache-2.0 */
/* sigv4_canonical: a request as the text that is signed (sigv4.h). Pure; false: no room, or no
 * memory. */
#ifndef SG_BROKER_SIGV4_CANONICAL_H
#define SG_BROKER_SIGV4_CANONICAL_H

#include "base/buf.h"
#include "broker/message.h"

/* The names of the fields that are signed, sorted, "host;x-amz-date". */
bool sigv4_put_names(const struct message *request, struct span had_signed, struct buf *b,
		     struct span *names);

/* `plain_path`: of S3, whose paths are encoded once and keep `//` and `..` as they are. */
bool sigv4_put_canonical(const struct message *request, struct span names, struct span hash,
			 bool plain_path, struct buf *b, struct span *out);

#endif
