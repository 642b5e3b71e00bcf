/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/cli.h"
#include "cli/known.h"
#include "sandbox/attach.h"
#include "sandbox/run.h"

int cmd_detach(const struct args *a)
{
	struct err e;
	int rc = attach_end(a->words[0], &e);

	if (rc == -ENOENT)
		known_say_not(a->words[0], &e);
	return rc ? cli_fail(EXIT_SANDGATE, &e) : 0;
}
