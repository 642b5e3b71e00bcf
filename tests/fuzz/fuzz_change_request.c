/* SPDX-License-Identifier: Apache-2.0 */
/* A change that is taken comes through the message again as it was. */
#include <stdlib.h>

#include "fuzz.h"
#include "sandbox/control/change_request.h"
#include "sandbox/log/seen_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	json_t *m = json_loadb((const char *)p, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	json_t *again = NULL, *third = NULL;
	struct change_request r, s;
	struct seen seen;
	struct err e;

	seen_row_read(m, &seen);
	if (m && change_request_parse(m, &r, &e) == 0) {
		again = change_request_print(&r.change, r.dry_run);
		if (!again || change_request_parse(again, &s, &e))
			abort();
		third = change_request_print(&s.change, s.dry_run);
		if (!third || !json_equal(again, third))
			abort();
		change_request_free(&s);
		change_request_free(&r);
	}
	json_decref(third);
	json_decref(again);
	json_decref(m);
	return 0;
}
