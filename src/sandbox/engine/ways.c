/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/ways.h"

#include <stdio.h>
#include <string.h>

#include "airlock/way_out.h"
#include "sandbox/log/log_notes.h"
#include "sandbox/supervisor.h"

static void tell(struct supervisor *s, const struct err *what)
{
	supervisor_say(what);
	log_note_way_out(s, what);
}

static void close_way(struct ways *w, struct supervisor *s, const char *ways)
{
	struct err e, why;

	if (!restarts_allow(&w->taken, mono_now())) {
		err_set(&e,
			"devices came into the namespace %d times in %d s; the sandbox is ended, "
			"and its link with it",
			RESTARTS_MAX + 1, RESTARTS_MS / 1000);
		supervisor_fail(s, &e);
		return;
	}
	if (netns_take_ways(w->netns, w->link, &why)) {
		if (strcmp(s->exposed, ways) == 0)
			return;
		snprintf(s->exposed, sizeof(s->exposed), "%s", ways);
		err_set(&e, "EXPOSED: %s came into the namespace and leads out past the gate: %s",
			ways, why.text);
	} else {
		*s->exposed = 0;
		err_set(&e,
			"%s came into the namespace, another way out, and was taken away at once",
			ways);
	}
	tell(s, &e);
}

void ways_look(struct ways *w, struct supervisor *s)
{
	char ways[NETNS_WAYS_MAX];
	struct err e;

	if (!netns_watch_hear(&w->watch, w->link)) {
		err_set(&e, "the link was taken away from inside of the namespace; the sandbox is "
			    "ended");
		supervisor_fail(s, &e);
		return;
	}
	if (way_out_list(&w->watch.ask, w->link, ways, sizeof(ways), &e)) {
		supervisor_fail(s, &e);
	} else if (*ways) {
		close_way(w, s, ways);
	} else if (*s->exposed) {
		err_set(&e, "%s no longer leads out of the namespace", s->exposed);
		*s->exposed = 0;
		tell(s, &e);
	}
}

int ways_open(struct ways *w, int netns, uint32_t link, struct err *e)
{
	*w = WAYS_NONE;
	w->netns = netns;
	w->link = link;
	return netns_watch_open(netns, &w->watch, e);
}

void ways_close(struct ways *w)
{
	netns_watch_close(&w->watch);
}
