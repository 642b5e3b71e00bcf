/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "docker/dns_way.h"

enum { FILE_MAX = 1 << 20 };

static const char resolv_conf[] = "root/etc/resolv.conf",
		  usual_config[] = "/etc/docker/daemon.json";

struct daemon {
	int proc;	       /* of its folder in /proc: no other process can take its place */
	struct timespec began; /* wall clock */
};

/* A whole file as text to free; NULL with errno. What is longer than FILE_MAX is cut. */
static char *read_text(int proc, const char *path, size_t *n)
{
	_cleanup_fd_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = fd < 0 ? NULL : malloc(FILE_MAX);
	ssize_t r = 1;

	*n = 0;
	while (text && r > 0 && *n < FILE_MAX) {
		r = read(fd, text + *n, FILE_MAX - *n);
		*n += r > 0 ? (size_t)r : 0;
	}
	if (text && r < 0) {
		free(text);
		text = NULL;
	}
	return text;
}

/* proc(5): field 22 of stat, after the name in brackets: clock ticks since the machine began. */
static bool read_began(int proc, struct timespec *out)
{
	size_t n;
	_cleanup_free_ char *text = read_text(proc, "stat", &n);
	const char *at = text ? memrchr(text, ')', n) : NULL;
	struct timespec now, since;
	unsigned long long ticks;

	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			  "%*d %*d %*d %llu",
			  &ticks) != 1)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &since);
	out->tv_sec =
		now.tv_sec - since.tv_sec + (time_t)(ticks / (unsigned long)sysconf(_SC_CLK_TCK));
	out->tv_nsec = 0;
	return true;
}

/* Whether what dockerd read when it began is what is there now. */
static bool is_as_it_began(const struct daemon *d, const char *path)
{
	struct stat st;

	return fstatat(d->proc, path, &st, 0) == 0 && st.st_ctim.tv_sec < d->began.tv_sec;
}

static bool has_own_servers(const struct daemon *d)
{
	size_t n_words, n;
	_cleanup_free_ char *words = read_text(d->proc, "cmdline", &n_words), *config = NULL;
	struct span named = words ? dns_way_config_file(span_of(words, n_words)) : span_of("", 0);
	char path[PATH_MAX];

	if (words && dns_way_words_have_dns(span_of(words, n_words)))
		return true;
	if (!named.n)
		named = span_of_string(usual_config);
	if (named.p[0] != '/' || snprintf(path, sizeof(path), "root%.*s", (int)named.n,
					  (const char *)named.p) >= PATH_MAX)
		return false;
	config = is_as_it_began(d, path) ? read_text(d->proc, path, &n) : NULL;
	return config && dns_way_config_has_dns(span_of(config, n));
}

/*
 * /etc/resolv.conf as it is now: for networks with a name server of its own dockerd reads that file
 * when a container starts, and does not look for systemd-resolved's other one.
 */
static int check_names(const struct daemon *d, struct err *e)
{
	size_t n;
	_cleanup_free_ char *text = read_text(d->proc, resolv_conf, &n);
	bool missing = !text && errno == ENOENT;

	/* Without one dockerd has servers of its own, which it asks from the container's. */
	if (missing || (text && n < FILE_MAX && !dns_way_has_loopback(span_of(text, n))) ||
	    has_own_servers(d))
		return 0;
	return err_set(
		e, "/etc/resolv.conf names a server on the host's loopback, which dockerd asks, "
		   "past the gate, what containers ask it; set \"dns\" in "
		   "/etc/docker/daemon.json to the servers behind it (resolvectl dns), and "
		   "restart docker");
}

static int check_network(const struct daemon *d, struct err *e)
{
	struct stat its, own;

	if (fstatat(d->proc, "ns/net", &its, 0) < 0 || stat("/proc/self/ns/net", &own) < 0)
		return err_set(e, "dockerd's network cannot be told: %s", err_why(errno));
	if (its.st_dev != own.st_dev || its.st_ino != own.st_ino)
		return err_set(e,
			       "dockerd has another network namespace than the driver; start both "
			       "in the same");
	return 0;
}

int docker_daemon_check(pid_t pid, struct err *e)
{
	char path[32];
	struct daemon d;
	int rc;

	if (pid <= 0)
		return err_set(e,
			       "dockerd is not seen from the driver's PID namespace; start both in "
			       "the same");
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	d.proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d.proc < 0)
		return err_set(e, "dockerd: %s: %s", path, err_why(errno));
	rc = check_network(&d, e);
	if (rc == 0 && !read_began(d.proc, &d.began))
		rc = err_set(e, "dockerd: %s/stat is not understood", path);
	if (rc == 0)
		rc = check_names(&d, e);
	close(d.proc);
	return rc;
}
