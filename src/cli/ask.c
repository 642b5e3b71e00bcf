/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask.h"

#include "cli/known.h"
#include "sandbox/control/client.h"

json_t *ask_sandbox(const char *name, const char *op, struct err *e)
{
	json_t *answer;

	if (known_require_running(name, e))
		return NULL;
	answer = client_ask(name, op, e);
	if (answer) {
		json_object_del(answer, "op");
		json_object_del(answer, "ok");
	}
	return answer;
}
