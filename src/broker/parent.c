/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 *	FREE -> WAITING (for the password) -> ASKED -> FREE, with GATE_TUNNELLED
 *
 * The answer is looked at in the socket and taken octet by octet exactly: what follows its head is
 * the far side's, and belongs to whoever has the socket next. The descriptor here is a copy; the
 * gate keeps its own and takes nothing from it before it is told.
 *
 * A tunnel has patience.dial in all. Who cannot have one is told an errno, as by a direct dial; that
 * the parent wants another name or password is told to the supervisor, once.
 *
 * The gate reads what the sandbox sends, and must not have the password: the socket has to lead to
 * the parent itself, and to have carried nothing yet.
 */
#include "broker/parent.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "broker/gate_door.h"
#include "broker/locked.h"
#include "broker/tunnel_answer.h"
#include "io/requests.h"
#include "policy/secret_text.h"

enum { PASSWORD_MAX = 1024, RETRY_MS = 30000 };
enum { STATUS_FORBIDDEN = 403, STATUS_PROXY_AUTHENTICATION = 407, STATUS_GATEWAY_TIMEOUT = 504 };

/* "USER:PASSWORD", its base64, and a whole request head. */
enum {
	PAIR_MAX = PARENT_USER_MAX + 1 + PASSWORD_MAX,
	TOKEN_MAX = BASE64_TEXT(PAIR_MAX) + 1,
	REQUEST_MAX = TOKEN_MAX + 2 * (NAME_MAX_OCTETS + 8) + 128,
};

const int parent_syscalls[] = {SCMP_SYS(recvfrom),    SCMP_SYS(sendto),	    SCMP_SYS(close),
			       SCMP_SYS(getpeername), SCMP_SYS(getsockopt), -1};

enum password_state { PASSWORD_NONE, PASSWORD_ASKED, PASSWORD_READY, PASSWORD_FAILED };
enum asking_state { ASKING_FREE, ASKING_WAITING, ASKING_ASKED };

struct asking {
	enum asking_state state;
	struct parent *parent;
	struct watch watch; /* its socket; in the loop when ASKED */
	struct timer timer;
	uint32_t number;
	struct endpoint to;
	struct name name; /* n is 0: none */
};

/* In locked memory. */
struct parent_secret {
	char pair[PAIR_MAX + 1];
	char token[TOKEN_MAX];
	char request[REQUEST_MAX];
	uint8_t room[PASSWORD_MAX];
};

struct parent {
	struct broker *broker;
	enum password_state password;
	mono_t retry_at; /* PASSWORD_FAILED */
	char user[PARENT_USER_MAX + 1];
	struct endpoint at[PARENT_ADDRESSES_MAX];
	size_t n_at;
	unsigned told; /* the status that the supervisor was told last; 0: none */
	struct parent_secret *secret;
	struct asking asking[PARENT_TUNNELS_MAX];
};

/* ---- Ends ---- */

static void drop(struct asking *a)
{
	struct loop *l = a->parent->broker->loop;

	loop_timer_cancel(l, &a->timer);
	if (a->state == ASKING_ASKED)
		loop_close(l, &a->watch);
	else
		close(a->watch.fd);
	a->watch.fd = -1;
	a->state = ASKING_FREE;
}

static void settle(struct asking *a, int error)
{
	drop(a);
	gate_door_answer_tunnel(a->parent->broker->door, a->number, error);
}

/* Whoever runs the sandbox can mend it, and nobody inside can. */
static void tell(struct parent *p, unsigned status)
{
	if (p->told == status)
		return;
	p->told = status;
	if (status)
		requests_say(p->broker->control, json_pack("{s:s, s:i}", "op", "parent-refused",
							   "status", (int)status));
}

static int error_of(unsigned status)
{
	switch (status) {
	case STATUS_GATEWAY_TIMEOUT:
		return ETIMEDOUT;
	case STATUS_FORBIDDEN:
	case STATUS_PROXY_AUTHENTICATION:
		return EACCES;
	default:
		return EHOSTUNREACH;
	}
}

/* ---- The answer ---- */

/* Takes the head from the socket. False: it is not there any more. */
static bool take(int fd, size_t n)
{
	uint8_t head[TUNNEL_HEAD_MAX];

	return recv(fd, head, n, MSG_DONTWAIT) == (ssize_t)n;
}

