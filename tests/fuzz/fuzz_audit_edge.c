/* SPDX-License-Identifier: Apache-2.0 */
/* An edge that parses is, octet by octet, what it prints as. */
#include <stdlib.h>

#include "audit/edge.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct edge edge;
	char again[EDGE_MAX];
	size_t n;

	if (!edge_parse(span_of(data, size), &edge))
		return 0;
	n = edge_print(&edge, again);
	if (!span_equal(span_of(data, size), span_of(again, n)))
		abort();
	tree_root(&edge.tree);
	return 0;
}
