/* SPDX-License-Identifier: Apache-2.0 */
#include "http1_probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* ---- Text ---- */

static void reserve(struct text *t, size_t more)
{
	if (t->n + more < t->cap)
		return;
	t->cap = (t->n + more + 1) * 2;
	t->p = realloc(t->p, t->cap);
	if (!t->p)
		abort();
}

void text_add(struct text *t, const void *p, size_t n)
{
	reserve(t, n);
	if (n)
		memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = 0;
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	reserve(t, 512);
	va_start(ap, fmt);
	n = vsnprintf(t->p + t->n, t->cap - t->n, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->cap - t->n)
		abort();
	t->n += (size_t)n;
}

void text_free(struct text *t)
{
	free(t->p);
	*t = (struct text){0};
}

static void add_span(struct text *t, struct span s)
{
	text_add(t, s.p, s.n);
	text_add(t, " ", 1);
}

static void add_target(struct text *t, const struct message *m)
{
	char address[ADDR_TEXT_MAX];

	add_span(t, m->method);
	add_span(t, m->path);
	text_add(t, m->scheme.p, m->scheme.n);
	text_add(t, "://", 3);
	add_span(t, m->authority);
	text_printf(t, "[%s:%u] ", m->has_host ? m->host.s : addr_format(&m->address, address),
		    m->port);
	if (m->protocol.n)
		add_span(t, m->protocol);
}

void text_add_message(struct text *t, const struct message *m)
{
	static const char *const bodies[] = {"none", "length", "stream"};

	if (m->status)
		text_printf(t, "%u ", m->status);
	else if (m->method.n)
		add_target(t, m);
	text_printf(t, "%s", bodies[m->body]);
	if (m->body == MESSAGE_BODY_LENGTH)
		text_printf(t, " %llu", (unsigned long long)m->length);
	text_printf(t, "%s\n", m->expects_continue ? " expects" : "");
	for (size_t i = 0; i < m->n_fields; i++) {
		text_add(t, "\t", 1);
		add_span(t, m->fields[i].name);
		text_add(t, m->fields[i].value.p, m->fields[i].value.n);
		text_add(t, "\n", 1);
	}
}

void outcome_free(struct outcome *o)
{
	text_free(&o->told);
	text_free(&o->sent);
}

