/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/host_prefixes.h"

bool host_prefixes_parse(const json_t *rows, struct host_prefixes *out)
{
	struct host_prefixes fresh = {0};
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *text = json_string_value(row);

		if (!text || fresh.n == HOST_PREFIXES_MAX ||
		    !prefix_parse(text, strlen(text), &fresh.prefix[fresh.n]))
			return false;
		fresh.n++;
	}
	*out = fresh;
	return true;
}
