/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/control.h"

#include <errno.h>
#include <jansson.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "gate/counted.h"
#include "gate/datagrams.h"
#include "gate/dns_server.h"
#include "gate/flow.h"
#include "gate/gate.h"
#include "gate/new_policy.h"
#include "io/passed_fd.h"

enum { MESSAGE_MAX = 1024 * 1024 };

const int control_syscalls[] = {SCMP_SYS(sendto), SCMP_SYS(close), -1};

struct control {
	struct watch watch;
	struct gate *gate;
	char *message; /* MESSAGE_MAX octets, touched as far as messages are long */
};

struct request {
	json_t *object;
	int passed;    /* a descriptor that came with it, or -1; closed after the answer */
	struct err *e; /* why it could not be done, when a person may want to know */
};

/* ---- answers ---- */

static json_t *answer_status(struct gate *g, const struct request *r)
{
	struct gate_now now = {
		.generation = ruleset_generation(g->rules),
		.open = flows_open(g->flows) + datagrams_open(g->datagrams),
		.sending = flows_sending(g->flows),
	};

	return counted_status(g->totals, &now);
}

static json_t *answer_refusals(struct gate *g, const struct request *r)
{
	return counted_refusals(g->totals->refusals, &g->remedy);
}

/* ---- what the supervisor follows on the host ---- */

static json_t *answer_host(struct gate *g, const struct request *r)
{
	struct host_prefixes fresh = {0};
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(r->object, "prefixes"), i, row)
	{
		const char *text = json_string_value(row);

		/* One that does not parse or fit would be an address left open: all of it is
		 * refused. */
		if (!text || fresh.n == HOST_PREFIXES_MAX ||
		    !prefix_parse(text, strlen(text), &fresh.prefix[fresh.n]))
			return NULL;
		fresh.n++;
	}
	*g->host = fresh;
	/* What was a public address a moment ago may be the host's own now. */
	flows_rejudge(g->flows);
	datagrams_rejudge(g->datagrams);
	return json_object();
}

/* "203.0.113.1:53" or "[2001:db8::1]:53". */
static bool parse_endpoint(const char *s, struct endpoint *out)
{
	const char *colon = s ? strrchr(s, ':') : NULL;
	bool bracket = s && s[0] == '[';
	char *end;
	unsigned long port;
	size_t n;

	if (!colon)
		return false;
	n = (size_t)(colon - s);
	if (bracket && (n < 2 || s[n - 1] != ']'))
		return false;
	port = strtoul(colon + 1, &end, 10);
	if (*end || port == 0 || port > 65535)
		return false;
	out->port = (uint16_t)port;
	return addr_parse(bracket ? s + 1 : s, bracket ? n - 2 : n, &out->addr);
}

static bool read_hosts(json_t *rows, struct resolver_config *c)
{
	json_t *row;
	size_t i;

	c->hosts = calloc(HOST_NAMES_MAX, sizeof(*c->hosts));
	if (!c->hosts)
		return false;
	json_array_foreach(rows, i, row)
	{
		const char *name = json_string_value(json_array_get(row, 0));
		const char *addr = json_string_value(json_array_get(row, 1));
		struct host_name *h = &c->hosts[c->n_hosts];

		if (c->n_hosts == HOST_NAMES_MAX)
			break;
		if (name && addr && name_parse_ascii(name, strlen(name), &h->name) == NAME_OK &&
		    addr_parse(addr, strlen(addr), &h->addr))
			c->n_hosts++;
	}
	return true;
}

static json_t *answer_resolver(struct gate *g, const struct request *r)
{
	struct resolver_config c = {
		.timeout_ms =
			(uint32_t)json_integer_value(json_object_get(r->object, "timeout_ms")),
		.tries = (uint32_t)json_integer_value(json_object_get(r->object, "tries")),
	};
	json_t *row, *answer = NULL;
	size_t i;

	json_array_foreach(json_object_get(r->object, "servers"), i, row)
	{
		if (c.n_servers < RESOLVER_SERVERS_MAX &&
		    parse_endpoint(json_string_value(row), &c.servers[c.n_servers]))
			c.n_servers++;
	}
	if (read_hosts(json_object_get(r->object, "hosts"), &c) &&
	    resolver_configure(g->resolver, &c) == 0)
		answer = json_object();
	free(c.hosts);
	return answer;
}

/* ---- another policy ---- */

static json_t *answer_policy(struct gate *g, const struct request *r)
{
	json_int_t generation = json_integer_value(json_object_get(r->object, "generation"));

	if (generation <= 0)
		err_set(r->e, "a policy needs a generation");
	else if (new_policy_take(g, r->passed, (uint64_t)generation, r->e) == 0)
		return json_object();
	return NULL;
}

static json_t *answer_stop(struct gate *g, const struct request *r)
{
	loop_stop(g->loop);
	return json_object();
}

static const struct {
	const char *op;
	/* NULL: it cannot be done, and nothing has changed. */
	json_t *(*answer)(struct gate *g, const struct request *r);
	bool takes_descriptor;
} requests[] = {
	{"status", answer_status, false}, {"refusals", answer_refusals, false},
	{"host", answer_host, false},	  {"resolver", answer_resolver, false},
	{"policy", answer_policy, true},  {"stop", answer_stop, false},
};

/* ---- the socket ---- */

static bool send_object(int fd, json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);
	bool sent = false;

	if (text) {
		size_t n = strlen(text);

		sent = send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n;
	}
	free(text);
	json_decref(o);
	return sent;
}

/* A descriptor goes with the request that is made for one, and with no other. */
static json_t *answer_request(struct gate *g, const char *op, const struct request *r)
{
	for (size_t i = 0; op && i < sg_array_len(requests); i++)
		if (strcmp(requests[i].op, op) == 0)
			return requests[i].takes_descriptor == (r->passed >= 0)
				       ? requests[i].answer(g, r)
				       : NULL;
	return NULL;
}

static void answer(struct control *c, json_t *request, int passed)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	struct err e = {""};
	json_t *o = answer_request(c->gate, op,
				   &(struct request){.object = request, .passed = passed, .e = &e});

	if (o)
		json_object_set_new(o, "ok", json_true());
	else
		o = json_pack("{s:b, s:o}", "ok", 0, "why",
			      e.text[0] ? json_string(e.text) : json_null());
	json_object_set_new(o, "op", json_string(op ? op : ""));
	send_object(c->watch.fd, o);
}

static void control_ready(struct watch *w, uint32_t events)
{
	struct control *c = sg_container_of(w, struct control, watch);
	int passed;
	ssize_t n = passed_fd_receive(w->fd, c->message, MESSAGE_MAX, &passed);
	json_t *request;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		loop_stop(c->gate->loop);
		return;
	}
	request = json_loadb(c->message, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
	if (request)
		answer(c, request, passed);
	json_decref(request);
	if (passed >= 0)
		close(passed);
}

struct control *control_new(struct gate *g, int fd)
{
	struct control *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	/* jansson reads /dev/urandom when it first makes an object: here, before isolation. */
	json_object_seed(0);
	new_policy_prepare();
	c->gate = g;
	c->watch.ready = control_ready;
	c->message = malloc(MESSAGE_MAX);
	if (!c->message || loop_add(g->loop, &c->watch, fd, EPOLLIN) != 0) {
		free(c->message);
		free(c);
		return NULL;
	}
	return c;
}

bool control_say_ready(struct control *c)
{
	return send_object(c->watch.fd, json_pack("{s:s}", "op", "ready"));
}

void control_say_failed(int fd, const struct err *e)
{
	send_object(fd, json_pack("{s:s, s:s}", "op", "failed", "why", e->text));
}
