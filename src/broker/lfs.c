/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/lfs.h"

#include "broker/json_body.h"

bool lfs_batch_is(struct span body, const char *operation)
{
	static const char *const keys[] = {"operation", "transfers", "ref",
					   "objects",	"hash_algo", NULL};
	json_t *batch = json_body_parse(body);
	bool is = json_body_has_only(batch, keys) &&
		  span_equal(json_body_text(json_object_get(batch, "operation")),
			     span_of_string(operation));

	json_decref(batch);
	return is;
}
