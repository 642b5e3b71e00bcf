/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of SOCKS5: greeting, password, request. A message that is whole is whole with more behind
 * it, and no shorter part of it is; what is asked for is a canonical name or an address.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/socks.h"

static void check_target(const struct http_authority *to)
{
	struct name again;

	if (!to->port)
		abort();
	if (to->kind == HTTP_HOST_NAME &&
	    (name_parse_ascii(to->name.s, to->name.n, &again) != NAME_OK ||
	     !name_equal(&again, &to->name)))
		abort();
}

static void check_cut(struct span s, size_t n, enum socks_result (*read)(struct span s, size_t *n))
{
	size_t other;

	if (n > s.n || n > SOCKS_MESSAGE_MAX)
		abort();
	if (n && read(span_of(s.p, n - 1), &other) != SOCKS_MORE)
		abort();
	if (read(span_of(s.p, n), &other) != SOCKS_WHOLE || other != n)
		abort();
}

static enum socks_result read_greeting(struct span s, size_t *n)
{
	enum socks_method method;

	return socks_greeting_read(s, n, &method);
}

static enum socks_result read_request(struct span s, size_t *n)
{
	struct http_authority to;
	enum socks_reply reply = SOCKS_SUCCEEDED;
	enum socks_result r = socks_request_read(s, n, &to, &reply);

	if (r == SOCKS_WHOLE)
		check_target(&to);
	if ((r == SOCKS_WRONG) != (reply != SOCKS_SUCCEEDED))
		abort();
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static enum socks_result (*const messages[])(struct span s, size_t * n) = {
		read_greeting, socks_password_read, read_request};
	struct span s = span_of(data, size);

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		size_t n = 0;

		if (messages[i](s, &n) == SOCKS_WHOLE)
			check_cut(s, n, messages[i]);
	}
	return 0;
}
