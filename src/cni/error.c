/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/error.h"

#include <jansson.h>
#include <stdio.h>

#include "cni/version.h"

int cni_error_print(const char *version, enum cni_code code, const struct err *e)
{
	json_t *o = json_pack("{s:s, s:i, s:s}", "cniVersion",
			      version && *version ? version : CNI_NEWEST, "code", (int)code, "msg",
			      e->text);

	/* A message that is not UTF-8 quotes what was given: the code says the rest. */
	if (!o)
		o = json_pack("{s:s, s:i, s:s}", "cniVersion", CNI_NEWEST, "code", (int)code, "msg",
			      "the message quotes what is not UTF-8");
	if (o)
		json_dumpf(o, stdout, JSON_INDENT(4));
	json_decref(o);
	putchar('\n');
	return fflush(stdout) == 0 ? 1 : 2;
}
