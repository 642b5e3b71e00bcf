/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first three octets: how many arguments and variables are announced, and a flaw; the rest the
 * texts.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sandbox/control/exec_wire.h"

static void check(const struct exec_hello *h, const struct exec_request *r)
{
	for (uint32_t i = 0; i < h->n_args; i++)
		if (!r->argv[i])
			abort();
	for (uint32_t i = 0; i < h->n_env; i++)
		if (!r->env[i] || !strchr(r->env[i], '='))
			abort();
	if (r->argv[h->n_args] || r->env[h->n_env] || !*r->argv[0] || !r->cwd)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exec_hello h = {.magic = EXEC_MAGIC};
	struct exec_request r;
	char *text;

	if (size < 3)
		return 0;
	h.n_args = data[0];
	h.n_env = data[1];
	h.size = (uint32_t)(size - 3 + (data[2] & 1));
	h.passed = data[2] >> 1;
	text = malloc(size - 3 ? size - 3 : 1);
	if (!text)
		return 0;
	memcpy(text, data + 3, size - 3);
	if (exec_request_parse(&h, text, size - 3, &r)) {
		check(&h, &r);
		exec_request_free(&r);
	}
	free(text);
	return 0;
}
