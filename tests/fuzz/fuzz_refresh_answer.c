/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a token endpoint, behind an octet for its status: a token is kept, or the
 * credential has failed. */
#include <stdlib.h>

#include "broker/placeholder.h"
#include "broker/refresh.h"
#include "fuzz.h"

static struct credential_refresh refresh = {.url = (char *)"https://a.example/t"};

static void check(struct vault *v, unsigned status, struct span body)
{
	struct err e = {""};

	if (refresh_take(v, 0, status, body, 1, &e) == 0) {
		if (status != 200 || vault_part(v, 0, PART_VALUE).n < SECRET_MIN)
			abort();
		return;
	}
	if (!e.text[0] || vault_next_wanted(v, 0) != 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t seed[PLACEHOLDER_SEED];
	struct credential one = {.host = (char *)"a.example",
				 .port = 443,
				 .slot = SLOT_QUERY,
				 .name = (char *)"k",
				 .from = (char *)"env:T",
				 .refresh = &refresh};
	struct credential_list list = {&one, 1};
	struct vault *v;
	struct err e;

	if (size == 0)
		return 0;
	v = vault_new(&list, seed, &e);
	if (!v)
		abort();
	check(v, data[0] % 2 ? 400 : 200, span_of(data + 1, size - 1));
	vault_free(v);
	return 0;
}