/* True: look again, something was taken. */
static bool look(struct asking *a)
{
	uint8_t seen[TUNNEL_HEAD_MAX];
	int fd = a->watch.fd;
	ssize_t n = recv(fd, seen, sizeof(seen), MSG_PEEK | MSG_DONTWAIT);
	unsigned status = 0;
	size_t head = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		settle(a, ECONNRESET);
		return false;
	}
	switch (tunnel_answer_parse(span_of(seen, (size_t)n), &status, &head)) {
	case TUNNEL_MORE:
		return false;
	case TUNNEL_INTERIM:
		if (take(fd, head))
			return true;
		settle(a, ECONNRESET);
		return false;
	case TUNNEL_OPEN:
		tell(a->parent, 0);
		settle(a, take(fd, head) ? 0 : ECONNRESET);
		return false;
	case TUNNEL_REFUSED:
		tell(a->parent, status);
		settle(a, error_of(status));
		return false;
	case TUNNEL_MALFORMED:
		break;
	}
	settle(a, EPROTO);
	return false;
}

static void ready(struct watch *w, uint32_t events)
{
	struct asking *a = sg_container_of(w, struct asking, watch);

	while (look(a))
		;
	/* An end behind octets that make no whole head: more will not come. */
	if (a->state == ASKING_ASKED && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		settle(a, ECONNRESET);
}

static void expired(struct timer *t)
{
	settle(sg_container_of(t, struct asking, timer), ETIMEDOUT);
}

/* ---- The request ---- */

static int print_request(const struct asking *a, char out[REQUEST_MAX])
{
	const struct parent *p = a->parent;
	char where[NAME_MAX_OCTETS + ENDPOINT_TEXT_MAX];
	bool signs = p->password == PASSWORD_READY;

	if (a->name.n)
		snprintf(where, sizeof(where), "%s:%u", a->name.s, a->to.port);
	else
		endpoint_format(&a->to, where);
	return snprintf(out, REQUEST_MAX, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", where,
			where, signs ? "Proxy-Authorization: Basic " : "",
			signs ? p->secret->token : "", signs ? "\r\n" : "");
}

/* 0 or an errno. The socket is fresh: it has room for all of it. */
static int send_request(const struct asking *a)
{
	char *text = a->parent->secret->request;
	int n = print_request(a, text);
	ssize_t sent = n > 0 && n < REQUEST_MAX
			       ? send(a->watch.fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT)
			       : -1;

	explicit_bzero(text, REQUEST_MAX);
	return sent == n ? 0 : ECONNRESET;
}

static void ask(struct asking *a)
{
	int fd = a->watch.fd, error = send_request(a);

	if (!error &&
	    loop_add(a->parent->broker->loop, &a->watch, fd, EPOLLIN | EPOLLRDHUP | EPOLLET) != 0)
		error = ENOMEM;
	a->watch.fd = fd;
	if (error) {
		settle(a, error);
		return;
	}
	a->state = ASKING_ASKED;
}

/* ---- The socket ---- */

static bool is_at_parent(const struct parent *p, int fd)
{
	struct sockaddr_storage peer = {0};
	socklen_t n = sizeof(peer);
	struct endpoint at;

	if (getpeername(fd, (struct sockaddr *)&peer, &n) != 0 ||
	    !endpoint_from_sockaddr(&peer, &at))
		return false;
	for (size_t i = 0; i < p->n_at; i++)
		if (p->at[i].port == at.port && addr_equal(&p->at[i].addr, &at.addr))
			return true;
	return false;
}

/* What was sent before may have made a tunnel of it: it leads elsewhere then. */
static bool is_unused(int fd)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
	       n > offsetof(struct tcp_info, tcpi_bytes_sent) && info.tcpi_bytes_sent == 0 &&
	       info.tcpi_notsent_bytes == 0;
}

static struct asking *unused(struct parent *p)
{
	for (size_t i = 0; i < PARENT_TUNNELS_MAX; i++)
		if (p->asking[i].state == ASKING_FREE)
			return &p->asking[i];
	return NULL;
}

