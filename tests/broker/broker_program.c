/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_program BUNDLE POLICY SITE...: a broker as a process, with this program as its supervisor
 * and its gate.
 *
 * BUNDLE is a file of PEM, POLICY a policy file. A SITE is NAME:PORT:tls|plain:SERVER-PORT: clients
 * that connect to a port of 127.0.0.1, which is printed, are those that asked for NAME:PORT, and
 * the server is at 127.0.0.1:SERVER-PORT.
 *
 * Standard output has a line of JSON for each thing that happens, first
 * {"op":"ready","authority":PEM,"pid":…,"ports":[…]}, at the end {"op":"ended","status":…}.
 * Standard input takes lines: an object is asked of the broker, "policy FILE GENERATION" hands it
 * another policy, "secret CREDENTIAL TEXT" a secret ("client-secret" its client's, "parent-secret"
 * the parent proxy's), "raw HEX" is said by the gate, "tunnel PORT WHAT..." asks for tunnels on a
 * connection to that port of 127.0.0.1: each WHAT is "ask", or octets in hexadecimal that are sent
 * before. The parent proxy is at 127.0.0.1:PARENT_PORT, a variable. "records" prints what it noted,
 * "gate" closes the gate's socket, "new-gate" hands in that of the next. The broker is stopped at
 * its end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/broker.h"
#include "broker/parent.h"
#include "io/gate_message.h"
#include "gate/tls_hello.h"
#include "policy/policy.h"

enum { SITES_MAX = 16, WAITING_MAX = 256, MESSAGE_MAX = 1 << 20, GATE_HELD_MS = 5 };

struct site {
	struct gate_message is;
	int listener;
	uint16_t server;
};

/* A client whose hello is not whole yet. */
struct waiting {
	int fd;
	const struct site *site;
};

struct world {
	struct site sites[SITES_MAX];
	size_t n_sites;
	struct waiting waiting[WAITING_MAX];
	size_t n_waiting;
	struct catalogue *none;
	int control, gate;
	uint32_t connections;
	struct ring *ring;
	pid_t broker;
	struct host_prefixes host;
};

static void say(json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

static struct span read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = malloc(MESSAGE_MAX);
	size_t n;

	if (!f || !text)
		die(2, "%s: %s", path, strerror(errno));
	n = fread(text, 1, MESSAGE_MAX, f);
	fclose(f);
	return span_of(text, n);
}

/* ---- Policies ---- */

static void read_policy(const char *path, struct policy *p)
{
	const struct policy_sources sources = {.catalogue = catalogue_builtin()};
	struct span text = read_file(path);
	struct err e;

	policy_init(p);
	if (policy_parse(text, POLICY_YAML, path, p, &e) != 0 ||
	    policy_resolve(p, &sources, &e) != 0)
		die(2, "%s", e.text);
	free((void *)text.p);
}

static struct ruleset *read_rules(const char *path)
{
	struct ruleset *rules;
	struct policy p;
	struct err e;

	read_policy(path, &p);
	rules = ruleset_compile(&p, 1, &e);
	if (!rules)
		die(2, "%s", e.text);
	policy_free(&p);
	return rules;
}

static int seal(const char *text)
{
	int fd = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
		die(2, "memfd: %s", strerror(errno));
	return fd;
}

/* ---- Messages ---- */

static void send_with(int to, const void *p, size_t n, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char octets[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	struct iovec v = {(void *)p, n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	if (n_fds) {
		struct cmsghdr *c = &control.align;

		m.msg_control = control.octets;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	if (sendmsg(to, &m, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		die(2, "sendmsg: %s", strerror(errno));
}

static void send_gate(struct world *w, const struct gate_message *m, const int *fds, size_t n)
{
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	gate_message_print(m, &b);
	send_with(w->gate, b.p, b.n, fds, n);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* Waits for a message of the broker's. NULL: it has ended. */
static json_t *await_message(struct world *w)
{
	static char text[MESSAGE_MAX];
	ssize_t n = recv(w->control, text, sizeof(text), 0);

	return n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
}

/* False: the broker has ended. */
static bool relay_answer(struct world *w)
{
	json_t *o = await_message(w);

	if (o)
		say(o);
	return o;
}

/* ---- The gate ---- */

static int dial(uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die(2, "socket: %s", strerror(errno));
	if (connect(fd, (void *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void reset(int fd)
{
	const struct linger l = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

static void hand_over(struct world *w, const struct site *s, int client, uint8_t alpn)
{
	struct gate_message m = s->is;
	int fds[2] = {client, dial(s->server)};

	if (fds[1] < 0) {
		reset(client);
		return;
	}
	m.kind = GATE_HANDOVER;
	m.connection = ++w->connections;
	m.out = UINT64_MAX;
	m.flags |= (uint8_t)((alpn & ALPN_H2 ? GATE_OFFERS_HTTP2 : 0) |
			     (alpn & ALPN_HTTP11 ? GATE_OFFERS_HTTP1 : 0));
	send_gate(w, &m, fds, 2);
}

/* True: it waits no more. */
static bool look_at_hello(struct world *w, const struct waiting *c)
{
	static uint8_t octets[TLS_HELLO_MAX], scratch[TLS_HELLO_MAX];
	ssize_t n = recv(c->fd, octets, sizeof(octets), MSG_PEEK | MSG_DONTWAIT);
	struct tls_hello hello = {0};

	if (n < 0)
		return false;
	switch (tls_hello_parse(span_of(octets, (size_t)n), scratch, &hello)) {
	case HELLO_NEED_MORE:
		if (n > 0)
			return false;
		break;
	case HELLO_OK:
		hand_over(w, c->site, c->fd, hello.alpn);
		return true;
	default:
		break;
	}
	reset(c->fd);
	return true;
}

static void look_at_hellos(struct world *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n_waiting; i++)
		if (!look_at_hello(w, &w->waiting[i]))
			w->waiting[kept++] = w->waiting[i];
	w->n_waiting = kept;
}

static void accept_client(struct world *w, const struct site *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (!(s->is.flags & GATE_TLS))
		hand_over(w, s, fd, 0);
	else if (w->n_waiting < WAITING_MAX)
		w->waiting[w->n_waiting++] = (struct waiting){fd, s};
	else
		reset(fd);
}

static const struct site *site_of(const struct world *w, const struct gate_message *m)
{
	for (size_t i = 0; i < w->n_sites; i++)
		if (name_equal(&w->sites[i].is.name, &m->name) &&
		    w->sites[i].is.dst.port == m->dst.port)
			return &w->sites[i];
	return NULL;
}

static bool answer_dial(struct world *w)
{
	uint8_t octets[GATE_MESSAGE_MAX];
	ssize_t n = recv(w->gate, octets, sizeof(octets), 0);
	struct gate_message m;
	const struct site *s;
	int fd;

	if (n <= 0)
		return false;
	if (!gate_message_parse(span_of(octets, (size_t)n), &m))
		die(2, "the broker sent the gate what is no message");
	if (m.kind != GATE_DIAL && m.kind != GATE_DIAL_TOKEN)
		return true;
	s = site_of(w, &m);
	fd = s ? dial(s->server) : -1;
	m.kind = GATE_DIALLED;
	m.flags = 0;
	m.error = fd < 0 ? ECONNREFUSED : 0;
	send_gate(w, &m, &fd, fd >= 0);
	return true;
}

/* ---- The supervisor ---- */

static void print_records(struct world *w)
{
	struct record r;

	while (ring_take(w->ring, &r)) {
		if (!record_valid(&r))
			die(2, "a record is not valid");
		say(json_pack("{s:s, s:i, s:s, s:s, s:s, s:i, s:I, s:I, s:s, s:s, s:I, s:s, s:s}",
			      "op", "record", "kind", r.kind, "name", r.has_name ? r.name.s : "",
			      "method", r.method, "path", r.path, "status", r.status, "bytes_out",
			      (json_int_t)r.bytes_out, "bytes_in", (json_int_t)r.bytes_in, "rule",
			      r.rule, "reason", reason_word((enum reason)r.reason), "generation",
			      (json_int_t)r.generation, "permission", r.permission, "credential",
			      r.credential));
	}
	say(json_pack("{s:s}", "op", "recorded"));
}

static void hand_policy(struct world *w, char *words)
{
	char *path = strtok(words, " "), *generation = strtok(NULL, " ");
	json_t *o = json_pack("{s:s, s:I}", "op", "policy", "generation",
			      (json_int_t)strtoll(generation ? generation : "0", NULL, 10));
	char *text = json_dumps(o, JSON_COMPACT), *wire;
	struct policy p;
	int fd;

	read_policy(path, &p);
	wire = policy_print_wire(&p);
	fd = seal(wire);
	send_with(w->control, text, strlen(text), &fd, 1);
	close(fd);
	free(wire);
	free(text);
	json_decref(o);
	policy_free(&p);
	relay_answer(w);
}

/* The whole of it fits the pipe. */
static void hand_secret(struct world *w, char *words, const char *part)
{
	char *credential = strtok(words, " "), *secret = strtok(NULL, "");
	json_t *o = json_pack("{s:s, s:I, s:s*}", "op", "secret", "credential",
			      (json_int_t)strtoll(credential, NULL, 10), "part", part);
	char *text = json_dumps(o, JSON_COMPACT);
	int fds[2];

	if (!secret || pipe2(fds, O_CLOEXEC) != 0 ||
	    write(fds[1], secret, strlen(secret)) != (ssize_t)strlen(secret))
		die(2, "pipe: %s", strerror(errno));
	close(fds[1]);
	send_with(w->control, text, strlen(text), fds, 1);
	close(fds[0]);
	free(text);
	json_decref(o);
	relay_answer(w);
}

/* Another gate, in the place of one that may be there. */
static void hand_gate(struct world *w)
{
	static const char ask[] = "{\"op\":\"gate\"}";
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		die(2, "socketpair: %s", strerror(errno));
	send_with(w->control, ask, sizeof(ask) - 1, &pair[1], 1);
	close(pair[1]);
	if (w->gate >= 0)
		close(w->gate);
	w->gate = pair[0];
}

/* Octets in hexadecimal, as the gate's. */
static void send_raw(struct world *w, const char *hex)
{
	uint8_t octets[4096];
	size_t n = 0;
	unsigned value;

	while (n < sizeof(octets) && sscanf(hex + 2 * n, "%2x", &value) == 1)
		octets[n++] = (uint8_t)value;
	send_with(w->gate, octets, n, NULL, 0);
}

static void ask_tunnel(struct world *w, int fd)
{
	struct gate_message m = {
		.kind = GATE_TUNNEL, .number = ++w->connections, .dst = w->sites[0].is.dst};
	uint8_t octets[GATE_MESSAGE_MAX];
	struct buf b = buf_of(octets, sizeof(octets));

	gate_message_print(&m, &b);
	send_with(w->gate, b.p, b.n, &fd, 1);
}

static void begin_tunnels(struct world *w, char *words)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned value;

	a.sin_port = htons((uint16_t)atoi(strtok(words, " ")));
	if (connect(fd, (void *)&a, sizeof(a)) != 0)
		die(2, "connect: %s", strerror(errno));
	for (char *what; (what = strtok(NULL, " "));) {
		if (strcmp(what, "ask") == 0)
			ask_tunnel(w, fd);
		else
			for (; sscanf(what, "%2x", &value) == 1; what += 2)
				(void)!send(fd, &(uint8_t){(uint8_t)value}, 1, MSG_NOSIGNAL);
	}
	close(fd);
}

static bool take_line(struct world *w)
{
	char line[8192];

	if (!fgets(line, sizeof(line), stdin))
		return false;
	line[strcspn(line, "\n")] = 0;
	if (strcmp(line, "records") == 0) {
		print_records(w);
	} else if (strcmp(line, "gate") == 0) {
		close(w->gate);
		w->gate = -1;
	} else if (strcmp(line, "new-gate") == 0) {
		hand_gate(w);
		return relay_answer(w);
	} else if (strncmp(line, "raw ", 4) == 0) {
		send_raw(w, line + 4);
	} else if (strncmp(line, "tunnel ", 7) == 0) {
		begin_tunnels(w, line + 7);
	} else if (strncmp(line, "secret ", 7) == 0) {
		hand_secret(w, line + 7, NULL);
	} else if (strncmp(line, "parent-secret ", 14) == 0) {
		hand_secret(w, line + 14, PARENT_PART);
	} else if (strncmp(line, "client-secret ", 14) == 0) {
		hand_secret(w, line + 14, "client-secret");
	} else if (strncmp(line, "policy ", 7) == 0) {
		hand_policy(w, line + 7);
	} else {
		send_with(w->control, line, strlen(line), NULL, 0);
		return relay_answer(w);
	}
	return true;
}

/* ---- Set-up ---- */

static void add_site(struct world *w, char *text)
{
	struct site *s = &w->sites[w->n_sites];
	char *name = strtok(text, ":"), *port = strtok(NULL, ":"), *how = strtok(NULL, ":"),
	     *server = strtok(NULL, ":");
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (w->n_sites == SITES_MAX || !server ||
	    name_parse_ascii(name, strlen(name), &s->is.name) != NAME_OK)
		die(2, "not a site: %s", text);
	s->is.dst.port = (uint16_t)atoi(port);
	addr_parse("93.184.216.34", 13, &s->is.dst.addr);
	s->is.flags = strcmp(how, "tls") == 0 ? GATE_TLS : 0;
	s->server = (uint16_t)atoi(server);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(s->listener, (void *)&a, sizeof(a)) != 0 || listen(s->listener, 512) != 0)
		die(2, "listen: %s", strerror(errno));
	w->n_sites++;
}

static json_t *ports(const struct world *w)
{
	json_t *list = json_array();

	for (size_t i = 0; i < w->n_sites; i++) {
		struct sockaddr_in a;
		socklen_t n = sizeof(a);

		getsockname(w->sites[i].listener, (void *)&a, &n);
		json_array_append_new(list, json_integer(ntohs(a.sin_port)));
	}
	return list;
}

static struct ring *make_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct ring *ring;
	struct err e;

	ring = ring_map(fd, &e);
	if (!ring)
		die(2, "%s", e.text);
	close(fd);
	return ring;
}

/* Milliseconds in the environment, for tests that cannot wait as long as people do. */
static struct patience read_patience(void)
{
	struct patience p = PATIENCE_USUAL;
	const struct {
		const char *variable;
		int64_t *ms;
	} all[] = {
		{"PATIENCE_HANDSHAKE", &p.handshake},
		{"PATIENCE_DIAL", &p.dial},
		{"PATIENCE_HEAD", &p.head},
		{"PATIENCE_STALL", &p.stall},
		{"PATIENCE_IDLE", &p.idle},
		{"PATIENCE_LINGER", &p.linger},
		{"PATIENCE_LOG", &p.log},
	};

	for (size_t i = 0; i < sg_array_len(all); i++)
		if (getenv(all[i].variable))
			*all[i].ms = atoll(getenv(all[i].variable));
	return p;
}

static struct broker_parent read_parent(void)
{
	struct broker_parent p = {0};

	if (!getenv("PARENT_PORT"))
		return p;
	p = (struct broker_parent){.is_there = true, .has_password = true, .user = "me", .n = 1};
	p.at[0].port = (uint16_t)atoi(getenv("PARENT_PORT"));
	addr_parse("127.0.0.1", 9, &p.at[0].addr);
	return p;
}

static void start_broker(struct world *w, const char *bundle, const char *policy)
{
	int control[2];
	pid_t self = getpid();
	struct broker_setup s = {
		.sandbox = "box",
		.supervisor = self,
		.rules = read_rules(policy),
		.host = &w->host,
		.catalogue = catalogue_builtin(),
		.bundle = read_file(bundle),
		.authority_days = 1,
		.ring = w->ring,
		.wake = -1,
		.patience = read_patience(),
		.parent = read_parent(),
	};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
		die(2, "socketpair: %s", strerror(errno));
	s.control = control[1];
	w->broker = fork();
	if (w->broker == 0)
		_exit(broker_main(&s));
	close(control[1]);
	w->control = control[0];
	w->gate = -1;
	ruleset_free(s.rules);
	free((void *)s.bundle.p);
}

/* Said when the gate is there as well. False: the broker has ended. */
static bool relay_ready(struct world *w)
{
	json_t *o = await_message(w);

	if (!o)
		return false;
	if (json_string_value(json_object_get(o, "authority"))) {
		hand_gate(w);
		json_decref(await_message(w));
	}
	json_object_set_new(o, "pid", json_integer(w->broker));
	json_object_set_new(o, "ports", ports(w));
	say(o);
	return true;
}

/* ---- Its loop ---- */

/* False: the broker is to be stopped, or has ended. */
static bool turn(struct world *w)
{
	struct pollfd p[3 + SITES_MAX] = {
		{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = w->gate, .events = POLLIN},
		{.fd = w->control, .events = POLLIN},
	};

	for (size_t i = 0; i < w->n_sites; i++)
		p[3 + i] = (struct pollfd){.fd = w->sites[i].listener, .events = POLLIN};
	if (poll(p, 3 + w->n_sites, w->n_waiting ? GATE_HELD_MS : -1) < 0)
		return false;
	if ((p[2].revents && !relay_answer(w)) || (p[1].revents && !answer_dial(w)))
		return false;
	for (size_t i = 0; i < w->n_sites; i++)
		if (p[3 + i].revents)
			accept_client(w, &w->sites[i]);
	look_at_hellos(w);
	return !p[0].revents || take_line(w);
}

int main(int argc, char **argv)
{
	static struct world w;
	int status = 0;

	if (argc < 4)
		die(2, "usage: broker_program BUNDLE POLICY SITE...");
	setvbuf(stdin, NULL, _IONBF, 0);
	signal(SIGPIPE, SIG_IGN);
	w.ring = make_ring();
	for (int i = 3; i < argc; i++)
		add_site(&w, argv[i]);
	start_broker(&w, argv[1], argv[2]);
	if (relay_ready(&w)) {
		while (turn(&w))
			;
	}
	close(w.control);
	if (w.gate >= 0)
		close(w.gate);
	waitpid(w.broker, &status, 0);
	print_records(&w);
	say(json_pack("{s:s, s:i}", "op", "ended", "status", status));
	return 0;
}
