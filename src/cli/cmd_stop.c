/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ending.h"
#include "cli/known.h"
#include "sandbox/run.h"

/* 0 or -1 with the message. */
static int read_seconds(const char *text, unsigned *out, struct err *e)
{
	unsigned n = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9' && n <= ENDING_SECONDS_MAX; p++)
		n = n * 10 + (unsigned)(*p - '0');
	if (*p || n > ENDING_SECONDS_MAX)
		return err_set(
			e, "--time: \"%s\" is not a number of seconds up to %d; write --time %d",
			text, ENDING_SECONDS_MAX, ENDING_SECONDS);
	*out = n;
	return 0;
}

static int end(const char *name, int dir, unsigned seconds, struct err *e)
{
	int rc = ending_make(name, dir, seconds, e);

	close(dir);
	return rc;
}

int cmd_stop(const struct args *a)
{
	const char *name = a->words[0];
	unsigned seconds = ENDING_SECONDS;
	struct err e;
	int dir;

	if (args_has(a, STOP_TIME) && read_seconds(args_value(a, STOP_TIME), &seconds, &e))
		return cli_fail(EXIT_USAGE, &e);
	switch (known_open(name, &dir, &e)) {
	case KNOWN_RUNS:
		return end(name, dir, seconds, &e) ? cli_fail(EXIT_SANDGATE, &e) : 0;
	case KNOWN_STOPPED:
		close(dir);
		return 0;
	case KNOWN_NOT:
		known_say_not(name, &e);
		return cli_fail(EXIT_SANDGATE, &e);
	default:
		return cli_fail(EXIT_SANDGATE, &e);
	}
}
