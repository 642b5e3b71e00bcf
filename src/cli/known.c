/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/known.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "sandbox/control/client.h"
#include "sandbox/name_list.h"
#include "sandbox/runtime_dir.h"
#include "sandbox/state_dir.h"

/* A name is taken, and whether there is a sandbox of it will show: one is made, or taken away. */
enum { UNDER_WORK = KNOWN_RUNS + 1 };
enum { WORK_MS = 60000, STEP_MS = 10 };

static int find_kept(const char *name, int *dir, struct err *e)
{
	*dir = state_dir_open_sandbox(name, false, e);
	if (*dir == -ENOENT)
		return KNOWN_NOT;
	return *dir < 0 ? -1 : KNOWN_STOPPED;
}

static int find_in(const struct registry *r, const char *name, int *dir, struct err *e)
{
	*dir = registry_open_sandbox(r, name);
	if (*dir < 0)
		return find_kept(name, dir, e);
	if (faccessat(*dir, CONTROL_SOCKET_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return KNOWN_RUNS;
	close(*dir);
	return UNDER_WORK;
}

/* Under the lock, so that none is seen that is half made, half ended, or half kept. */
static int find_once(const char *name, int *dir, struct err *e)
{
	struct registry r;
	int rc = registry_open(&r, false, e), found = KNOWN_NOT, lock;

	*dir = -1;
	if (rc == -ENOENT)
		found = find_kept(name, dir, e);
	/* The very first registry may have been made, and the name kept, while it was looked. */
	if (found == KNOWN_STOPPED)
		rc = registry_open(&r, false, e);
	if (rc)
		return rc == -ENOENT ? found : -1;
	if (*dir >= 0)
		close(*dir);
	lock = registry_lock(&r);
	found = lock < 0 ? err_set(e, "%s: %s", r.path, err_why(-lock)) : find_in(&r, name, dir, e);
	if (lock >= 0)
		close(lock);
	registry_close(&r);
	return found;
}

int known_open(const char *name, int *dir, struct err *e)
{
	mono_t end = mono_add_ms(mono_now(), WORK_MS);
	struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	int found;

	while ((found = find_once(name, dir, e)) == UNDER_WORK) {
		if (!mono_before(mono_now(), end))
			return err_set(e,
				       "%s: another command makes it, or takes it away, and is not "
				       "done yet; try again when it is",
				       name);
		nanosleep(&step, NULL);
	}
	return found;
}

int known_find(const char *name, struct err *e)
{
	int dir, found = known_open(name, &dir, e);

	if (dir >= 0)
		close(dir);
	return found;
}

static bool is_same_file(int a, int b)
{
	struct stat one, other;

	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

bool known_is_still(const char *name, int dir)
{
	struct err ignored;
	int now, found = known_open(name, &now, &ignored);
	bool same = found == KNOWN_STOPPED && is_same_file(dir, now);

	if (now >= 0)
		close(now);
	return same;
}

static bool offer_all(struct nearest *near, char **names)
{
	bool any = false;

	for (char **p = names; p && *p; p++) {
		nearest_offer(near, *p);
		any = true;
	}
	return any;
}

int known_say_not(const char *name, struct err *e)
{
	struct nearest near = nearest_to(name);
	struct err ignored;
	char **running = client_list_names(&ignored), **kept = state_dir_list(&ignored);
	bool any = offer_all(&near, running);

	any = offer_all(&near, kept) || any;
	if (near.word)
		err_set(e, "%s: there is no sandbox of that name; did you mean \"%s\"?", name,
			near.word);
	else
		err_set(e, "%s: there is no sandbox of that name; %s", name,
			any ? "\"sandgate ls\" lists those that there are"
			    : "nor any other: make one with \"sandgate create\" or \"sandgate run\"");
	name_list_free(running);
	name_list_free(kept);
	return -1;
}

int known_open_running(const char *name, int *dir, struct err *e)
{
	switch (known_open(name, dir, e)) {
	case KNOWN_RUNS:
		return 0;
	case KNOWN_STOPPED:
		close(*dir);
		return err_set(e, "%s: it is stopped; start it with: sandgate start %s", name,
			       name);
	case KNOWN_NOT:
		return known_say_not(name, e);
	default:
		return -1;
	}
}

int known_require_running(const char *name, struct err *e)
{
	int dir, rc = known_open_running(name, &dir, e);

	if (rc == 0)
		close(dir);
	return rc;
}
