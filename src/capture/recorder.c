/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The kernel writes frames into a ring of blocks and hands a block over when it is full, or
 * CAPTURE_RETIRE_MS after its first frame. Then, in this order: what the gate has decided is read
 * into the table, the keys of the broker go into the file, and the frames of the block follow, in
 * the order of the link. A frame that asks for a decision (a SYN, a datagram, a lookup, an echo)
 * and has none waits, RECORDER_PATIENCE_MS at most, and all behind it with it; not when another
 * block has been handed over meanwhile, since a ring that runs full loses frames.
 *
 * A segment that is full is ended with its statistics, and the next begins. The supervisor opens
 * files: it is asked when half of a segment is written, so that the ring need not wait for it.
 *
 *	running --stop--> stopping --the block of now has come--> ended
 *	   +------ the last segment is full, a disk that is ------> ended
 *
 * A stop takes all frames of before: their block is handed over CAPTURE_RETIRE_MS later at most. A
 * supervisor that is gone ends the capture with what there is. Nobody waits for the recorder:
 * neither the gate nor the kernel; what was lost for that is counted, and stands in the file.
 */
#include "capture/recorder.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include "airlock/capture_ring.h"
#include "capture/checksum.h"
#include "capture/recorder_state.h"

enum { STOP_MS = 3 * CAPTURE_RETIRE_MS };

int64_t recorder_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- segments ---- */

/* Reading them sets them to zero (packet(7)). */
static void read_statistics(struct recorder *r)
{
	struct tpacket_stats_v3 s;
	socklen_t n = sizeof(s);

	if (getsockopt(RECORDER_SOCKET, SOL_PACKET, PACKET_STATISTICS, &s, &n) != 0)
		return;
	r->received += s.tp_packets;
	r->dropped += s.tp_drops;
	r->lost += s.tp_drops;
	r->counters->dropped += s.tp_drops;
}

/* 0 or -errno; `op` is what the supervisor is told, with its numbers. */
static int end_segment(struct recorder *r, json_t *told)
{
	struct pcapng_statistics s = {.ended_ns = (uint64_t)recorder_wall_ns()};
	int error;

	read_statistics(r);
	s.received = r->received;
	s.dropped = r->dropped;
	error = capture_file_end(&r->file, &s);
	r->counters->octets += r->file.size;
	json_object_set_new(told, "frames", json_integer((json_int_t)s.written));
	json_object_set_new(told, "dropped", json_integer((json_int_t)s.dropped));
	json_object_set_new(told, "octets", json_integer((json_int_t)r->file.size));
	r->received = r->dropped = 0;
	requests_say(r->control, told);
	return error;
}

void recorder_end(struct recorder *r, const char *why, const char *more)
{
	if (r->ended)
		return;
	r->ended = true;
	(void)!end_segment(
		r, json_pack("{s:s, s:s, s:s?}", "op", "stopped", "why", why, "more", more));
	loop_stop(r->loop);
}

static void end_for_error(struct recorder *r, int error)
{
	bool full = error == -ENOSPC || error == -EDQUOT;

	recorder_end(r, full ? "disk-full" : "write-error", strerror(-error));
}

static int begin_segment(struct recorder *r, int file)
{
	r->segment++;
	r->asked = false;
	return capture_file_begin(&r->file, file, r->setup->max_octets, r->setup->sandbox,
				  (uint64_t)recorder_wall_ns());
}

static void ask_for_file(struct recorder *r)
{
	if (r->asked || r->next_file >= 0 || r->segment == r->setup->files)
		return;
	r->asked = true;
	requests_say(r->control, json_pack("{s:s}", "op", "want"));
}

/* False: there is no other segment, or not yet. */
static bool rotate(struct recorder *r)
{
	int file = r->next_file, error = capture_file_flush(&r->file);

	if (error == 0 && r->segment == r->setup->files) {
		recorder_end(r, "limit", NULL);
		return false;
	}
	ask_for_file(r);
	if (error == 0 && file < 0) {
		/* There will be none. */
		if (r->stopping)
			recorder_end(r, "asked", NULL);
		return false;
	}
	r->next_file = -1;
	if (error == 0)
		error = end_segment(r, json_pack("{s:s}", "op", "closed"));
	if (error == 0)
		error = begin_segment(r, file);
	if (error != 0)
		end_for_error(r, error);
	return error == 0;
}

