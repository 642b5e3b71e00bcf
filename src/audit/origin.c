/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/origin.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

void origin_make(const char *sandbox, char out[ORIGIN_MAX])
{
	char host[HOST_NAME_MAX + 1];

	if (gethostname(host, sizeof(host)) < 0 || !*host)
		snprintf(host, sizeof(host), "host");
	host[HOST_NAME_MAX] = 0;
	for (char *c = host; *c; c++)
		if (*c <= ' ' || *c > '~' || *c == '+')
			*c = '-';
	snprintf(out, ORIGIN_MAX, "sandgate/%s%s%s", host, sandbox ? "/" : "",
		 sandbox ? sandbox : "");
}
