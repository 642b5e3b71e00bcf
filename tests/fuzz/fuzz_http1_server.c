/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first octet says in which steps the rest arrives from a client. However it arrives, the same
 * is told and answered; and what was judged is what a server behind the other codec reads.
 */
#include <stdlib.h>
#include <string.h>

#include "codec_relay.h"
#include "fuzz.h"
#include "http1_probe.h"

enum { TLS = 0x80, ENDS = 0x40, STEP_MASK = 0x3f };

static void check_cuts(struct span s, uint8_t mode)
{
	struct probe_way way = {.tls = mode & TLS, .ends = mode & ENDS};
	struct outcome whole = probe_server(s, way), cut;

	way.step = (mode & STEP_MASK) + 1u;
	cut = probe_server(s, way);
	if (!outcome_is_same(&whole, &cut))
		abort();
	outcome_free(&whole);
	outcome_free(&cut);
}

/* ---- What was judged is what is read behind ---- */

struct judged {
	struct text text;
	bool admits;
};

/* Without what frames it: a POST without a body is given a length of 0. */
static bool judge(void *ctx, struct message *m)
{
	struct judged *j = ctx;
	struct message plain = *m;

	plain.body = MESSAGE_BODY_NONE;
	text_add_message(&j->text, &plain);
	return j->admits;
}

static void open_judged(struct codec_relay *r, struct judged *j)
{
	relay_open(r, http1_server_new, http1_client_new);
	r->judge = judge;
	r->ctx = j;
}

static size_t carry(struct codec *from, struct codec *to)
{
	uint8_t memory[1024];
	struct buf out = buf_of(memory, sizeof(memory));
	size_t n = from->ops->produce(from, &out), at = 0, taken = 1;

	while (at < n && taken) {
		to->ops->receive(to, span_of(memory + at, n - at), &taken);
		at += taken;
	}
	return n;
}

static void drop(struct codec *from)
{
	uint8_t memory[1024];
	struct buf out;

	do
		out = buf_of(memory, sizeof(memory));
	while (from->ops->produce(from, &out));
}

/* Everything that can move does: requests to the server behind, its answers back. */
static void settle(struct codec_relay *front, struct codec_relay *behind)
{
	while (carry(front->client, behind->server) + carry(behind->server, front->client))
		drop(front->server);
	drop(front->server);
}

static void check_judged(struct span s)
{
	struct judged front = {.admits = true}, behind = {0};
	struct codec_relay a, b;
	size_t taken = 1;

	open_judged(&a, &front);
	open_judged(&b, &behind);
	for (size_t at = 0; at < s.n && taken; at += taken) {
		if (a.server->ops->receive(a.server, span_of(s.p + at, s.n - at), &taken))
			break;
		settle(&a, &b);
	}
	settle(&a, &b);
	if (front.text.n < behind.text.n ||
	    (behind.text.n && memcmp(front.text.p, behind.text.p, behind.text.n) != 0))
		abort();
	relay_close(&a);
	relay_close(&b);
	text_free(&front.text);
	text_free(&behind.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	check_cuts(span_of(data + 1, size - 1), data[0]);
	check_judged(span_of(data + 1, size - 1));
	return 0;
}
