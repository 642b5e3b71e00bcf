/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	none --prepare--> a file --begin--> on --"stopped", or the recorder's end--> closing --> none
 *
 * A segment is made here, with the person's rights, and handed to the recorder for writing alone; a
 * descriptor for reading stays here. When the recorder says that it has ended one, or has ended
 * itself, a child hashes the file, and with that it is in the audit log. The entry of the capture's
 * end comes after that of its last segment. The next segment is handed out only when there is room
 * for both to be closed.
 *
 * A capture never stops a sandbox: whatever fails after the start ends the capture, with an entry
 * and a line to the person. A recorder that dies is not replaced: what it had not written is lost,
 * and a second capture, asked for by a person, says that there is a gap.
 */
#include "sandbox/log/capture_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "airlock/link.h"
#include "sandbox/log/log_notes.h"

static const uint64_t mib = UINT64_C(1024) * 1024;

/* ---- begin ---- */

static bool is_visible_workdir(const struct supervisor *s)
{
	return s->engine.class->link != AIRLOCK_TAP && s->engine.class->turn != ENGINE_NEVER;
}

static int open_place(struct supervisor *s, const struct capture_request *r, struct err *e)
{
	_cleanup_free_ char *cwd = getcwd(NULL, 0);
	struct pcap_seen seen = {.rw = s->options->rw, .ro = s->options->ro};

	if (is_visible_workdir(s))
		seen.workdir = s->options->workdir ? s->options->workdir : cwd;
	return pcap_place_open(&s->capture.segments.place, r->file, &seen, e);
}

bool capture_link_is_over(const struct capture_link *c)
{
	return !capture_link_is_on(c) && capture_segments_are_over(&c->segments);
}

/* Two sandboxes may want one name at one moment: one of them has it, the other asks again. */
static int make_first(struct capture_segments *l, bool again, struct err *e)
{
	int rc;

	do {
		if (again)
			pcap_place_take_another(&l->place);
		rc = capture_segments_make(l, &l->now, e);
	} while (rc < 0 && again && errno == EEXIST);
	return rc;
}

int capture_link_prepare(struct supervisor *s, const struct capture_request *r, uid_t who,
			 struct err *e)
{
	const struct settings *set = &s->options->sources->settings;
	struct capture_link *c = &s->capture;
	unsigned before = c->segments.made;

	if (!r->file)
		return 0;
	if (!s->networked)
		return err_set(e, "--pcap: the network `none` has no link; take --net deny");
	if (open_place(s, r, e))
		return -1;
	c->max_mb = r->max_mb ? r->max_mb : set->pcap_max_mb;
	c->files = r->files ? r->files : set->pcap_files;
	c->keys = r->keys || set->pcap_keys;
	c->who = who;
	c->segments.made = 0;
	if (make_first(&c->segments, r->again, e) == 0)
		return 0;
	/* Then the last one is what there is to report of. */
	c->segments.made = before;
	return -1;
}

static int make_events(struct capture_link *c, struct err *e)
{
	if (c->events < 0)
		c->events = epoll_create1(EPOLL_CLOEXEC);
	return c->events < 0 ? err_set(e, "a descriptor for a capture: %s", err_why(errno)) : 0;
}

static void await(const struct capture_link *c, int fd, uint32_t events)
{
	struct epoll_event v = {.events = events};

	if (fd >= 0)
		(void)!epoll_ctl(c->events, EPOLL_CTL_ADD, fd, &v);
}

/* Before it is closed: a child that has a copy would keep it there (epoll(7)). */
static void await_no_more(const struct capture_link *c, int fd)
{
	if (fd >= 0)
		(void)!epoll_ctl(c->events, EPOLL_CTL_DEL, fd, NULL);
}

static bool has_ipv6(void)
{
	_cleanup_fd_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0;
}

