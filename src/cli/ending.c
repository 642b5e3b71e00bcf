/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ending.h"

#include <sys/types.h>

#include "cli/join.h"
#include "sandbox/background.h"
#include "sandbox/control/client.h"
#include "sandbox/runtime_dir.h"

/* What was sent is let out after the end of all that ran (drain.c), and the logs are sealed. */
enum { ANSWER_MS = 5000, AFTER_MS = 60000 };

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

/* One that ends by itself meanwhile is no failure. */
int ending_make(const char *name, int dir, unsigned seconds, struct err *e)
{
	off_t said = background_log_size(name);

	if (ask(name, seconds, e) && !join_has_ended(dir))
		return -1;
	if (registry_await_end(dir, (int)seconds * 1000 + AFTER_MS))
		return err_set(e, "%s: it has not ended; its supervisor still runs", name);
	background_log_show(name, said);
	return 0;
}