static bool text_is_same(const struct text *a, const struct text *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

bool outcome_is_same(const struct outcome *a, const struct outcome *b)
{
	return text_is_same(&a->told, &b->told) && text_is_same(&a->sent, &b->sent) &&
	       a->error == b->error && a->persistent == b->persistent &&
	       a->finished == b->finished && a->cut == b->cut;
}

/* ---- The probe ---- */

struct probe {
	struct codec *codec;
	struct exchange x;
	bool open, answer_due;
	struct text body; /* of the exchange, so far */
	struct probe_way way;
	struct outcome *o;
};

static struct probe *probe_of(struct exchange *x)
{
	return sg_container_of(x, struct probe, x);
}

static void end_exchange(struct probe *p)
{
	p->open = false;
	body_free(&p->x.up);
	body_free(&p->x.down);
	memset(&p->x, 0, sizeof(p->x));
	text_free(&p->body);
}

static void tell_body(struct probe *p, const struct body *b, const char *how)
{
	text_printf(&p->o->told, "%s %zu: ", how, p->body.n);
	text_add(&p->o->told, p->body.p, p->body.n);
	text_add(&p->o->told, "\n", 1);
	if (b->trailers)
		text_add_message(&p->o->told, b->trailers);
	text_free(&p->body);
}

static void drain(struct probe *p, struct body *b)
{
	while (b->n) {
		struct span piece = body_peek(b);

		text_add(&p->body, piece.p, piece.n);
		body_take(b, piece.n);
	}
}

static void answer(struct probe *p, uint16_t status, const char *text)
{
	struct message m;

	message_init(&m);
	m.status = status;
	m.body = MESSAGE_BODY_LENGTH;
	m.length = strlen(text);
	body_put(&p->x.down, span_of_string(text));
	p->x.down.ended = true;
	p->codec->ops->send_answer(p->codec, &p->x, &m);
	message_free(&m);
}

static struct exchange *on_request(void *ctx, struct codec *c, struct message *m)
{
	struct probe *p = ctx;

	if (p->open)
		abort();
	p->open = true;
	text_add_message(&p->o->told, m);
	if (m->protocol.n) {
		struct message switching;

		message_init(&switching);
		switching.status = 101;
		p->codec->ops->send_answer(p->codec, &p->x, &switching);
	} else if (p->way.at_once) {
		answer(p, 403, "no\n");
	}
	return &p->x;
}

static void on_answer(struct exchange *x, struct message *m)
{
	text_add_message(&probe_of(x)->o->told, m);
}

static void on_filled(struct exchange *x, struct codec *c)
{
	struct probe *p = probe_of(x);
	struct body *b = c->server ? &x->up : &x->down;

	if (p->way.at_once)
		return;
	drain(p, b);
	if (!b->ended)
		return;
	tell_body(p, b, "body");
	if (c->server && !x->opaque)
		p->answer_due = true;
	else if (c->server)
		x->down.ended = true;
	else if (x->opaque)
		x->up.ended = true;
}

static void on_drained(struct exchange *x, struct codec *c)
{
}

static void on_failed(struct exchange *x, struct codec *c, enum codec_error why)
{
	struct probe *p = probe_of(x);
	struct body *b = c->server ? &x->up : &x->down;

	if (!b->failed || (c->server ? x->client.stream : x->upstream.stream))
		abort();
	drain(p, b);
	tell_body(p, b, "failed after");
	text_printf(&p->o->told, "failed %d\n", why);
	end_exchange(p);
}

static void on_done(struct exchange *x, struct codec *c)
{
	text_printf(&probe_of(x)->o->told, "done\n");
	end_exchange(probe_of(x));
}

static const struct codec_events probe_events = {
	.request = on_request,
	.answer = on_answer,
	.body_filled = on_filled,
	.body_drained = on_drained,
	.failed = on_failed,
	.done = on_done,
};

/* Like a small socket buffer: an answer must come out of any room. */
static bool produce(struct probe *p)
{
	uint8_t memory[48];
	struct buf out = buf_of(memory, sizeof(memory));
	size_t n = p->codec->ops->produce(p->codec, &out);

	if (n != out.n || out.full)
		abort();
	text_add(&p->o->sent, memory, n);
	return n > 0;
}

/* What the owner of a codec does after every octet that came. */
static void settle(struct probe *p)
{
	do {
		if (p->answer_due && p->open) {
			p->answer_due = false;
			answer(p, 200, "ok\n");
		}
	} while (produce(p));
}

/* Feeds what is there until nothing is taken any more. How much was. */
static size_t feed(struct probe *p, struct span in)
{
	size_t all = 0, taken;

	do {
		uint8_t *exact = malloc(in.n - all + 1); /* for AddressSanitizer */

		if (!exact)
			abort();
		memcpy(exact, in.p + all, in.n - all);
		p->o->error = p->codec->ops->receive(p->codec, span_of(exact, in.n - all), &taken);
		free(exact);
		if (taken > in.n - all)
			abort();
		all += taken;
		settle(p);
	} while (taken && !p->o->error && all < in.n);
	return all;
}

static void end(struct probe *p)
{
	struct outcome *o = p->o;

	if (p->way.ends && !o->error)
		text_printf(&o->told, "end %d\n", p->codec->ops->receive_end(p->codec));
	settle(p);
	o->persistent = p->codec->persistent;
	o->finished = p->codec->finished;
	o->cut = p->codec->cut;
	o->idle = p->codec->ops->idle(p->codec);
	if (o->error == CODEC_MALFORMED && !p->codec->why)
		abort();
	p->codec->ops->free(p->codec);
	end_exchange(p);
}

static void run(struct probe *p, struct span stream)
{
	size_t step = p->way.step ? p->way.step : stream.n, at = 0, n = 0;

	while (n < stream.n && !p->o->error) {
		if (n == 0 && p->way.first)
			n = p->way.first;
		else
			n = stream.n - n < step ? stream.n : n + step;
		at += feed(p, span_of(stream.p + at, n - at));
	}
	if (at < stream.n && !p->o->error)
		text_printf(&p->o->told, "left %zu\n", stream.n - at);
	end(p);
}

struct outcome probe_server(struct span stream, struct probe_way way)
{
	struct outcome o = {0};
	struct probe p = {.way = way, .o = &o};

	p.codec = http1_server_new(&probe_events, &p);
	if (!p.codec)
		abort();
	p.codec->tls = way.tls;
	p.codec->absolute = way.absolute;
	run(&p, stream);
	return o;
}

/* ---- A client codec has to send a request first: it is read from text by a server codec ---- */

struct asking {
	struct probe *p;
	bool asked;
};

static struct exchange *ask(void *ctx, struct codec *c, struct message *m)
{
	struct asking *a = ctx;

	a->asked = a->p->codec->ops->send_request(a->p->codec, &a->p->x, m);
	return NULL;
}

static void send_request(struct probe *p, const char *text)
{
	static const struct codec_events asking_events = {.request = ask};
	struct asking a = {.p = p};
	struct codec *c = http1_server_new(&asking_events, &a);
	size_t taken;

	if (!c)
		abort();
	c->ops->receive(c, span_of_string(text), &taken);
	c->ops->free(c);
	if (!a.asked)
		abort();
	p->open = true;
}

struct outcome probe_client(struct span stream, struct probe_way way)
{
	struct outcome o = {0};
	struct probe p = {.way = way, .o = &o};

	p.codec = http1_client_new(&probe_events, &p);
	if (!p.codec)
		abort();
	send_request(&p, way.ask ? way.ask : "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
	settle(&p);
	run(&p, stream);
	return o;
}

/* ---- Any cut ---- */

static void check_cut(struct outcome (*probe)(struct span, struct probe_way), struct span stream,
		      struct probe_way way, const struct outcome *whole)
{
	struct outcome cut = probe(stream, way);

	if (!outcome_is_same(&cut, whole)) {
		fprintf(stderr, "first %zu, step %zu of:\n%.*s\ntold: %s\nand not: %s\n", way.first,
			way.step, (int)stream.n, stream.p, cut.told.p, whole->told.p);
		abort();
	}
	outcome_free(&cut);
}

struct outcome probe_in_all_ways(struct outcome (*probe)(struct span, struct probe_way),
				 struct span stream, struct probe_way way)
{
	enum { SHORT = 512 };
	struct outcome whole = probe(stream, way);

	for (way.first = 1; way.first < stream.n && stream.n <= SHORT; way.first++)
		check_cut(probe, stream, way, &whole);
	way.first = 0;
	for (way.step = 1; way.step < 8 && way.step < stream.n; way.step += 3)
		check_cut(probe, stream, way, &whole);
	return whole;
}
