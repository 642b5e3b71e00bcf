/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * libmicrohttpd reads and writes, in this process's one thread: its epoll descriptor is watched by
 * the loop. A call begins with its head, collects its body, and is then given to the driver. One
 * that the driver has not answered when its function returns is suspended: nothing more is read
 * from its connection until the answer is there. The call is freed when libmicrohttpd says that the
 * request is over, which for a suspended one is never before it is answered.
 */
#include "docker/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "docker/message.h"
#include "docker/http_library.h"

enum { CONNECTIONS_MAX = 512, CONNECTION_MEMORY = 16 << 10 };

static const char content_type[] = "application/vnd.docker.plugins.v1.2+json";

struct docker_call {
	struct docker_http *http;
	struct MHD_Connection *connection;
	struct docker_call *next, **at; /* of all that are not over */
	char *path;
	uint8_t *body;
	size_t n;
	unsigned refused; /* the status, when it is not 200; or 0 */
	bool given, suspended;
	char *answer; /* JSON; "" when it could not be made */
	pid_t peer;
};

struct docker_http {
	const struct http_library *mhd;
	struct MHD_Daemon *daemon;
	struct loop *loop;
	struct watch watch;
	struct timer timer;
	docker_http_fn *fn;
	void *ctx;
	struct docker_call *calls;
};

/* --- calls --- */

const char *docker_call_path(const struct docker_call *c)
{
	return c->path;
}

struct span docker_call_body(const struct docker_call *c)
{
	return span_of(c->body, c->n);
}

pid_t docker_call_peer(const struct docker_call *c)
{
	return c->peer;
}

static unsigned check_peer(struct docker_call *c)
{
	const union MHD_ConnectionInfo *info =
		c->http->mhd->get_connection_info(c->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct ucred who;
	socklen_t n = sizeof(who);

	if (!info || getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 ||
	    who.uid != 0)
		return MHD_HTTP_FORBIDDEN;
	c->peer = who.pid;
	return 0;
}

static struct docker_call *begin(struct docker_http *h, struct MHD_Connection *connection,
				 const char *path, const char *method)
{
	struct docker_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct docker_call){
		.http = h, .connection = connection, .next = h->calls, .at = &h->calls};
	c->path = strdup(path);
	if (!c->path) {
		free(c);
		return NULL;
	}
	if (c->next)
		c->next->at = &c->next;
	h->calls = c;
	c->refused = check_peer(c);
	if (!c->refused && strcmp(method, MHD_HTTP_METHOD_POST) != 0)
		c->refused = MHD_HTTP_METHOD_NOT_ALLOWED;
	return c;
}

static void take_body(struct docker_call *c, const char *data, size_t n)
{
	uint8_t *grown;

	if (c->refused)
		return;
	grown = n <= DOCKER_BODY_MAX - c->n ? realloc(c->body, c->n + n) : NULL;
	if (!grown) {
		c->refused = MHD_HTTP_CONTENT_TOO_LARGE;
		return;
	}
	memcpy(grown + c->n, data, n);
	c->body = grown;
	c->n += n;
}

static enum MHD_Result send_text(struct docker_call *c, unsigned status, const char *text)
{
	const struct http_library *mhd = c->http->mhd;
	struct MHD_Response *r =
		mhd->create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result sent;

	if (!r)
		return MHD_NO;
	mhd->add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	sent = mhd->queue_response(c->connection, status, r);
	mhd->destroy_response(r);
	return sent;
}

static enum MHD_Result refuse(struct docker_call *c)
{
	return send_text(
		c, c->refused,
		c->refused == MHD_HTTP_FORBIDDEN	    ? "{\"Err\":\"only root may ask\"}"
		: c->refused == MHD_HTTP_METHOD_NOT_ALLOWED ? "{\"Err\":\"a request is a POST\"}"
		: c->refused == MHD_HTTP_NOT_FOUND ? "{\"Err\":\"there is no such request\"}"
						   : "{\"Err\":\"the request is too long\"}");
}

