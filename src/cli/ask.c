/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask.h"

#include <unistd.h>

#include "cli/join.h"
#include "cli/known.h"
#include "sandbox/control/client.h"

json_t *ask_sandbox(const char *name, const char *op, struct err *e)
{
	json_t *answer;
	bool again;
	int dir;

	/* One that ends meanwhile is told of as it then is: stopped, gone, or started again. */
	do {
		if (known_open_running(name, &dir, e))
			return NULL;
		answer = client_ask(name, op, e);
		again = !answer && join_has_ended(dir);
		close(dir);
	} while (again);
	if (answer) {
		json_object_del(answer, "op");
		json_object_del(answer, "ok");
	}
	return answer;
}