void parent_take(struct parent *p, const struct gate_message *m, int fd)
{
	bool sound = is_at_parent(p, fd) && is_unused(fd);
	struct asking *a = sound ? unused(p) : NULL;
	struct loop *l = p->broker->loop;

	if (!a) {
		close(fd);
		gate_door_answer_tunnel(p->broker->door, m->number, sound ? EAGAIN : EACCES);
		return;
	}
	*a = (struct asking){.state = ASKING_WAITING,
			     .parent = p,
			     .watch = {.ready = ready, .fd = fd},
			     .timer = {.expired = expired},
			     .number = m->number,
			     .to = m->dst,
			     .name = m->name};
	(void)loop_timer_set(l, &a->timer, mono_add_ms(loop_now(l), p->broker->patience.dial));
	if (p->password == PASSWORD_FAILED && !mono_before(loop_now(l), p->retry_at))
		parent_ask_password(p);
	if (p->password == PASSWORD_FAILED)
		settle(a, EACCES);
	else if (p->password != PASSWORD_ASKED)
		ask(a);
}

void parent_forget(struct parent *p)
{
	for (size_t i = 0; p && i < PARENT_TUNNELS_MAX; i++)
		if (p->asking[i].state != ASKING_FREE)
			drop(&p->asking[i]);
}

/* ---- The password ---- */

void parent_ask_password(struct parent *p)
{
	if (p->password != PASSWORD_ASKED && p->password != PASSWORD_FAILED)
		return;
	p->password = PASSWORD_ASKED;
	requests_say(p->broker->control, json_pack("{s:s, s:i, s:s}", "op", "wanted", "credential",
						   0, "part", PARENT_PART));
}

/* Those that waited for it. */
static void go_on(struct parent *p)
{
	for (size_t i = 0; i < PARENT_TUNNELS_MAX; i++) {
		struct asking *a = &p->asking[i];

		if (a->state == ASKING_WAITING && p->password == PASSWORD_FAILED)
			settle(a, EACCES);
		else if (a->state == ASKING_WAITING)
			ask(a);
	}
}

static void sign(struct parent *p, struct span password)
{
	struct parent_secret *s = p->secret;
	int n = snprintf(s->pair, sizeof(s->pair), "%s:%.*s", p->user, (int)password.n,
			 (const char *)password.p);

	base64_print(span_of(s->pair, (size_t)n), s->token);
	explicit_bzero(s->pair, sizeof(s->pair));
	p->password = PASSWORD_READY;
}

static int take_password(struct parent *p, struct span printed, struct err *e)
{
	struct buf room = buf_of(p->secret->room, sizeof(p->secret->room));
	struct secret_text text;
	int rc = secret_text_parse(printed, false, &room, &text, e);

	for (size_t i = 0; rc == 0 && i < text.value.n; i++)
		if (text.value.p[i] < ' ' || text.value.p[i] > '~')
			rc = err_set(e, "it holds something else than visible ASCII");
	if (rc == 0)
		sign(p, text.value);
	explicit_bzero(p->secret->room, sizeof(p->secret->room));
	return rc;
}

int parent_put_password(struct parent *p, struct span printed, struct err *e)
{
	if (take_password(p, printed, e)) {
		parent_fail_password(p);
		return -1;
	}
	go_on(p);
	return 0;
}

void parent_fail_password(struct parent *p)
{
	p->password = PASSWORD_FAILED;
	p->retry_at = mono_add_ms(loop_now(p->broker->loop), RETRY_MS);
	go_on(p);
}

/* ---- The whole ---- */

struct parent *parent_new(struct broker *b, const struct broker_parent *s, struct err *e)
{
	struct parent *p = calloc(1, sizeof(*p));

	if (!p) {
		err_set(e, "out of memory");
		return NULL;
	}
	p->broker = b;
	p->password = s->has_password ? PASSWORD_ASKED : PASSWORD_NONE;
	p->secret = locked_new(sizeof(*p->secret), e);
	if (!p->secret) {
		free(p);
		return NULL;
	}
	snprintf(p->user, sizeof(p->user), "%s", s->user ? s->user : "");
	memcpy(p->at, s->at, sizeof(p->at));
	p->n_at = s->n;
	if (s->user && !s->has_password)
		sign(p, span_of("", 0));
	return p;
}

void parent_free(struct parent *p)
{
	if (!p)
		return;
	parent_forget(p);
	locked_free(p->secret, sizeof(*p->secret));
	free(p);
}
