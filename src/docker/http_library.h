/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_library: libmicrohttpd, loaded when the driver starts and not with the program. It brings the
 * libraries of TLS along, which the driver has no use for: each `sandgate run` would start them, and
 * each process of each sandbox hold their pages.
 */
#ifndef SG_DOCKER_HTTP_LIBRARY_H
#define SG_DOCKER_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "base/err.h"

#define HTTP_LIBRARY_FUNCTIONS(X)      \
	X(start_daemon)                \
	X(stop_daemon)                 \
	X(quiesce_daemon)              \
	X(run)                         \
	X(get_timeout)                 \
	X(get_daemon_info)             \
	X(get_connection_info)         \
	X(suspend_connection)          \
	X(resume_connection)           \
	X(create_response_from_buffer) \
	X(add_response_header)         \
	X(queue_response)              \
	X(destroy_response)

#define HTTP_LIBRARY_MEMBER(name) __typeof__(&MHD_##name) name;

/* MHD_name() of libmicrohttpd is `name` here. */
struct http_library {
	HTTP_LIBRARY_FUNCTIONS(HTTP_LIBRARY_MEMBER)
};

/* The library, which stays loaded. NULL with the message, which names Debian's package. */
const struct http_library *http_library_load(struct err *e);

#endif
