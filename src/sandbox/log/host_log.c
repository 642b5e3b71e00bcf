/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/host_log.h"

#include <errno.h>
#include <string.h>

#include "audit/log.h"
#include "audit/origin.h"
#include "sandbox/private_dir.h"
#include "sandbox/state_dir.h"

static int open_folder(bool make, struct err *e)
{
	int base = state_dir_open(make, e), fd;

	if (base < 0)
		return base;
	fd = private_dir_open(base, "host", make);
	close(base);
	if (fd < 0 && fd != -ENOENT)
		return err_set(e, "the folder of the host's log: %s", err_why(-fd));
	return fd;
}

int host_log_open(struct err *e)
{
	return open_folder(false, e);
}

static int append(struct audit_log *log, json_t *entry)
{
	int r = audit_log_append(log, entry);

	return r < 0 ? r : audit_log_commit(log, true);
}

int host_log_append(json_t *entry, struct err *e)
{
	char origin[ORIGIN_MAX];
	const struct audit_log_options o = {.origin = origin};
	_cleanup_fd_ int dir = open_folder(true, e);
	struct audit_log *log;
	int r;

	origin_make(NULL, origin);
	log = dir < 0 ? NULL : audit_log_open(dir, &o, e);
	if (!log) {
		json_decref(entry);
		return err_prefix(e, "the host's log");
	}
	r = append(log, entry);
	audit_log_close(log);
	return r < 0 ? err_set(e, "the host's log: cannot be written: %s", err_why(-r)) : 0;
}

/* ---- What it says of sandboxes ---- */

static bool is_action(const json_t *entry, const char *action)
{
	const char *is = json_string_value(json_object_get(entry, "action"));

	return is && strcmp(is, action) == 0;
}

static void learn(json_t *known, const char *sandbox, json_t *entry)
{
	json_t *checkpoint = json_object_get(entry, "checkpoint");
	bool removed = is_action(entry, "sandgate.sandbox.remove");
	json_t *all;

	if (is_action(entry, "sandgate.sandbox.create")) {
		json_object_del(known, sandbox);
		return;
	}
	/* The stop of one that is not kept: its log went with it. */
	if (!removed && !json_is_true(json_object_get(entry, "kept")))
		return;
	if (!removed && !json_is_string(checkpoint))
		return;
	all = json_incref(json_object_get(json_object_get(known, sandbox), "checkpoints"));
	all = all ? all : json_array();
	if (json_is_string(checkpoint))
		json_array_append(all, checkpoint);
	json_object_set_new(known, sandbox,
			    json_pack("{s:O,s:O?,s:b,s:o}", "time", json_object_get(entry, "time"),
				      "checkpoint", checkpoint, "removed", removed, "checkpoints",
				      all));
}

static bool take_entry(void *known, uint64_t seq, struct span line)
{
	json_t *entry = json_loadb((const char *)line.p, line.n, 0, NULL);
	const char *sandbox = json_string_value(json_object_get(entry, "sandbox"));

	if (sandbox)
		learn(known, sandbox, entry);
	json_decref(entry);
	return true;
}

json_t *host_log_read_known(struct err *e)
{
	_cleanup_fd_ int dir = host_log_open(e);
	json_t *known;

	if (dir < 0 && dir != -ENOENT)
		return NULL;
	known = json_object();
	if (dir >= 0 && audit_each(dir, 0, take_entry, known, e) < 0) {
		json_decref(known);
		return NULL;
	}
	return known;
}
