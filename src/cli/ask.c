/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask.h"

#include <stdbool.h>
#include <string.h>

#include "base/nearest.h"
#include "sandbox/client.h"

/* 0, or -1 with a message that says what runs. */
static int check_runs(const char *name, struct err *e)
{
	char **names = client_list_names(e);
	struct nearest near = nearest_to(name);
	bool runs = false, any = false;

	if (!names)
		return -1;
	for (size_t i = 0; names[i]; i++) {
		any = true;
		runs = runs || strcmp(names[i], name) == 0;
		nearest_offer(&near, names[i]);
	}
	if (!runs && near.word)
		err_set(e, "%s: no sandbox of that name runs; did you mean \"%s\"?", name,
			near.word);
	else if (!runs)
		err_set(e, "%s: no sandbox of that name runs; %s", name,
			any ? "\"sandgate ls\" lists those that do"
			    : "nor does any other: start one with \"sandgate run\"");
	client_free_names(names);
	return runs ? 0 : -1;
}

json_t *ask_sandbox(const char *name, const char *op, struct err *e)
{
	json_t *answer;

	if (check_runs(name, e))
		return NULL;
	answer = client_ask(name, op, e);
	if (answer) {
		json_object_del(answer, "op");
		json_object_del(answer, "ok");
	}
	return answer;
}
