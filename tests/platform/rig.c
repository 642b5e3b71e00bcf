/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/addr.h"
#include "base/clock.h"

enum { BODY_SECONDS = 60, CONNECT_MS = 3000, ORDINARY_ID = 1000 };

void rig_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s (%s)\n", file, line, what, strerror(errno));
	_exit(1);
}

pid_t rig_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

int rig_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		CHECK(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void rig_kill(pid_t pid)
{
	CHECK(kill(pid, SIGKILL) == 0);
	rig_wait(pid);
}

void rig_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

int rig_count_entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

void rig_sh(const char *command)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-ec", command, NULL);
		_exit(127);
	}
	if (rig_wait(pid) != 0) {
		fprintf(stderr, "failed: %s\n", command);
		_exit(1);
	}
}

static int run(rig_body *enter, rig_body *body)
{
	pid_t pid = rig_fork();

	if (pid == 0) {
		alarm(BODY_SECONDS);
		if (enter)
			enter();
		body();
		_exit(0);
	}
	return rig_wait(pid);
}

int rig_run(rig_body *body)
{
	return run(NULL, body);
}

void rig_enter_userns(int flags)
{
	char map[32];
	unsigned uid = geteuid(), gid = getegid();

	CHECK(unshare(CLONE_NEWUSER | flags) == 0);
	rig_write("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	rig_write("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	rig_write("/proc/self/gid_map", map);
}

static void enter_netns(void)
{
	rig_enter_userns(CLONE_NEWNET);
}

int rig_run_in_netns(rig_body *body)
{
	return run(enter_netns, body);
}

void rig_become_ordinary(void)
{
	CHECK(setgroups(0, NULL) == 0 && setgid(ORDINARY_ID) == 0 && setuid(ORDINARY_ID) == 0);
	/* setuid made the process undumpable, and its /proc files root's. */
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
}

void rig_own_tun(unsigned mode)
{
	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("rig", "/dev/net", "tmpfs", 0, "mode=0755") == 0);
	CHECK(mknod("/dev/net/tun", S_IFCHR | 0600, makedev(10, 200)) == 0);
	CHECK(chmod("/dev/net/tun", mode) == 0);
}

/* The device that udev gives to everyone may be root's only on a machine without udev. */
static void become_ordinary(void)
{
	rig_own_tun(0666);
	rig_become_ordinary();
}

int rig_run_as_user(rig_body *body)
{
	return run(geteuid() == 0 ? become_ordinary : NULL, body);
}

uint16_t rig_checksum(const void *p, size_t n, uint32_t sum)
{
	const uint8_t *b = p;

	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)(b[i] << 8 | b[i + 1]);
	if (n % 2)
		sum += (uint32_t)b[n - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static int finish_connect(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t n = sizeof(errno);
	int error = 0;

	if (poll(&p, 1, CONNECT_MS) == 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0);
	errno = error;
	return error ? -1 : 0;
}

int rig_connect_from(const char *text, uint16_t port, uint16_t source_port)
{
	struct endpoint to = {.port = port}, from = {.port = source_port};
	struct sockaddr_storage name, any;
	int fd, one = 1, error;
	socklen_t n;

	CHECK(addr_parse(text, strlen(text), &to.addr));
	if (addr_is_v4(&to.addr))
		from.addr = addr_from_v4((const uint8_t[4]){0});
	n = endpoint_to_sockaddr(&to, &name);
	CHECK(endpoint_to_sockaddr(&from, &any) == n);
	fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
	CHECK(source_port == 0 || bind(fd, (struct sockaddr *)&any, n) == 0);
	if (connect(fd, (struct sockaddr *)&name, n) < 0 &&
	    (errno != EINPROGRESS || finish_connect(fd) < 0)) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	return fd;
}

int rig_connect(const char *text, uint16_t port)
{
	return rig_connect_from(text, port, 0);
}

unsigned rig_sent_again(int fd)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);

	CHECK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0);
	return info.tcpi_total_retrans;
}

bool rig_echoes(int fd, size_t n)
{
	struct timeval limit = {.tv_sec = 3};
	uint8_t sent[4096], got[4096];

	CHECK(n <= sizeof(sent));
	for (size_t i = 0; i < n; i++)
		sent[i] = (uint8_t)(i * 7 + n);
	CHECK(fcntl(fd, F_SETFL, 0) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
	if (send(fd, sent, n, MSG_NOSIGNAL) != (ssize_t)n)
		return false;
	return recv(fd, got, n, MSG_WAITALL) == (ssize_t)n && memcmp(sent, got, n) == 0;
}

int64_t rig_ms(void)
{
	return mono_now().ns / 1000000;
}
