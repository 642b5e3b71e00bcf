/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/proc_file.h"

#include <stdio.h>

size_t proc_file_numbers(const char *path, long long *out, size_t n)
{
	FILE *f = fopen(path, "re");
	size_t got = 0;

	if (!f)
		return 0;
	while (got < n && fscanf(f, "%lld", &out[got]) == 1)
		got++;
	fclose(f);
	return got;
}

bool proc_file_is(const char *path, long long value)
{
	long long got;

	return proc_file_numbers(path, &got, 1) == 1 && got == value;
}
