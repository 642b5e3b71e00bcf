/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/log_link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/account.h"
#include "sandbox/log/log_folder.h"

static const uint64_t mib = UINT64_C(1024) * 1024;
static const char broker_ring_name[] = "ring-broker";

/* --- the ring --- */

/*
 * Of a passing sandbox it need not outlive the supervisor: memory, and only what is touched of it.
 */
static int open_ring_file(const struct log_link *l, const char *name, int create)
{
	int fd;

	if (l->setup.lasting)
		return openat(l->folder, name, O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, 0600);
	fd = memfd_create("sandgate-ring", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)ring_size()) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * One that cannot be read has next to nothing that the audit log does not have: the sealer raises
 * what is begun anew.
 */
static int map_ring(int file, struct ring **ring, struct err *e)
{
	if (file < 0)
		return err_set(e, "the ring of records: %s", err_why(errno));
	*ring = ring_map(file, e);
	if (!*ring && errno == EBADMSG && ftruncate(file, 0) == 0)
		*ring = ring_map(file, e);
	return *ring ? 0 : -1;
}

/* Its last writer may have been killed on its way to wake the sealer. */
static void mend(const struct log_link *l, struct ring *ring)
{
	const uint64_t one = 1;

	ring_mend(ring);
	if (write(l->wake, &one, sizeof(one)) < 0)
		errno = 0;
}

void log_link_mend(struct log_link *l)
{
	if (l->ring)
		mend(l, l->ring);
}

static int map_broker_ring(struct log_link *l, int create, struct err *e)
{
	l->broker_ring_file = open_ring_file(l, broker_ring_name, create);
	if (!create && l->broker_ring_file < 0 && errno == ENOENT)
		return 0;
	if (map_ring(l->broker_ring_file, &l->broker_ring, e))
		return -1;
	l->setup.broker_ring = l->broker_ring_file;
	return 0;
}

int log_link_prepare_broker(struct log_link *l, struct err *e)
{
	if (!l->broker_ring) {
		if (map_broker_ring(l, O_CREAT, e))
			return -1;
		sealer_set_broker_ring(l->sealer, l->broker_ring_file);
	}
	mend(l, l->broker_ring);
	return 0;
}

/* What brokers of earlier runs have counted belongs to the sum, whether one runs now or not. */
static int map_rings(struct log_link *l, struct err *e)
{
	l->ring_file = open_ring_file(l, "ring", O_CREAT);
	if (map_ring(l->ring_file, &l->ring, e) || (l->setup.lasting && map_broker_ring(l, 0, e)))
		return -1;
	ring_mend(l->ring);
	if (l->broker_ring)
		ring_mend(l->broker_ring);
	l->setup.ring = l->ring_file;
	return 0;
}

/* --- the start --- */

int log_link_open(struct log_link *l, struct sealer *sealer, const struct runtime_dir *dir,
		  bool lasting, const struct sources *sources, struct err *e)
{
	l->sealer = sealer;
	l->anchor = (struct audit_anchor){
		.file = sources->settings.anchor_file,
		.command = sources->settings.anchor_command,
		.syslog = sources->settings.anchor_syslog,
	};
	l->folder = log_folder_make(&dir->registry, dir->name, lasting, log_beyond_killed, e);
	if (l->folder < 0)
		return -1;
	l->setup = (struct sealer_setup){
		.sandbox = dir->name,
		.folder = l->folder,
		.catalogue = sources->catalogue,
		.lasting = lasting,
		.broker_ring = -1,
		.alone = true,
		.connections_bytes = sources->settings.connections_mb * mib,
		.keep_segments = sources->settings.audit_keep_segments,
		.tells = log_beyond_has_anchor(&l->anchor),
	};
	if (map_rings(l, e))
		return -1;
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0)
		return err_set(e, "a descriptor for the sealer: %s", err_why(errno));
	l->setup.wake = l->wake;
	return sealer_start(l->sealer, &l->setup, e);
}

int log_link_renew(struct log_link *l, struct err *e)
{
	sealer_bury(l->sealer, e);
	if (!restarts_allow(&l->restarts, mono_now()))
		return err_prefix(e,
				  "the logs cannot be kept, the sealer has ended %d times in %d s",
				  RESTARTS_MAX + 1, RESTARTS_MS / 1000);
	/* Refused only when thousands of notes wait, of which this is the least. */
	(void)!sealer_note(l->sealer,
			   json_pack("{s:s, s:s, s:s}", "action", "sandgate.sealer.restart",
				     "sandbox", l->setup.sandbox, "why", e->text));
	l->setup.alone = false;
	return sealer_start(l->sealer, &l->setup, e);
}

static json_t *totals_of(const struct log_link *l)
{
	uint64_t counts[ACCOUNTS] = {0};
	struct record_totals t;

	ring_read_totals(l->ring, &t);
	account_add_totals(counts, &t, false);
	if (l->broker_ring) {
		ring_read_totals(l->broker_ring, &t);
		account_add_totals(counts, &t, true);
	}
	return account_print(counts);
}

/* --- anchors --- */

void log_link_anchor(struct log_link *l)
{
	mono_t now = mono_now();

	if (!log_beyond_has_anchor(&l->anchor))
		return;
	if (l->anchoring > 0 && waitpid(l->anchoring, NULL, WNOHANG) == l->anchoring)
		l->anchoring = 0;
	if (l->anchoring > 0 || !l->sealer->fresh)
		return;
	l->sealer->fresh = false;
	if (mono_before(l->anchor_at, now))
		l->anchor_at = now;
	l->anchoring =
		log_beyond_start_anchoring(l->setup.sandbox, l->folder, &l->anchor, l->anchor_at);
	l->anchor_at = mono_add_ms(l->anchor_at, LOG_BEYOND_ANCHOR_MS);
}

/* --- the end --- */

/* What would hand out an older checkpoint after the last. */
static void end_anchoring(struct log_link *l)
{
	if (l->anchoring <= 0)
		return;
	kill(l->anchoring, SIGKILL);
	waitpid(l->anchoring, NULL, 0);
}

static void say_farewell(const struct log_link *l, json_t *entry)
{
	json_object_set_new(entry, "totals", totals_of(l));
	log_beyond_end(l->setup.sandbox, l->folder, l->setup.lasting, entry, &l->anchor);
}

void log_link_close(struct log_link *l, json_t *entry)
{
	json_t *kept = json_deep_copy(entry);
	bool passing = l->folder >= 0 && !l->setup.lasting;

	if (entry && l->sealer)
		(void)!sealer_note(l->sealer, entry);
	if (l->sealer)
		sealer_stop(l->sealer, SEALER_STOP_MS);
	end_anchoring(l);
	if (kept && l->ring)
		say_farewell(l, json_incref(kept));
	json_decref(kept);
	if (passing)
		log_folder_remove(l->setup.sandbox);
	ring_unmap(l->ring);
	ring_unmap(l->broker_ring);
	if (l->ring_file >= 0)
		close(l->ring_file);
	if (l->broker_ring_file >= 0)
		close(l->broker_ring_file);
	if (l->wake >= 0)
		close(l->wake);
	if (l->folder >= 0)
		close(l->folder);
	*l = LOG_LINK_NONE;
}