static struct link_facts facts_of(const struct supervisor *s)
{
	struct link_facts l = {
		.addresses = s->link.addresses ? *s->link.addresses : airlock_usual_addresses(),
		.v6 = has_ipv6(),
		.guest = s->link.link == AIRLOCK_TAP,
		.inbound = s->link.others == AIRLOCK_OTHERS_INBOUND,
	};

	memcpy(l.mac, s->link.mac ? s->link.mac : link_mac_sandbox, sizeof(l.mac));
	return l;
}

static int start_recorder(struct supervisor *s, int socket, int verdicts, struct err *e)
{
	struct capture_link *c = &s->capture;
	_cleanup_fd_ int file = capture_segment_open_for_writing(&c->segments.now, e);
	struct recorder_setup setup = {
		.sandbox = s->dir.name,
		.socket = socket,
		.file = file,
		.verdicts = verdicts,
		.link = facts_of(s),
		.max_octets = c->max_mb * mib,
		.files = c->files,
	};

	if (file < 0 || capture_recorder_start(&c->recorder, &setup, e))
		return -1;
	await(c, c->recorder.process.control, EPOLLIN);
	await(c, c->recorder.process.pidfd, EPOLLIN);
	return 0;
}

static int begin_on(struct supervisor *s, int socket, struct err *e)
{
	struct capture_link *c = &s->capture;
	int pair[2], rc;

	if (capture_recorder_make_counters(&c->recorder, e) || make_events(c, e) ||
	    capture_recorder_make_pair(pair, e))
		return -1;
	capture_recorder_forget(&c->recorder);
	*c->why = 0;
	*c->more = 0;
	rc = start_recorder(s, socket, pair[0], e);
	close(pair[0]);
	if (rc) {
		close(pair[1]);
		capture_segments_drop(&c->segments, &c->segments.now);
		return -1;
	}
	c->to_gate = pair[1];
	log_note_pcap_start(s);
	return 0;
}

static void say_keys(const struct capture_link *c)
{
	struct err e;

	if (!c->keys)
		return;
	err_set(&e,
		"the capture holds keys that open inspected connections (--pcap-keys): whoever "
		"has %s reads what the sandbox sent and got there",
		c->segments.now.path);
	supervisor_say(&e);
}

int capture_link_begin(struct supervisor *s, struct err *e)
{
	struct capture_link *c = &s->capture;
	int rc;

	if (c->segments.now.fd < 0)
		return 0;
	rc = begin_on(s, s->airlock.capture, e);
	close(s->airlock.capture);
	s->airlock.capture = -1;
	if (rc)
		return err_prefix(e, "--pcap");
	say_keys(c);
	return 0;
}

/* The frames of before the gate was told may stay undecided; what is open is told of at once. */
static void tell_gate_live(struct supervisor *s)
{
	int fd = capture_link_for_gate(s);
	struct err e;

	if (process_link_tell(&s->gate.process, json_pack("{s:s}", "op", "recorder"), fd, &e)) {
		err_prefix(&e, "the capture has no verdicts");
		supervisor_say(&e);
	}
	close(fd);
}

int capture_link_begin_live(struct supervisor *s, struct err *e)
{
	int socket = airlock_open_capture(&s->airlock, e), rc;

	if (socket < 0)
		return -1;
	rc = begin_on(s, socket, e);
	close(socket);
	if (rc)
		return -1;
	tell_gate_live(s);
	capture_link_pair_broker(s);
	return 0;
}

void capture_link_forget(struct capture_link *c)
{
	capture_segments_drop(&c->segments, &c->segments.now);
	pcap_place_close(&c->segments.place);
}

/* ---- gate and broker ---- */

int capture_link_for_gate(struct supervisor *s)
{
	struct capture_link *c = &s->capture;
	int pair[2], fd = c->to_gate;
	struct err e;

	c->to_gate = -1;
	if (fd >= 0 || !capture_link_is_on(c) || capture_recorder_make_pair(pair, &e))
		return fd;
	if (process_link_tell(&c->recorder.process, json_pack("{s:s}", "op", "verdicts"), pair[0],
			      &e)) {
		close(pair[1]);
		pair[1] = -1;
	}
	close(pair[0]);
	return pair[1];
}

