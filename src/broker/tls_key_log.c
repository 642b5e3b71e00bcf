/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/tls_key_log.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener = -1;

void tls_key_log_follow(int fd)
{
	if (listener >= 0)
		close(listener);
	listener = fd;
}

static void on_line(const SSL *ssl, const char *line)
{
	if (listener >= 0 && send(listener, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    errno != EAGAIN && errno != ENOBUFS)
		tls_key_log_follow(-1);
}

void tls_key_log_prepare(SSL_CTX *c)
{
	SSL_CTX_set_keylog_callback(c, listener >= 0 ? on_line : NULL);
}
