/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net log reads the files of the connection log itself: that of a sandbox that has stopped as well,
 * and nothing of the sandbox's waits for whoever reads. With --follow the kernel tells of what is
 * written (inotify), and the registry of the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "audit/connection_reader.h"
#include "audit/entry.h"
#include "cli/cli.h"
#include "cli/known.h"
#include "cli/log_text.h"
#include "cli/output.h"
#include "cli/since.h"
#include "sandbox/log/log_folder.h"
#include "sandbox/run.h"

/* How late the end of a sandbox may be seen; what is written is seen at once. */
enum { END_MS = 200 };

struct view {
	const char *name;
	struct connection_reader reader;
	char since[ENTRY_TIME + 1]; /* empty: from the beginning */
	const char *host;	    /* a pattern; NULL: all */
	bool denied, json;
	uint64_t unreadable; /* lines that are no event: nobody is to take them for none */
};

/* --- one event --- */

static bool fits(const char *pattern, const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text && fnmatch(pattern, text, FNM_CASEFOLD) == 0;
}

static bool is_wanted(const struct view *v, const json_t *event)
{
	const char *time = json_string_value(json_object_get(event, "time"));
	const char *verdict = json_string_value(json_object_get(event, "verdict"));

	if (!time || !verdict || strcmp(time, v->since) < 0)
		return false;
	if (v->host && !fits(v->host, event, "name") && !fits(v->host, event, "address"))
		return false;
	return !v->denied || strcmp(verdict, "deny") == 0;
}

static void print_json(const json_t *event)
{
	json_dumpf(event, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
}

static void print_line(struct view *v, struct span line)
{
	json_t *event = json_loadb((const char *)line.p, line.n, 0, NULL);

	if (event && is_wanted(v, event)) {
		if (v->json)
			print_json(event);
		else
			log_text_print(event);
	}
	v->unreadable += !event;
	json_decref(event);
}

/* All that there is now. 0 or -errno; -EPIPE when nobody reads. */
static int print_all(struct view *v)
{
	struct span line;
	int rc;

	while ((rc = connection_reader_next(&v->reader, &line)) == 1)
		print_line(v, line);
	if (fflush(stdout) || ferror(stdout))
		return -EPIPE;
	return rc;
}

/* --- following --- */

static bool runs(const char *name)
{
	struct err ignored;

	return known_find(name, &ignored) == KNOWN_RUNS;
}

static void forget_news(int fd)
{
	char room[4096];

	while (read(fd, room, sizeof(room)) > 0)
		;
}

static int watch(int dir)
{
	char path[64];
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (fd >= 0 && inotify_add_watch(fd, path, IN_MODIFY | IN_CREATE) < 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* Until the sandbox has ended: what is written before that is there when it has. */
static int follow(struct view *v)
{
	_cleanup_fd_ int news = watch(v->reader.dir);
	struct pollfd f = {.fd = news, .events = POLLIN};
	bool running = true;
	int rc = news < 0 ? -errno : 0;

	while (rc == 0 && running) {
		running = runs(v->name);
		rc = print_all(v);
		if (rc == 0 && running && poll(&f, 1, END_MS) > 0)
			forget_news(news);
	}
	return rc;
}

/* --- the command --- */

static int read_since(struct view *v, const char *text, struct err *e)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	if (since_parse(text, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, &ms, e))
		return -1;
	entry_print_time(ms, v->since);
	return 0;
}

static int open_connections(const char *name, struct err *e)
{
	_cleanup_fd_ int folder = log_folder_open(name, e);
	int fd;

	if (folder == -ENOENT)
		return known_say_not(name, e);
	if (folder < 0)
		return -1;
	fd = openat(folder, "connections", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set(e, "%s: it has never run, so there is no log of it", name);
	return fd < 0 ? err_set(e, "the log of %s: %s", name, err_why(errno)) : fd;
}

static int show(struct view *v, int dir, bool following, struct err *e)
{
	int rc = connection_reader_open(&v->reader, dir, *v->since ? v->since : NULL);

	if (rc == 0)
		rc = following ? follow(v) : print_all(v);
	connection_reader_close(&v->reader);
	if (v->unreadable)
		fprintf(stderr,
			"sandgate: the log of %s: %" PRIu64 " lines are damaged and not shown\n",
			v->name, v->unreadable);
	/* Nobody reads: output_finish() says so where that is an error. */
	if (rc == 0 || rc == -EPIPE)
		return 0;
	return err_set(e, "the log of %s: %s", v->name, err_why(-rc));
}

int cmd_net_log(const struct args *a)
{
	struct view v = {
		.name = a->words[0],
		.host = args_value(a, NET_LOG_HOST),
		.denied = args_has(a, NET_LOG_DENIED),
		.json = args_has(a, NET_LOG_JSON),
	};
	const char *since = args_value(a, NET_LOG_SINCE);
	struct err e;
	int dir, rc;

	if (since && read_since(&v, since, &e))
		return cli_fail(EXIT_USAGE, &e);
	dir = open_connections(v.name, &e);
	if (dir < 0)
		return cli_fail(EXIT_SANDGATE, &e);
	rc = show(&v, dir, args_has(a, NET_LOG_FOLLOW), &e);
	close(dir);
	return rc ? cli_fail(EXIT_SANDGATE, &e) : 0;
}