void capture_link_pair_broker(struct supervisor *s)
{
	struct capture_link *c = &s->capture;
	int pair[2];
	struct err e;

	if (!capture_link_is_on(c) || !c->keys || !s->broker.ready ||
	    capture_recorder_make_pair(pair, &e))
		return;
	if (process_link_tell(&c->recorder.process, json_pack("{s:s}", "op", "keys"), pair[0],
			      &e) ||
	    process_link_tell(&s->broker.process, json_pack("{s:s}", "op", "keys"), pair[1], &e)) {
		err_prefix(&e, "the capture has no keys of inspected connections");
		supervisor_say(&e);
	}
	close(pair[0]);
	close(pair[1]);
}

/* ---- the end of a segment ---- */

static void note_segment(struct supervisor *s, struct capture_segment *g, const char *sha256)
{
	log_note_pcap_segment(s, g, sha256);
	capture_segment_close(g);
}

/* The segment that was written is over, and the next is written, if there is one. */
static void end_segment(struct supervisor *s, const struct capture_said *said)
{
	struct capture_link *c = &s->capture;
	struct capture_segment *g = capture_segments_turn(&c->segments, said->last);
	struct err e;

	if (!g)
		return;
	g->frames = said->frames;
	g->dropped = said->dropped;
	g->octets = said->octets;
	if (segment_hash_begin(&g->hash, g->fd, &e))
		note_segment(s, g, NULL);
	else
		/* Once: one that is done may have to wait for the one before it. */
		await(c, g->hash.pipe, EPOLLIN | EPOLLET);
}

/* In the order of the segments, whichever is hashed first. */
static void finish_hashes(struct supervisor *s)
{
	struct capture_segment *g;
	char sha256[SEGMENT_HASH_TEXT + 1];

	while ((g = capture_segments_first_hashed(&s->capture.segments))) {
		await_no_more(&s->capture, g->hash.pipe);
		note_segment(s, g, segment_hash_end(&g->hash, sha256) ? sha256 : NULL);
	}
}

/* ---- the end of the capture ---- */

static void set_end(struct capture_link *c, const char *why, const char *more)
{
	if (*c->why)
		return;
	snprintf(c->why, sizeof(c->why), "%.*s", (int)sizeof(c->why) - 1, why);
	snprintf(c->more, sizeof(c->more), "%.*s", (int)sizeof(c->more) - 1, more);
}

static void take_said(struct supervisor *s)
{
	struct capture_link *c = &s->capture;

	for (size_t i = 0; i < c->recorder.n_said; i++) {
		const struct capture_said *said = &c->recorder.said[i];

		end_segment(s, said);
		if (said->last)
			set_end(c, said->why, said->more);
	}
	c->recorder.n_said = 0;
}

static void bury_recorder(struct supervisor *s)
{
	struct capture_link *c = &s->capture;
	struct capture_said said;
	struct err how;

	await_no_more(c, c->recorder.process.control);
	await_no_more(c, c->recorder.process.pidfd);
	capture_recorder_bury(&c->recorder, &said, &how);
	if (c->segments.now.fd >= 0) {
		*c->why = 0;
		set_end(c, "recorder-ended", how.text);
		end_segment(s, &said);
	}
	capture_segments_take_back_next(&c->segments);
	if (c->to_gate >= 0)
		close(c->to_gate);
	c->to_gate = -1;
}

