/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background: a supervisor that outlives the command that started it: a session of its own, no
 * terminal, its messages in a log of the sandbox's folder of state.
 */
#ifndef SG_SANDBOX_BACKGROUND_H
#define SG_SANDBOX_BACKGROUND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "sandbox/sandbox_name.h"

/*
 * Forks, and in the child calls work(ctx, ready), whose result is the child's exit status. Until
 * the child says background_ready() what it and the engine write to standard error is shown to the
 * person. Returns in the parent alone: 0 when the child is ready, its exit status when it has ended
 * before that, or 125 with the message when there is no child; *e is empty otherwise.
 */
int background_start(int (*work)(void *ctx, int ready), void *ctx, struct err *e) sg_must_check;

/*
 * The same for one that is nobody's child: whoever calls has none to wait for, and prints nothing.
 * The `n` descriptors of `fds`, at most BACKGROUND_FDS_MAX, of which any may be -1, are those that
 * the child has, under other numbers. 0 when it has ended or is ready: then it has a name. What it
 * wrote to standard error until then is in `text`, cut to its room. -1 with the message.
 */
enum { BACKGROUND_FDS_MAX = 4 };
typedef int background_work_fn(void *ctx, int ready, const int *fds);

struct background_said {
	char name[SANDBOX_NAME_SIZE]; /* "": it has failed */
	char text[4096];
};

int background_start_apart(background_work_fn *work, void *ctx, const int *fds, size_t n,
			   struct background_said *said, struct err *e) sg_must_check;

/*
 * In the child: from now on messages go to the log of `sandbox`, or, when it is not kept, to one for
 * all of those. Closes `ready`. 0 or -1 with the message: also, of one that is nobody's child, when
 * who started it has gone and does not hear that it is ready.
 */
int background_ready(const char *sandbox, bool kept, int ready, struct err *e) sg_must_check;

/*
 * The log of `sandbox`: its size in octets, and showing what has been added since, on standard
 * error. One that is not there is empty.
 */
off_t background_log_size(const char *sandbox);
void background_log_show(const char *sandbox, off_t since);

/* "2026-11-29T18:40:12Z " where messages go to a log, "" elsewhere. Returns out. */
enum { BACKGROUND_TIME_MAX = 32 };
const char *background_time(char out[BACKGROUND_TIME_MAX]);

/* "NAME: " where the log is that of many sandboxes, "" elsewhere. */
const char *background_name(void);

#endif
