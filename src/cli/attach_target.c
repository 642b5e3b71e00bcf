/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/attach_target.h"

#include <unistd.h>

#include "base/span.h"
#include "cli/container_pid.h"
#include "sandbox/engine/netns.h"
#include "sandbox/run.h"

static int find_pid(const struct attach_words *w, struct attach_target *out, struct err *e)
{
	pid_t pid = container_pid_parse(span_of_string(w->pid));

	if (pid <= 0)
		return err_set(e, "--pid: \"%s\" is no number of a process", w->pid), EXIT_USAGE;
	out->netns = netns_open_pid(pid, &out->alive, e);
	return out->netns < 0 ? err_prefix(e, "--pid"), EXIT_SANDGATE : 0;
}

static int find_container(const struct attach_words *w, struct attach_target *out, struct err *e)
{
	pid_t pid;

	if (!container_pid_is_name(w->container))
		return err_set(e, "--container: \"%s\" is no name and no id of a container",
			       w->container),
		       EXIT_USAGE;
	out->name = w->container;
	pid = container_pid_find(w->container, &out->engine, e);
	if (pid < 0)
		return EXIT_SANDGATE;
	out->netns = netns_open_pid(pid, &out->alive, e);
	return out->netns < 0 ? err_prefix(e, "--container %s", w->container), EXIT_SANDGATE : 0;
}

static int find_path(const struct attach_words *w, struct attach_target *out, struct err *e)
{
	out->name = w->netns;
	out->netns = netns_open_path(w->netns, e);
	return out->netns < 0 ? err_prefix(e, "--netns"), EXIT_SANDGATE : 0;
}

int attach_target_find(const struct attach_words *w, struct attach_target *out, struct err *e)
{
	int named = !!w->netns + !!w->pid + !!w->container, status;

	*out = (struct attach_target){.netns = -1, .alive = -1, .engine = "netns", .name = "netns"};
	if (named != 1)
		return err_set(e, "name one of --netns PATH, --pid PID and --container ID"),
		       EXIT_USAGE;
	status = w->pid		? find_pid(w, out, e)
		 : w->container ? find_container(w, out, e)
				: find_path(w, out, e);
	if (status == 0 && netns_check(out->netns, e))
		status = EXIT_SANDGATE;
	if (status)
		attach_target_close(out);
	return status;
}

void attach_target_close(struct attach_target *t)
{
	if (t->netns >= 0)
		close(t->netns);
	if (t->alive >= 0)
		close(t->alive);
	t->netns = -1;
	t->alive = -1;
}
