/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_sources: what gate and broker tell the recorder. Neither is trusted. */
#include <errno.h>
#include <sys/socket.h>

#include "capture/recorder_state.h"

enum { AT_ONCE = 4096 }; /* messages: one that never stops talking must not hold up the frames */

/* ---- the gate ---- */

static void take_note(struct recorder *r, const struct verdict_note *n)
{
	if (!verdict_note_valid(n))
		return;
	verdict_table_put(r->commentator.verdicts, n);
	r->notes_lost = n->lost;
	r->counters->notes_lost = r->notes_lost_before + n->lost;
}

/* False: there is nothing more now, or it has ended. */
static bool hear_gate(struct recorder *r)
{
	struct verdict_note n;
	ssize_t got = recv(r->verdicts.fd, &n, sizeof(n), MSG_DONTWAIT | MSG_TRUNC);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		loop_close(r->loop, &r->verdicts);
		return false;
	}
	if ((size_t)got == sizeof(n))
		take_note(r, &n);
	return true;
}

/* ---- the broker ---- */

static void take_key(struct recorder *r, struct span line)
{
	if (!key_line_valid(line) ||
	    !capture_file_has_room(&r->file, line.n + PCAPNG_SECRETS_OVERHEAD + 1))
		return;
	if (capture_file_add_key(&r->file, line) == 0)
		r->counters->keys++;
}

static bool hear_broker(struct recorder *r)
{
	uint8_t line[KEY_LINE_MAX];
	ssize_t got = recv(r->keys.fd, line, sizeof(line), MSG_DONTWAIT | MSG_TRUNC);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		loop_close(r->loop, &r->keys);
		return false;
	}
	if ((size_t)got <= sizeof(line))
		take_key(r, span_of(line, (size_t)got));
	return true;
}

/* ---- both ---- */

void recorder_hear(struct recorder *r)
{
	for (int i = 0; i < AT_ONCE && r->verdicts.fd >= 0 && hear_gate(r); i++)
		;
	for (int i = 0; i < AT_ONCE && r->keys.fd >= 0 && hear_broker(r); i++)
		;
}

/* They are read where frames are looked at; without frames, here, so that no socket fills up. */
static void gate_ready(struct watch *w, uint32_t events)
{
	struct recorder *r = sg_container_of(w, struct recorder, verdicts);

	for (int i = 0; i < AT_ONCE && r->verdicts.fd >= 0 && hear_gate(r); i++)
		;
}

static void broker_ready(struct watch *w, uint32_t events)
{
	struct recorder *r = sg_container_of(w, struct recorder, keys);

	for (int i = 0; i < AT_ONCE && r->keys.fd >= 0 && hear_broker(r); i++)
		;
}

static int follow(struct recorder *r, struct watch *w, watch_fn *ready, int fd)
{
	if (w->fd >= 0)
		loop_close(r->loop, w);
	*w = (struct watch){.ready = ready, .fd = -1};
	return loop_add(r->loop, w, fd, EPOLLIN);
}

int recorder_follow_gate(struct recorder *r, int fd)
{
	r->notes_lost_before += r->notes_lost;
	r->notes_lost = 0;
	return follow(r, &r->verdicts, gate_ready, fd);
}

int recorder_follow_broker(struct recorder *r, int fd)
{
	return follow(r, &r->keys, broker_ready, fd);
}
