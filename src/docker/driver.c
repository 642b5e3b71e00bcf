/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "docker/recover.h"
#include "sandbox/files/shared_trust.h"
#include "sandbox/own_socket.h"

enum { TIMERS = 8, SYSTEMD_FD = 3 };

void docker_driver_say(const char *fmt, ...)
{
	char text[ERR_MAX];
	struct err e;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	err_set(&e, "%s", text);
	fprintf(stderr, "sandgate: %s\n", e.text);
}

/* --- the socket --- */

/* sd_listen_fds(3): one socket, of systemd's making. -1 when there is none. */
static int systemd_listener(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

	if (!pid || !n || strtol(pid, NULL, 10) != getpid() || strcmp(n, "1") != 0)
		return -1;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	return fcntl(SYSTEMD_FD, F_SETFD, FD_CLOEXEC) < 0 ? -1 : SYSTEMD_FD;
}

/* The folder is dockerd's to make; where dockerd has not run yet it is not there. */
static void make_folder(const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return;
	*slash = '\0';
	if (mkdir(folder, 0755) < 0 && errno == ENOENT && (slash = strrchr(folder, '/'))) {
		*slash = '\0';
		mkdir(folder, 0755);
		*slash = '/';
		mkdir(folder, 0755);
	}
}

static bool someone_listens(const struct sockaddr_un *a)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0;
}

static int listen_at(const char *path, struct err *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(a.sun_path))
		return err_set(e, "%s: the path is too long for a socket", path);
	strcpy(a.sun_path, path);
	make_folder(path);
	if (someone_listens(&a))
		return err_set(e, "%s: a driver serves there already; stop it first", path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, "a socket: %s", err_why(errno));
	fd = own_socket_listen(fd, &a);
	return fd < 0 ? err_set(e, "%s: %s", path, err_why(-fd)) : fd;
}

/* --- the loop --- */

struct stop {
	struct watch watch;
	struct loop *loop;
};

static void on_signal(struct watch *w, uint32_t events)
{
	loop_stop(sg_container_of(w, struct stop, watch)->loop);
}

static int watch_signals(struct stop *s, struct err *e)
{
	sigset_t ends;
	int fd, rc;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_set(e, "a descriptor for signals: %s", err_why(errno));
	rc = loop_add(s->loop, &s->watch, fd, EPOLLIN);
	return rc < 0 ? err_set(e, "the loop: %s", err_why(-rc)) : 0;
}

/* After a reboot there is none, and dockerd may have made the folder for a container's mount. */
static void refresh_trust(const struct docker_driver *d)
{
	struct err e;

	for (const struct docker_network *n = d->networks.first; n; n = n->next)
		if (shared_trust_refresh(n->id, &e))
			docker_driver_say("%s", e.text);
}

static int serve(struct docker_driver *d, int listener, struct err *e)
{
	struct stop stop = {.watch = {.ready = on_signal, .fd = -1}, .loop = d->loop};
	int rc;

	if (watch_signals(&stop, e))
		return -1;
	docker_recover(d, 0);
	refresh_trust(d);
	d->http = docker_http_start(d->loop, listener, docker_requests_answer, d, e);
	if (!d->http)
		return -1;
	docker_driver_say("the docker driver serves");
	rc = loop_run(d->loop);
	docker_http_stop(d->http);
	loop_close(d->loop, &stop.watch);
	return rc < 0 ? err_set(e, "the loop: %s", err_why(-rc)) : 0;
}

/* Two drivers would each write what the other does not know of. */
static int lock_state(const struct docker_driver *d, struct err *e)
{
	if (flock(d->networks.folder, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return err_set(e, "another docker driver is running; stop it first");
}

static int open_and_serve(struct docker_driver *d, struct err *e)
{
	int listener, rc;

	if (docker_networks_open(&d->networks, e) || lock_state(d, e) ||
	    docker_endpoints_open(&d->endpoints, e))
		return -1;
	d->loop = loop_new(TIMERS);
	if (!d->loop)
		return err_set(e, "out of memory");
	listener = systemd_listener();
	if (listener < 0)
		listener = listen_at(d->config->socket, e);
	if (listener < 0)
		return -1;
	rc = serve(d, listener, e);
	close(listener);
	return rc;
}

int docker_driver_run(const struct docker_driver_config *c, struct err *e)
{
	struct docker_driver d = {
		.config = c, .networks = {.folder = -1}, .endpoints = {.folder = -1}};
	int rc = open_and_serve(&d, e);

	docker_networks_close(&d.networks);
	docker_endpoints_close(&d.endpoints);
	if (d.loop)
		loop_free(d.loop);
	return rc;
}
