/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	none --prepare--> a file --begin--> on --"stopped", or the recorder's end--> closing --> none
 *
 * A segment is made here, with the person's rights, and handed to the recorder for writing alone; a
 * descriptor for reading stays here. When the recorder says that it has ended one, or has ended
 * itself, a child hashes the file, and with that it is in the audit log. The entry of the capture's
 * end comes after that of its last segment.
 *
 * What the recorder says comes also between a request and its answer, so it is kept until the loop
 * has its turn. Of the segments there are at most: the one that is written, the next, which is handed
 * out only when there is room for both to be closed, and those that are being hashed.
 *
 * A capture never stops a sandbox: whatever fails after the start ends the capture, with an entry
 * and a line to the person. A recorder that dies is not replaced: what it had not written is lost,
 * and a second capture, asked for by a person, says that there is a gap.
 */
#include "sandbox/log/capture_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "airlock/link.h"
#include "sandbox/log/log_notes.h"

static const uint64_t mib = UINT64_C(1024) * 1024;

/* Whatever the recorder wrote there. */
static json_int_t bounded(uint64_t n)
{
	return n > GATE_NUMBER_MAX ? GATE_NUMBER_MAX : (json_int_t)n;
}

/* ---- what the recorder says ---- */

static void keep_text(char *to, size_t size, const json_t *from)
{
	const char *text = json_string_value(from);

	snprintf(to, size, "%s", text ? text : "");
}

/* There are never more than the end of a segment and that of the capture. */
static void keep_said(struct capture_link *c, const json_t *m, bool last)
{
	struct capture_said *said = &c->said[c->n_said];

	if (c->n_said == sg_array_len(c->said))
		return;
	c->n_said++;
	said->frames = gate_link_number(m, NULL, "frames");
	said->dropped = gate_link_number(m, NULL, "dropped");
	said->octets = gate_link_number(m, NULL, "octets");
	said->last = last;
	keep_text(said->why, sizeof(said->why), json_object_get(m, "why"));
	keep_text(said->more, sizeof(said->more), json_object_get(m, "more"));
}

static void heard(void *ctx, const json_t *m)
{
	const char *op = json_string_value(json_object_get(m, "op"));
	struct capture_link *c = ctx;

	if (op && strcmp(op, "want") == 0)
		c->want = true;
	else if (op && strcmp(op, "closed") == 0)
		keep_said(c, m, false);
	else if (op && strcmp(op, "stopped") == 0)
		keep_said(c, m, true);
}

/* ---- files ---- */

static void close_segment(struct capture_segment *g)
{
	if (g->fd >= 0)
		close(g->fd);
	*g = CAPTURE_SEGMENT_NONE;
}

/* Never used: an empty file would only be a riddle. */
static void drop_segment(const struct capture_link *c, struct capture_segment *g)
{
	if (g->fd >= 0)
		pcap_place_remove(&c->place, g->number, g->fd);
	close_segment(g);
}

static int make_segment(struct capture_link *c, struct capture_segment *g, struct err *e)
{
	*g = CAPTURE_SEGMENT_NONE;
	g->fd = pcap_place_create(&c->place, c->made + 1, g->path, e);
	if (g->fd < 0)
		return -1;
	g->number = ++c->made;
	return 0;
}

/* The recorder may write the file, and not read it. */
static int open_for_writing(const struct capture_segment *g, struct err *e)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", g->fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? err_set(e, "%s: %s", g->path, err_why(errno)) : fd;
}

static size_t room_for_closing(const struct capture_link *c)
{
	size_t n = 0;

	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++)
		n += c->closing[i].fd < 0;
	return n;
}

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
	return pcap_place_open(&s->capture.place, r->file, &seen, e);
}

static bool is_over(const struct capture_link *c)
{
	return !capture_link_is_on(c) && c->now.fd < 0 &&
	       room_for_closing(c) == CAPTURE_CLOSING_MAX;
}

int capture_link_prepare(struct supervisor *s, const struct capture_request *r, uid_t who,
			 struct err *e)
{
	const struct settings *set = &s->options->sources->settings;
	struct capture_link *c = &s->capture;
	unsigned before = c->made;

