/* SPDX-License-Identifier: Apache-2.0 */
/* However a request to a proxy arrives, the same is asked; and it is asked in canonical names. */
#include <stdlib.h>

#include "fuzz.h"
#include "gate/proxy_request.h"

static void check_target(const struct http_authority *to)
{
	struct name again;

	if (!to->port || (to->kind != HTTP_HOST_NAME && to->kind != HTTP_HOST_ADDRESS))
		abort();
	if (to->kind == HTTP_HOST_NAME &&
	    (name_parse_ascii(to->name.s, to->name.n, &again) != NAME_OK ||
	     !name_equal(&again, &to->name)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxy_request whole = {0}, stepped = {0};
	enum proxy_asks asks, last = PROXY_ASKS_MORE;
	size_t step;

	if (size < 2)
		return 0;
	step = data[0] + 1u;
	asks = proxy_request_read(&whole, span_of(data + 1, size - 1));
	for (size_t n = 0; n < size - 1 && last == PROXY_ASKS_MORE;) {
		n = size - 1 - n < step ? size - 1 : n + step;
		last = proxy_request_read(&stepped, span_of(data + 1, n));
	}
	if (last != asks || whole.octets != stepped.octets || whole.status != stepped.status)
		abort();
	if (asks == PROXY_ASKS_WRONG && (!whole.status || !whole.why))
		abort();
	if (asks == PROXY_ASKS_TUNNEL || asks == PROXY_ASKS_ABSOLUTE) {
		check_target(&whole.to);
		if (whole.octets > size - 1)
			abort();
	}
	return 0;
}
