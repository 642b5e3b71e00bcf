/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/known.h"

#include <errno.h>

#include "base/nearest.h"
#include "sandbox/control/client.h"
#include "sandbox/name_list.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/state_dir.h"

int known_find(const char *name, struct err *e)
{
	int runs = registry_find(name, e), dir;

	if (runs)
		return runs < 0 ? -1 : KNOWN_RUNS;
	dir = state_dir_open_sandbox(name, false, e);
	if (dir == -ENOENT)
		return KNOWN_NOT;
	if (dir < 0)
		return -1;
	close(dir);
	return KNOWN_STOPPED;
}

static bool offer_all(struct nearest *near, char **names)
{
	bool any = false;

	for (char **p = names; p && *p; p++) {
		nearest_offer(near, *p);
		any = true;
	}
	return any;
}

int known_say_not(const char *name, struct err *e)
{
	struct nearest near = nearest_to(name);
	struct err ignored;
	char **running = client_list_names(&ignored), **kept = state_dir_list(&ignored);
	bool any = offer_all(&near, running);

	any = offer_all(&near, kept) || any;
	if (near.word)
		err_set(e, "%s: there is no sandbox of that name; did you mean \"%s\"?", name,
			near.word);
	else
		err_set(e, "%s: there is no sandbox of that name; %s", name,
			any ? "\"sandgate ls\" lists those that there are"
			    : "nor any other: make one with \"sandgate create\" or \"sandgate run\"");
	name_list_free(running);
	name_list_free(kept);
	return -1;
}

int known_require_running(const char *name, struct err *e)
{
	switch (known_find(name, e)) {
	case KNOWN_RUNS:
		return 0;
	case KNOWN_STOPPED:
		return err_set(e, "%s: it is stopped; start it with: sandgate start %s", name,
			       name);
	case KNOWN_NOT:
		return known_say_not(name, e);
	default:
		return -1;
	}
}
