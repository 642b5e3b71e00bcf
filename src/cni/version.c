/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/version.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

static const char *const known[] = {"0.3.1", "0.4.0", CNI_NEWEST};

bool cni_version_is_known(const char *version)
{
	for (size_t i = 0; i < sg_array_len(known); i++)
		if (strcmp(version, known[i]) == 0)
			return true;
	return false;
}

bool cni_version_names_families(const char *version)
{
	return version[0] == '0';
}

int cni_version_print(const char *asked)
{
	json_t *versions = json_array(), *o;

	for (size_t i = 0; i < sg_array_len(known); i++)
		json_array_append_new(versions, json_string(known[i]));
	o = json_pack("{s:s, s:o}", "cniVersion",
		      asked && cni_version_is_known(asked) ? asked : CNI_NEWEST,
		      "supportedVersions", versions);
	if (o)
		json_dumpf(o, stdout, JSON_INDENT(4));
	putchar('\n');
	json_decref(o);
	return o && fflush(stdout) == 0 ? 0 : 1;
}
