/* SPDX-License-Identifier: Apache-2.0 */
/* request_of: a request as a codec hands it on, from a few words. */
#ifndef SG_TESTS_REQUEST_OF_H
#define SG_TESTS_REQUEST_OF_H

#include <stdio.h>
#include <stdlib.h>

#include "broker/http1_head.h"

/* `fields` are lines that each end in CRLF. The caller frees it with message_free(). */
static inline void request_of(const char *method, const char *host, const char *path,
			      const char *fields, struct message *m)
{
	static char head[2 * MESSAGE_HEAD_MAX];
	struct http1_hop hop;
	const char *why = "";

	snprintf(head, sizeof(head), "%s %s HTTP/1.1\r\nhost: %s\r\n%s\r\n", method, path, host,
		 fields);
	message_init(m);
	if (http1_read_request(span_of_string(head), true, m, &hop, &why)) {
		fprintf(stderr, "the test's request is malformed: %s\n", why);
		abort();
	}
}

#endif
