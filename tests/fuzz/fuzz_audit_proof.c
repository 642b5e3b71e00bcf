/* SPDX-License-Identifier: Apache-2.0 */
/* A proof of somebody unknown: its parts lie within it, and it holds only with a signature. */
#include <stdlib.h>

#include "audit/proof.h"
#include "fuzz.h"

static const char key[] = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

static void check_within(struct span part, const uint8_t *data, size_t size)
{
	if (part.p && (part.p < data || part.p + part.n > data + size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proof proof;
	struct proof_said said;
	struct err e;

	if (proof_parse(span_of(data, size), &proof)) {
		check_within(proof.extra, data, size);
		check_within(proof.checkpoint, data, size);
		if (proof.path.n > TREE_LEVELS)
			abort();
	}
	/* Nobody here has the private half of this key. */
	if (proof_check(span_of(data, size), span_of(NULL, 0), span_of_string(key), &said, &e) == 0)
		abort();
	proof_said_free(&said);
	return 0;
}