static enum MHD_Result finish(struct docker_call *c)
{
	if (c->refused)
		return refuse(c);
	if (!c->given) {
		c->given = true;
		c->http->fn(c->http->ctx, c);
	}
	if (!c->answer) {
		c->suspended = true;
		c->http->mhd->suspend_connection(c->connection);
		return MHD_YES;
	}
	if (c->refused)
		return refuse(c);
	return *c->answer ? send_text(c, MHD_HTTP_OK, c->answer) : MHD_NO;
}

void docker_call_answer(struct docker_call *c, json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	json_decref(answer);
	c->answer = text ? text : strdup("{\"Err\":\"out of memory\"}");
	if (!c->answer)
		abort();
	if (c->suspended) {
		c->suspended = false;
		c->http->mhd->resume_connection(c->connection);
		loop_timer_set(c->http->loop, &c->http->timer, loop_now(c->http->loop));
	}
}

void docker_call_answer_unknown(struct docker_call *c)
{
	c->refused = MHD_HTTP_NOT_FOUND;
	docker_call_answer(c, json_object());
}

/* --- libmicrohttpd's calls --- */

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *n, void **state)
{
	struct docker_call *c = *state;

	if (!c) {
		*state = begin(ctx, connection, path, method);
		return *state ? MHD_YES : MHD_NO;
	}
	if (*n) {
		take_body(c, data, *n);
		*n = 0;
		return MHD_YES;
	}
	return finish(c);
}

static void on_end(void *ctx, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode why)
{
	struct docker_call *c = *state;

	if (!c)
		return;
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	free(c->path);
	free(c->body);
	free(c->answer);
	free(c);
	*state = NULL;
}

/* --- the loop --- */

static void run(struct docker_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	h->mhd->run(h->daemon);
	if (h->mhd->get_timeout(h->daemon, &ms) == MHD_YES)
		loop_timer_set(h->loop, &h->timer, mono_add_ms(mono_now(), (int64_t)ms));
	else
		loop_timer_cancel(h->loop, &h->timer);
}

static void on_ready(struct watch *w, uint32_t events)
{
	run(sg_container_of(w, struct docker_http, watch));
}

static void on_timer(struct timer *t)
{
	run(sg_container_of(t, struct docker_http, timer));
}

static int begin_serving(struct docker_http *h, int listener, struct err *e)
{
	const union MHD_DaemonInfo *info;
	int rc;

	h->daemon = h->mhd->start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, h,
		MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_END);
	if (!h->daemon)
		return err_set(e, "libmicrohttpd does not start: %s", err_why(errno));
	info = h->mhd->get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	rc = info ? loop_add(h->loop, &h->watch, info->epoll_fd, EPOLLIN) : -ENOSYS;
	return rc < 0 ? err_set(e, "the loop: %s", err_why(-rc)) : 0;
}

struct docker_http *docker_http_start(struct loop *l, int listener, docker_http_fn *fn, void *ctx,
				      struct err *e)
{
	const struct http_library *mhd = http_library_load(e);
	struct docker_http *h = mhd ? malloc(sizeof(*h)) : NULL;

	if (!h)
		return mhd ? (err_set(e, "out of memory"), NULL) : NULL;
	*h = (struct docker_http){.mhd = mhd,
				  .loop = l,
				  .watch = {.ready = on_ready, .fd = -1},
				  .timer = {.expired = on_timer},
				  .fn = fn,
				  .ctx = ctx};
	if (begin_serving(h, listener, e)) {
		docker_http_stop(h);
		return NULL;
	}
	return h;
}

void docker_http_stop(struct docker_http *h)
{
	if (!h)
		return;
	loop_timer_cancel(h->loop, &h->timer);
	if (h->watch.fd >= 0)
		loop_remove(h->loop, &h->watch);
	for (struct docker_call *c = h->calls; c; c = c->next)
		if (c->suspended) {
			c->answer = strdup("");
			c->suspended = false;
			h->mhd->resume_connection(c->connection);
		}
	if (h->daemon) {
		h->mhd->run(h->daemon);
		/* It closes the listener that it was given. */
		h->mhd->quiesce_daemon(h->daemon);
		h->mhd->stop_daemon(h->daemon);
	}
	free(h);
}