/* ---- frames ---- */

static bool may_wait(struct recorder *r, int64_t ms)
{
	mono_t until = mono_add_ms(r->block_at, ms);

	if (r->stopping || packet_ring_next_ready(r->ring) || !mono_before(mono_now(), until))
		return false;
	return loop_timer_set(r->loop, &r->patience, until);
}

static uint32_t flags_of(const struct ring_frame *f)
{
	switch (f->type) {
	case PACKET_OUTGOING:
		return PCAPNG_OUTBOUND;
	case PACKET_HOST:
		return PCAPNG_INBOUND | PCAPNG_UNICAST;
	case PACKET_BROADCAST:
		return PCAPNG_INBOUND | PCAPNG_BROADCAST;
	case PACKET_MULTICAST:
		return PCAPNG_INBOUND | PCAPNG_MULTICAST;
	default:
		return PCAPNG_INBOUND | PCAPNG_PROMISCUOUS;
	}
}

/* Who has CAP_NET_ADMIN inside can make segments of half a megabyte (gso_max_size). */
static uint32_t captured_of(const struct ring_frame *f)
{
	return (uint32_t)(f->octets.n < PCAPNG_CAPTURED_MAX ? f->octets.n : PCAPNG_CAPTURED_MAX);
}

static int write_frame(struct recorder *r, const struct ring_frame *f, struct pcapng_packet *p)
{
	int error = capture_file_add(&r->file, p, span_of(f->octets.p, p->captured));

	if (error == 0 && f->is_copy)
		error = capture_file_flush(&r->file);
	if (error != 0) {
		end_for_error(r, error);
		return error;
	}
	r->lost = 0;
	r->counters->frames++;
	if (strcmp(p->comment, COMMENT_UNDECIDED) == 0)
		r->counters->undecided++;
	if (r->file.size > r->setup->max_octets / 2)
		ask_for_file(r);
	return 0;
}

/* False: it stays where it is, for now or for good. */
static bool take_frame(struct recorder *r, const struct ring_frame *f)
{
	const struct seen_frame seen = {.octets = f->octets,
					.from_sandbox = f->type != PACKET_OUTGOING,
					.to_here = f->type == PACKET_HOST,
					.time_ns = f->time_ns};
	char comment[PCAPNG_COMMENT_MAX];
	struct pcapng_packet p = {.time_ns = (uint64_t)f->time_ns,
				  .captured = captured_of(f),
				  .length = f->length,
				  .flags = flags_of(f),
				  .lost = r->lost,
				  .comment = comment};
	struct frame parsed;

	frame_parse(f->octets, &parsed);
	if (!comment_make(&r->commentator, &seen, &parsed, comment) &&
	    may_wait(r, RECORDER_PATIENCE_MS))
		return false;
	if (f->open)
		checksum_complete(&parsed, f->open);
	if (!capture_file_has_room(&r->file, pcapng_packet_octets(&p)) && !rotate(r))
		return false;
	return write_frame(r, f, &p) == 0;
}

static bool is_beyond_stop(const struct recorder *r, const struct ring_frame *f)
{
	return r->stopping && f->time_ns > r->stop_at;
}

static void begin_block(struct recorder *r)
{
	if (r->in_block)
		return;
	r->in_block = true;
	r->block_at = mono_now();
	if (packet_ring_losing(r->ring))
		read_statistics(r);
}

/* False: not all of the block could be taken. */
static bool take_block(struct recorder *r)
{
	struct ring_frame f;
	int error;

	begin_block(r);
	/* A key of TLS 1.2 is made when the frames that it opens are under way already. */
	if (r->keys.fd >= 0 && may_wait(r, RECORDER_KEYS_MS))
		return false;
	while (packet_ring_look(r->ring, &f)) {
		if (is_beyond_stop(r, &f)) {
			recorder_end(r, "asked", NULL);
			return false;
		}
		if (!take_frame(r, &f))
			return false;
		packet_ring_pass(r->ring);
	}
	error = capture_file_flush(&r->file);
	if (error != 0)
		end_for_error(r, error);
	packet_ring_release(r->ring);
	r->in_block = false;
	return error == 0;
}