	if (!r->file)
		return 0;
	if (!s->networked)
		return err_set(e, "--pcap: the network `none` has no link; take --net deny");
	if (open_place(s, r, e))
		return -1;
	if (r->again)
		pcap_place_take_another(&c->place);
	c->max_mb = r->max_mb ? r->max_mb : set->pcap_max_mb;
	c->files = r->files ? r->files : set->pcap_files;
	c->keys = r->keys || set->pcap_keys;
	c->who = who;
	c->made = 0;
	if (make_segment(c, &c->now, e) == 0)
		return 0;
	/* Then the last one is what there is to report of. */
	c->made = before;
	return -1;
}

static int make_shared(struct capture_link *c, struct err *e)
{
	void *p = mmap(NULL, sizeof(*c->counters), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return err_set(e, "the counters of a capture: %s", err_why(errno));
	if (c->counters)
		munmap(c->counters, sizeof(*c->counters));
	c->counters = p;
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

static void become_recorder(const void *setup, int control, pid_t supervisor)
{
	struct recorder_setup own = *(const struct recorder_setup *)setup;

	own.control = control;
	own.supervisor = supervisor;
	_exit(recorder_main(&own));
}

/* A pair that holds as many notes as the kernel lets it. */
static int make_pair(int pair[2], struct err *e)
{
	const int octets = 4 << 20;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return err_set(e, "a socket to the recorder: %s", err_why(errno));
	for (int i = 0; i < 2; i++)
		if (setsockopt(pair[i], SOL_SOCKET, SO_SNDBUFFORCE, &octets, sizeof(octets)))
			(void)!setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &octets, sizeof(octets));
	return 0;
}

static int start_recorder(struct supervisor *s, int socket, int verdicts, struct err *e)
{
	struct capture_link *c = &s->capture;
	_cleanup_fd_ int file = open_for_writing(&c->now, e);
	struct recorder_setup setup = {
		.sandbox = s->dir.name,
		.control = -1,
		.socket = socket,
		.file = file,
		.verdicts = verdicts,
		.keys = -1,
		.link = facts_of(s),
		.max_octets = c->max_mb * mib,
		.files = c->files,
		.counters = c->counters,
	};
	json_t *ready;

	if (file < 0)
		return -1;
	c->recorder.heard = heard;
	c->recorder.ctx = c;
	if (process_link_fork(&c->recorder, become_recorder, &setup, e))
		return -1;
	ready = process_link_await_ready(&c->recorder, e);
	json_decref(ready);
	if (!ready)
		return -1;
	await(c, c->recorder.control, EPOLLIN);
	await(c, c->recorder.pidfd, EPOLLIN);
	return 0;
}

static int begin_on(struct supervisor *s, int socket, struct err *e)
{
	struct capture_link *c = &s->capture;
	int pair[2], rc;

	if (make_shared(c, e) || make_pair(pair, e))
		return -1;
	c->n_said = 0;
	c->want = false;
	*c->why = 0;
	*c->more = 0;
	rc = start_recorder(s, socket, pair[0], e);
	close(pair[0]);
	if (rc) {
		close(pair[1]);
		drop_segment(c, &c->now);
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
		c->now.path);
	supervisor_say(&e);
}

int capture_link_begin(struct supervisor *s, struct err *e)
{
	struct capture_link *c = &s->capture;
	int rc;

	if (c->now.fd < 0)
		return 0;
	rc = begin_on(s, s->airlock.capture, e);
	close(s->airlock.capture);
	s->airlock.capture = -1;
	if (rc)
		return err_prefix(e, "--pcap");
	say_keys(c);
	return 0;
}

/* ---- gate and broker ---- */

int capture_link_for_gate(struct supervisor *s)
{
	struct capture_link *c = &s->capture;
	int pair[2], fd = c->to_gate;
	struct err e;

	c->to_gate = -1;
	if (fd >= 0 || !capture_link_is_on(c) || make_pair(pair, &e))
		return fd;
	if (process_link_tell(&c->recorder, json_pack("{s:s}", "op", "verdicts"), pair[0], &e)) {
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

	if (!capture_link_is_on(c) || !c->keys || !s->broker.ready || make_pair(pair, &e))
		return;
	if (process_link_tell(&c->recorder, json_pack("{s:s}", "op", "keys"), pair[0], &e) ||
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
	close_segment(g);
}

static struct capture_segment *free_place(struct capture_link *c)
{
	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++)
		if (c->closing[i].fd < 0)
			return &c->closing[i];
	return NULL;
}

/* The segment that was written is over, and the next is written, if there is one. */
static void end_segment(struct supervisor *s, const struct capture_said *said)
{
	struct capture_link *c = &s->capture;
	struct capture_segment *g = free_place(c);
	struct err e;

	if (!g || c->now.fd < 0)
		return;
	*g = c->now;
	c->now = CAPTURE_SEGMENT_NONE;
	g->frames = said->frames;
	g->dropped = said->dropped;
	g->octets = said->octets;
	if (!said->last) {
		c->now = c->next;
		c->next = CAPTURE_SEGMENT_NONE;
	}
	if (segment_hash_begin(&g->hash, g->fd, &e))
		note_segment(s, g, NULL);
	else
		/* Once: one that is done may have to wait for the one before it. */
		await(c, g->hash.pipe, EPOLLIN | EPOLLET);
}

static struct capture_segment *first_closing(struct capture_link *c)
{
	struct capture_segment *first = NULL;

	for (size_t i = 0; i < CAPTURE_CLOSING_MAX; i++) {
		struct capture_segment *g = &c->closing[i];

		if (g->fd >= 0 && (!first || g->number < first->number))
			first = g;
	}
	return first;
}

static bool is_hashed(const struct capture_segment *g)
{
	struct pollfd f = {.fd = g->hash.pipe, .events = POLLIN};

	return poll(&f, 1, 0) == 1;
}

/* In the order of the segments, whichever is hashed first. */
static void finish_hashes(struct supervisor *s)
{
	struct capture_segment *g;
	char sha256[SEGMENT_HASH_TEXT + 1];

	while ((g = first_closing(&s->capture)) && is_hashed(g)) {
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

	for (size_t i = 0; i < c->n_said; i++) {
		end_segment(s, &c->said[i]);
		if (c->said[i].last)
			set_end(c, c->said[i].why, c->said[i].more);
	}
	c->n_said = 0;
}

/* What it wrote last is whole blocks; what it counted is all that is known of them. */
static void bury_recorder(struct supervisor *s)
{
	struct capture_link *c = &s->capture;
	struct capture_said said = {.last = true,
				    .frames = bounded(c->counters->frames),
				    .dropped = bounded(c->counters->dropped)};
	struct err how;

	await_no_more(c, c->recorder.control);
	await_no_more(c, c->recorder.pidfd);
	process_link_bury(&c->recorder, &how);
	if (c->now.fd >= 0) {
		*c->why = 0;
		set_end(c, "recorder-ended", how.text);
		end_segment(s, &said);
	}
	c->made -= c->next.fd >= 0;
	drop_segment(c, &c->next);
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

	if (!is_over(c) || c->place.folder < 0)
		return;
	pcap_place_close(&c->place);
	log_note_pcap_stop(s);
	say_end(s);
}

/* ---- in the loop ---- */

/* The recorder has been told to end; why is known here. */
static void stop_recorder(struct capture_link *c, const char *why, const char *more)
{
	set_end(c, why, more);
	json_decref(process_link_ask(&c->recorder, json_pack("{s:s}", "op", "stop"),
				     PROCESS_ANSWER_MS));
}

static void hand_out_next(struct capture_link *c)
{
	struct err e;
	_cleanup_fd_ int file = -1;

	if (make_segment(c, &c->next, &e)) {
		stop_recorder(c, "no-file", e.text);
		return;
	}
	file = open_for_writing(&c->next, &e);
	if (file >= 0 &&
	    process_link_tell(&c->recorder, json_pack("{s:s}", "op", "segment"), file, &e) == 0)
		return;
	c->made--;
	drop_segment(c, &c->next);
	stop_recorder(c, "no-file", e.text);
}

static bool has_ended(const struct process_link *l)
{
	struct pollfd f = {.fd = l->pidfd, .events = POLLIN};

	return poll(&f, 1, 0) == 1;
}

void capture_link_serve(struct supervisor *s)
{
	struct capture_link *c = &s->capture;
	bool on = capture_link_is_on(c), ended = on && has_ended(&c->recorder);

	if (on)
		process_link_hear(&c->recorder);
	take_said(s);
	if (ended)
		bury_recorder(s);
	else if (on && c->want && c->next.fd < 0 && room_for_closing(c) >= 2) {
		c->want = false;
		hand_out_next(c);
	}
	finish_hashes(s);
	finish(s);
}

/* ---- requests of a person ---- */

static json_t *error(const struct err *e)
{
	return json_pack("{s:s}", "error", e->text);
}

/* The frames of before the gate was told may stay undecided; what is open is told of at once. */
static int begin_live(struct supervisor *s, struct err *e)
{
	int socket = airlock_open_capture(&s->airlock, e), fd, rc;

	if (socket < 0)
		return -1;
	rc = begin_on(s, socket, e);
	close(socket);
	if (rc)
		return -1;
	fd = capture_link_for_gate(s);
	if (process_link_tell(&s->gate.process, json_pack("{s:s}", "op", "recorder"), fd, e)) {
		err_prefix(e, "the capture has no verdicts");
		supervisor_say(e);
	}
	close(fd);
	capture_link_pair_broker(s);
	return 0;
}

static bool read_request(const json_t *o, struct capture_request *r)
{
	const json_t *max = json_object_get(o, "max_mb"), *files = json_object_get(o, "files");

	*r = (struct capture_request){
		.file = json_string_value(json_object_get(o, "file")),
		.max_mb = (uint64_t)json_integer_value(max),
		.files = (uint64_t)json_integer_value(files),
		.keys = json_is_true(json_object_get(o, "keys")),
	};
	return r->file && *r->file == '/' && r->max_mb <= CAPTURE_MAX_MB_MOST &&
	       r->files <= CAPTURE_FILES_MOST;
}

json_t *capture_link_answer_start(struct supervisor *s, const json_t *request,
				  const struct ucred *who)
{
	struct capture_link *c = &s->capture;
	struct capture_request r;
	struct err e;

	if (!read_request(request, &r))
		return json_pack("{s:s}", "error", "that is no request for a capture");
	if (!is_over(c) || c->place.folder >= 0)
		return json_pack("{s:s}", "error",
				 "a capture is under way; end it first, with --stop");
	if (capture_link_prepare(s, &r, who->uid, &e) == 0 && begin_live(s, &e) == 0)
		return json_pack("{s:s, s:b}", "file", c->now.path, "keys", c->keys);
	drop_segment(c, &c->now);
	pcap_place_close(&c->place);
	return error(&e);
}

json_t *capture_link_answer_stop(struct supervisor *s)
{
	struct capture_link *c = &s->capture;

	if (is_over(c))
		return json_pack("{s:s}", "error", "no capture is under way");
	if (capture_link_is_on(c))
		stop_recorder(c, "asked", "");
	return json_object();
}

json_t *capture_link_report(const struct supervisor *s)
{
	const struct capture_link *c = &s->capture;
	const struct recorder_counters *n = c->counters;

	if (!n)
		return NULL;
	return json_pack("{s:b, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "on",
			 c->place.folder >= 0, "file", c->now.fd >= 0 ? c->now.path : NULL,
			 "segments", (json_int_t)c->made, "frames", bounded(n->frames), "octets",
			 bounded(n->octets), "dropped", bounded(n->dropped), "undecided",
			 bounded(n->undecided), "verdicts_lost", bounded(n->notes_lost), "keys",
			 bounded(n->keys), "ended", c->place.folder < 0 && *c->why ? c->why : NULL);
}

/* ---- the end of the sandbox ---- */

static void await_end(struct supervisor *s)
{
	mono_t until = mono_add_ms(mono_now(), CAPTURE_END_MS);
	struct capture_link *c = &s->capture;
	int64_t left;

	while (!is_over(c) && (left = mono_ms_until(mono_now(), until)) > 0) {
		struct pollfd f = {.fd = c->events, .events = POLLIN};

		poll(&f, 1, (int)left);
		capture_link_serve(s);
	}
}

void capture_link_close(struct supervisor *s)
{
	struct capture_link *c = &s->capture;

	if (capture_link_is_on(c)) {
		stop_recorder(c, "sandbox-ended", "");
		await_end(s);
	} else if (c->events >= 0) {
		await_end(s);
	}
	if (capture_link_is_on(c))
		process_link_leave(&c->recorder);
	/* One that was made for a sandbox that has not started. */
	if (c->events < 0)
		drop_segment(c, &c->now);
	close_segment(&c->now);
	drop_segment(c, &c->next);
	pcap_place_close(&c->place);
	if (c->counters)
		munmap(c->counters, sizeof(*c->counters));
	if (c->events >= 0)
		close(c->events);
	*c = CAPTURE_LINK_NONE;
}