static void say_end(struct supervisor *s)
{
	const struct capture_link *c = &s->capture;
	struct err e;

	if (strcmp(c->why, "asked") == 0 || strcmp(c->why, "sandbox-ended") == 0)
		return;
	if (strcmp(c->why, "limit") == 0)
		err_set(&e,
			"the capture has ended: %llu files of %llu MB are full; the sandbox goes "
			"on, uncaptured",
			(unsigned long long)c->files, (unsigned long long)c->max_mb);
	else if (strcmp(c->why, "disk-full") == 0)
		err_set(&e,
			"the capture has ended: the disk is full, or nearly so; the sandbox goes "
			"on, uncaptured");
	else
		err_set(&e, "the capture has ended: %s; the sandbox goes on, uncaptured",
			*c->more ? c->more : c->why);
	supervisor_say(&e);
}

static void finish(struct supervisor *s)
{
	struct capture_link *c = &s->capture;

	if (!capture_link_is_over(c) || c->segments.place.folder < 0)
		return;
	pcap_place_close(&c->segments.place);
	log_note_pcap_stop(s);
	say_end(s);
}

/* ---- in the loop ---- */

void capture_link_stop(struct capture_link *c, const char *why, const char *more)
{
	set_end(c, why, more);
	json_decref(process_link_ask(&c->recorder.process, json_pack("{s:s}", "op", "stop"),
				     PROCESS_ANSWER_MS));
}

static void hand_out_next(struct capture_link *c)
{
	struct err e;
	_cleanup_fd_ int file = -1;

	if (capture_segments_make(&c->segments, &c->segments.next, &e)) {
		capture_link_stop(c, "no-file", e.text);
		return;
	}
	file = capture_segment_open_for_writing(&c->segments.next, &e);
	if (file >= 0 && process_link_tell(&c->recorder.process,
					   json_pack("{s:s}", "op", "segment"), file, &e) == 0)
		return;
	capture_segments_take_back_next(&c->segments);
	capture_link_stop(c, "no-file", e.text);
}

/* It asked for another file, and both that and the one before will find room to be hashed. */
static bool is_next_due(const struct capture_link *c)
{
	return c->recorder.want && c->segments.next.fd < 0 &&
	       capture_segments_room(&c->segments) >= 2;
}

void capture_link_serve(struct supervisor *s)
{
	struct capture_link *c = &s->capture;
	bool on = capture_link_is_on(c), ended = on && capture_recorder_has_ended(&c->recorder);

	if (on)
		process_link_hear(&c->recorder.process);
	take_said(s);
	if (ended)
		bury_recorder(s);
	else if (on && is_next_due(c)) {
		c->recorder.want = false;
		hand_out_next(c);
	}
	finish_hashes(s);
	finish(s);
}

/* ---- the end of the sandbox ---- */

static void await_end(struct supervisor *s, int64_t wait_ms)
{
	mono_t until = mono_add_ms(mono_now(), wait_ms);
	struct capture_link *c = &s->capture;
	int64_t left;

	while (!capture_link_is_over(c) && (left = mono_ms_until(mono_now(), until)) > 0) {
		struct pollfd f = {.fd = c->events, .events = POLLIN};

		poll(&f, 1, (int)left);
		capture_link_serve(s);
	}
}

void capture_link_close(struct supervisor *s)
{
	struct capture_link *c = &s->capture;

	if (capture_link_is_on(c))
		capture_link_stop(c, "sandbox-ended", "");
	if (c->events >= 0)
		await_end(s, CAPTURE_END_MS);
	/* One that hangs has written something: it is hashed, and both ends are in the audit log. */
	if (capture_link_is_on(c)) {
		process_link_kill(&c->recorder.process);
		await_end(s, CAPTURE_HANG_MS);
	}
	capture_recorder_free(&c->recorder);
	/* One that was made for a sandbox that has not started. */
	if (c->events < 0)
		capture_segments_drop(&c->segments, &c->segments.now);
	capture_segment_close(&c->segments.now);
	capture_segments_drop(&c->segments, &c->segments.next);
	pcap_place_close(&c->segments.place);
	if (c->events >= 0)
		close(c->events);
	*c = CAPTURE_LINK_NONE;
}
