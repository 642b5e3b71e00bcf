/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first octet says in which steps the rest arrives. However it arrives, the answer is the
 * same, and what is called OK lies within what was seen.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gate/tls_hello.h"

static uint8_t scratch[TLS_HELLO_MAX];

static enum hello_state parse_in_steps(struct span s, size_t step, struct tls_hello *h)
{
	enum hello_state state = HELLO_NEED_MORE;

	for (size_t n = 0; n < s.n && state == HELLO_NEED_MORE;) {
		n = s.n - n < step ? s.n : n + step;
		state = tls_hello_parse(span_of(s.p, n), scratch, h);
	}
	return state;
}

static void check_same(const struct tls_hello *a, const struct tls_hello *b)
{
	if (a->has_server_name != b->has_server_name || a->has_ech != b->has_ech ||
	    a->alpn != b->alpn || a->octets != b->octets)
		abort();
	if (a->has_server_name && !name_equal(&a->server_name, &b->server_name))
		abort();
}

static void check_name(const struct tls_hello *h)
{
	struct name again;

	if (h->has_server_name &&
	    (name_parse_ascii(h->server_name.s, h->server_name.n, &again) != NAME_OK ||
	     !name_equal(&again, &h->server_name)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_hello whole = {0}, stepped = {0}, message = {0};
	enum hello_state state;
	struct span s;

	if (size < 2)
		return 0;
	s = span_of(data + 1, size - 1);
	state = parse_in_steps(s, s.n, &whole);
	if (parse_in_steps(s, data[0] + 1u, &stepped) != state)
		abort();
	if (state == HELLO_OK) {
		check_same(&whole, &stepped);
		check_name(&whole);
		if (whole.octets > s.n)
			abort();
	}
	if (state == HELLO_MALFORMED && !whole.why)
		abort();
	if (tls_hello_parse_message(s, &message) == HELLO_OK)
		check_name(&message);
	return 0;
}
