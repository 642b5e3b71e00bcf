/* SPDX-License-Identifier: Apache-2.0 */
/* The map of a namespace's users, and what an engine says of a container: numbers within bounds. */
#include <stdlib.h>

#include "cli/container_pid.h"
#include "fuzz.h"
#include "sandbox/person.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of(data, size);
	pid_t pid = container_pid_parse(text);
	id_t above;

	if (pid < -1 || (pid >= 0 && (size == 0 || size > 64 + 1) && data[0] != '0'))
		abort();
	/* A map that begins with the identity maps what the identity does. */
	if (size > 6 && memcmp(data, "0 0 1\n", 6) == 0 &&
	    (!person_map_id(text, 0, &above) || above != 0))
		abort();
	(void)!person_map_id(text, 1000, &above);
	return 0;
}
