/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "airlock/inbound.h"
#include "base/clock.h"
#include "sandbox/background.h"
#include "sandbox/control/client.h"
#include "sandbox/engine/engine.h"
#include "sandbox/run.h"
#include "sandbox/runtime_dir.h"

enum { ASK_MS = 5000, END_MS = 60000, STEP_MS = 10 };

/* --- the start --- */

enum { FD_NETNS, FD_ALIVE, FD_LOCK, FDS };

static char *const no_command[] = {NULL};

static bool is_told;

void attach_told(const struct attach_request *r)
{
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	is_told = true;
	if (r->lock > 0)
		fcntl(r->lock, F_OFD_SETLK, &all);
}

static int be_supervisor(void *ctx, int ready, const int *fds)
{
	struct attach_request r = *(const struct attach_request *)ctx;
	struct run_options o = {
		.name = r.name,
		.name_from = r.name_from ? r.name_from : r.engine,
		.policy = (struct policy *)r.policy,
		.sources = r.sources,
		.agent = r.agent,
		.engine = r.awaited ? &engine_awaited : &engine_attached,
		.attach = &r,
		.quiet = r.quiet,
		.pcap = r.pcap,
		.workdir = "/",
		.ready = ready,
		.argv = no_command,
	};
	struct err ignored;
	int status;

	r.netns = fds[FD_NETNS];
	r.alive = fds[FD_ALIVE];
	r.lock = fds[FD_LOCK];
	status = sandbox_run(&o);
	if (!is_told && r.leave)
		(void)!inbound_leave_dead(r.netns, r.device, r.leave, &ignored);
	return status;
}

/* The last line says why; what came before it was said to no avail. */
static int failed(const char *text, struct err *e)
{
	static const char prefix[] = "sandgate: ";
	const char *line = text, *at;
	size_t n;

	while ((at = strchr(line, '\n')) && at[1])
		line = at + 1;
	if (strncmp(line, prefix, sizeof(prefix) - 1) == 0)
		line += sizeof(prefix) - 1;
	n = strcspn(line, "\n");
	return n ? err_set(e, "%.*s", (int)n, line)
		 : err_set(e, "the supervisor of the sandbox has ended without a word");
}

static int check(const struct attach_request *r, struct err *e)
{
	return r->policy->network != NET_NONE
		       ? 0
		       : err_set(e,
				 "the network `none` has no link, and there is nothing to attach; "
				 "take --net deny");
}

int attach_start(const struct attach_request *r, char *name, struct err *e)
{
	const int fds[FDS] = {[FD_NETNS] = r->netns,
			      [FD_ALIVE] = r->alive,
			      [FD_LOCK] = r->lock > 0 ? r->lock : -1};
	struct background_said said;

	if (check(r, e) || background_start_apart(be_supervisor, (void *)r, fds, FDS, &said, e))
		return -1;
	if (!*said.name)
		return failed(said.text, e);
	if (!r->quiet)
		fputs(said.text, stderr);
	memcpy(name, said.name, SANDBOX_NAME_SIZE);
	return 0;
}

/* --- the end --- */

static int await_end(const char *name, struct err *e)
{
	mono_t end = mono_add_ms(mono_now(), END_MS);
	struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int rc;

	while ((rc = registry_find(name, e)) == 1) {
		if (!mono_before(mono_now(), end))
			return err_set(e, "%s: it has not ended; its supervisor still runs", name);
		nanosleep(&step, NULL);
	}
	return rc;
}

/* One that ends by itself meanwhile is no failure. */
static int ask_for_end(const char *name, struct err *e)
{
	json_t *request = json_pack("{s:s, s:i}", "op", "stop", "ms", 0);
	json_t *answer = request ? client_request(name, request, ASK_MS, e) : NULL;
	int rc = answer ? 0 : registry_find(name, &(struct err){""}) == 0 ? 0 : -1;

	if (!request)
		err_set(e, "out of memory");
	json_decref(request);
	json_decref(answer);
	return rc;
}

static int check_attached(const char *name, struct err *e)
{
	json_t *row = client_ask(name, "ls", e);
	bool attached = json_is_true(json_object_get(row, "attached"));

	if (!row)
		return -1;
	json_decref(row);
	return attached ? 0
			: err_set(e, "%s: it was not attached; end it with: sandgate stop %s", name,
				  name);
}

int attach_end(const char *name, struct err *e)
{
	int rc = registry_find(name, e);

	if (rc <= 0)
		return rc ? -1 : -ENOENT;
	return check_attached(name, e) || ask_for_end(name, e) ? -1 : await_end(name, e);
}
