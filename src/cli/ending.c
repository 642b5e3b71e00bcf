/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "cli/known.h"
#include "sandbox/background.h"
#include "sandbox/control/client.h"

/* What was sent is let out after the end of all that ran (drain.c), and the logs are sealed. */
enum { STEP_MS = 20, ANSWER_MS = 5000, AFTER_MS = 60000 };

static int ask(const char *name, unsigned seconds, struct err *e)
{
	json_t *request = json_pack("{s:s, s:I}", "op", "stop", "ms", (json_int_t)seconds * 1000);
	json_t *answer = request ? client_request(name, request, ANSWER_MS, e) : NULL;

	json_decref(request);
	if (!answer)
		return -1;
	json_decref(answer);
	return 0;
}

static int await_end(const char *name, unsigned seconds, struct err *e)
{
	mono_t end = mono_add_ms(mono_now(), (int64_t)seconds * 1000 + AFTER_MS);
	struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int known;

	while ((known = known_find(name, e)) == KNOWN_RUNS) {
		if (!mono_before(mono_now(), end))
			return err_set(e, "%s: it has not ended; its supervisor still runs", name);
		nanosleep(&step, NULL);
	}
	return known < 0 ? -1 : 0;
}

int ending_make(const char *name, unsigned seconds, struct err *e)
{
	off_t said = background_log_size(name);

	if (ask(name, seconds, e) || await_end(name, seconds, e))
		return -1;
	background_log_show(name, said);
	return 0;
}