static void work(void *ctx)
{
	struct recorder *r = ctx;
	bool taken = true;

	while (!r->ended && taken && packet_ring_ready(r->ring)) {
		recorder_hear(r);
		taken = !r->ended && take_block(r);
	}
	if (!r->ended && taken && r->stopping && !mono_before(mono_now(), r->stop_by))
		recorder_end(r, "asked", NULL);
}

void recorder_stop(struct recorder *r)
{
	if (r->stopping)
		return;
	r->stopping = true;
	r->stop_at = recorder_wall_ns();
	r->stop_by = mono_add_ms(mono_now(), STOP_MS);
	loop_timer_cancel(r->loop, &r->patience);
	loop_timer_set(r->loop, &r->patience, r->stop_by);
}

/* ---- from begin to end ---- */

/* The work of a turn is done at its end, whatever has begun it. */
static void frames_ready(struct watch *w, uint32_t events)
{
}

static void patience_over(struct timer *t)
{
}

static int make_parts(struct recorder *r, const struct recorder_setup *s, struct err *e)
{
	uint64_t key[2];

	r->loop = loop_new(4);
	if (getrandom(key, sizeof(key), 0) != sizeof(key) || !r->loop)
		return err_set(e, "cannot start the recorder: %s", err_why(errno));
	r->commentator.verdicts = verdict_table_new(key);
	r->commentator.link = s->link;
	r->ring = packet_ring_map(RECORDER_SOCKET, e);
	if (!r->ring)
		return -1;
	loop_set_after_turn(r->loop, work, r);
	/* Edge-triggered: a block that waits for a verdict stays readable. */
	if (!r->commentator.verdicts || !recorder_control_begin(r, RECORDER_CONTROL) ||
	    loop_add(r->loop, &r->frames, RECORDER_SOCKET, EPOLLIN | EPOLLET) != 0 ||
	    recorder_follow_gate(r, RECORDER_VERDICTS) != 0 ||
	    (s->keys >= 0 && recorder_follow_broker(r, RECORDER_KEYS) != 0))
		return err_set(e, "cannot start the recorder: out of memory");
	return recorder_confine_fully(e);
}

static int begin(struct recorder *r, const struct recorder_setup *s, struct err *e)
{
	int error;

	r->setup = s;
	r->counters = s->counters;
	r->next_file = -1;
	r->file.fd = -1;
	r->frames = (struct watch){.ready = frames_ready, .fd = -1};
	r->verdicts.fd = r->keys.fd = -1;
	r->patience.expired = patience_over;
	if (make_parts(r, s, e) != 0)
		return -1;
	error = begin_segment(r, RECORDER_FILE);
	return error ? err_set(e, "the file of the capture: %s", err_why(-error)) : 0;
}

/*
 * What the ring has, and the block of now, which is handed over a moment later. The supervisor's end
 * is read at each turn, and keeps the loop turning meanwhile, STOP_MS.
 */
static void end_alone(struct recorder *r)
{
	r->stopping = true;
	r->stop_at = INT64_MAX;
	r->stop_by = mono_add_ms(mono_now(), STOP_MS);
	while (!r->ended && loop_run(r->loop) == 0)
		;
	recorder_end(r, "asked", NULL);
}

int recorder_main(const struct recorder_setup *s)
{
	static struct recorder recorder;
	struct err e = {""};
	int status;

	if (recorder_confine_early(s, &e) != 0) {
		requests_say_failed(s->control, &e);
		return EXIT_FAILURE;
	}
	signal(SIGPIPE, SIG_IGN);
	if (begin(&recorder, s, &e) != 0) {
		requests_say_failed(RECORDER_CONTROL, &e);
		return EXIT_FAILURE;
	}
	if (!requests_say(recorder.control, json_pack("{s:s}", "op", "ready")))
		return EXIT_FAILURE;
	status = loop_run(recorder.loop);
	end_alone(&recorder);
	return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
