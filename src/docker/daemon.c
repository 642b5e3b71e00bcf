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
		  resolved_conf[] = "root/run/systemd/resolve/resolv.conf",
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

/* proc(5): field 22 of stat, after the name in its brackets: clock ticks since the machine began. */
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

/* Whether what dockerd read when it began is what is there now. A link counts as itself. */
static bool is_as_it_began(const struct daemon *d, const char *path)
{
	struct stat st;

	return fstatat(d->proc, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ctim.tv_sec < d->began.tv_sec;
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

static int refuse(const char *file, struct err *e)
{
	return err_set(
		e,
		"%s names a server on the host's loopback, which dockerd asks past the gate "
		"what containers ask it; set \"dns\" in /etc/docker/daemon.json to an address "
		"that is no loopback address, any will do, and restart docker",
		file);
}

static enum dns_servers read_servers(const struct daemon *d, const char *path)
{
	size_t n;
	_cleanup_free_ char *text = read_text(d->proc, path, &n);

	/* Without one dockerd has servers of its own, which it asks from the container's. */
	if (!text && errno == ENOENT)
		return DNS_SERVERS_ELSEWHERE;
	return text && n < FILE_MAX ? dns_way_servers(span_of(text, n)) : DNS_SERVERS_LOOPBACK;
}

/*
 * Which of the two files it reads, dockerd decides when it begins. So the second one counts only
 * where the first one already stood as it does now.
 */
static int check_names(const struct daemon *d, struct err *e)
{
	enum dns_servers first = read_servers(d, resolv_conf);

	if (first == DNS_SERVERS_ELSEWHERE || has_own_servers(d))
		return 0;
	if (first == DNS_SERVERS_LOOPBACK)
		return refuse("/etc/resolv.conf", e);
	if (!is_as_it_began(d, resolv_conf))
		return err_set(e, "/etc/resolv.conf is newer than dockerd, which may ask "
				  "systemd-resolved past the gate what containers ask it; restart "
				  "docker");
	return read_servers(d, resolved_conf) == DNS_SERVERS_ELSEWHERE
		       ? 0
		       : refuse("/run/systemd/resolve/resolv.conf", e);
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
