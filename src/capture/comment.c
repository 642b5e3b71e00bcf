/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/comment.h"

#include <stdio.h>

static const char *const words[VERDICT_KINDS] = {
	[VERDICT_PENDING] = "pending",
	[VERDICT_ALLOW] = "allow",
	[VERDICT_DENY] = "deny",
	[VERDICT_GATE] = "gate",
};

static void write_fixed(char out[PCAPNG_COMMENT_MAX], const char *what, const char *text)
{
	snprintf(out, PCAPNG_COMMENT_MAX, "%s: %s", what, text);
}

/* ---- fragments ---- */

static void keep_fragment(struct commentator *c, const struct frame *f, const struct tuple *t)
{
	struct first_fragment *at = &c->fragment[c->fragments++ % FIRST_FRAGMENTS];

	*at = (struct first_fragment){f->src, f->dst, f->fragment_id, *t};
}

static bool find_fragment(const struct commentator *c, const struct frame *f, struct tuple *out)
{
	for (size_t i = 0; i < FIRST_FRAGMENTS; i++) {
		const struct first_fragment *at = &c->fragment[i];

		if (at->id != f->fragment_id || !addr_equal(&at->src, &f->src) ||
		    !addr_equal(&at->dst, &f->dst))
			continue;
		*out = at->tuple;
		return true;
	}
	return false;
}

/* A piece of a packet has the verdict of the first. */
static bool tuple_of(struct commentator *c, const struct frame *f, bool from_sandbox,
		     struct tuple *out)
{
	if (f->later)
		return find_fragment(c, f, out);
	if (!frame_tuple(f, from_sandbox, out))
		return false;
	if (f->is_fragment)
		keep_fragment(c, f, out);
	return true;
}

/* ---- verdicts ---- */

static bool is_gate(const struct commentator *c, const struct addr *a)
{
	return addr_equal(a, &c->link.addresses.gate_v4) ||
	       addr_equal(a, &c->link.addresses.gate_v6);
}

/* As it stands, and, to a port of the gate's own, by its near end. */
static const struct told_verdict *find_verdict(const struct commentator *c, const struct tuple *t)
{
	const struct told_verdict *v = verdict_table_find(c->verdicts, t);
	struct tuple near = *t;

	if (v || t->proto != IPPROTO_TCP || !is_gate(c, &t->far))
		return v;
	near.far = (struct addr){{0}};
	near.far_port = 0;
	return verdict_table_find(c->verdicts, &near);
}

/* What goes to the sandbox of what was refused, and every answer to a lookup, the gate wrote. */
static void write_verdict(char out[PCAPNG_COMMENT_MAX], const struct told_verdict *v,
			  bool from_sandbox)
{
	bool gates_own = !from_sandbox && (v->kind == VERDICT_DENY || v->tuple.lookup);

	snprintf(out, PCAPNG_COMMENT_MAX, "%s%s: %s", gates_own ? "gate: " : "", words[v->kind],
		 v->text);
}

/* Does the gate decide something when it gets this one, if it has not yet? */
static bool asks(const struct frame *f, bool from_sandbox)
{
	return from_sandbox && (f->proto != IPPROTO_TCP || frame_is_syn(f));
}

/* The segment that opens a connection asks anew, whatever was said of an earlier one. */
static bool is_stale(const struct seen_frame *s, const struct frame *f,
		     const struct told_verdict *v)
{
	return v && s->from_sandbox && frame_is_syn(f) && v->time_ns < s->time_ns;
}

/* Nothing goes to the sandbox unasked but what a published port, or the door for others, lets in. */
static bool is_opened_from_outside(const struct commentator *c, const struct seen_frame *s,
				   const struct frame *f)
{
	if (s->from_sandbox)
		return false;
	return f->proto == IPPROTO_TCP ? frame_is_syn(f) : c->link.inbound;
}

static const struct told_verdict *note_opened(struct commentator *c, const struct seen_frame *s,
					      const struct tuple *t)
{
	struct verdict_note n = {.tuple = *t,
				 .time_ns = s->time_ns,
				 .kind = VERDICT_ALLOW,
				 .text = "opened from outside"};

	verdict_table_put(c->verdicts, &n);
	return verdict_table_find(c->verdicts, t);
}

static bool comment_packet(struct commentator *c, const struct seen_frame *s, const struct frame *f,
			   char out[PCAPNG_COMMENT_MAX])
{
	const struct told_verdict *v;
	struct tuple t;

	if (f->malformed) {
		write_fixed(out, "deny", "malformed packet");
		return true;
	}
	if (!tuple_of(c, f, s->from_sandbox, &t)) {
		strcpy(out, COMMENT_UNDECIDED);
		return true;
	}
	v = find_verdict(c, &t);
	if (!v && is_opened_from_outside(c, s, f))
		v = note_opened(c, s, &t);
	if (v)
		write_verdict(out, v, s->from_sandbox);
	else
		strcpy(out, COMMENT_UNDECIDED);
	return (v && !is_stale(s, f, v)) || !asks(f, s->from_sandbox);
}

bool comment_make(struct commentator *c, const struct seen_frame *s, const struct frame *f,
		  char out[PCAPNG_COMMENT_MAX])
{
	enum noise n = s->from_sandbox ? noise_of(&c->link, f, s->to_here) : NOISE_NONE;
	const char *service;

	if (n != NOISE_NONE) {
		write_fixed(out, "noise", noise_text(n));
		return true;
	}
	service = noise_link_service(&c->link, f);
	if (service) {
		write_fixed(out, "link", service);
		return true;
	}
	n = s->from_sandbox ? noise_at_gate(f) : NOISE_NONE;
	if (n != NOISE_NONE) {
		write_fixed(out, "noise", noise_text(n));
		return true;
	}
	if (f->kind == FRAME_IPV4 || f->kind == FRAME_IPV6)
		return comment_packet(c, s, f, out);
	write_fixed(out, "link", "ethertype not carried");
	return true;
}
