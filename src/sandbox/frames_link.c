/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/frames_link.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* What the process counts is not trusted to be small. */
static const uint64_t count_max = INT64_MAX / 16;

static int make_counters(struct frames_link *f, struct err *e)
{
	void *p;

	if (f->counters)
		return 0;
	p = mmap(NULL, sizeof(*f->counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		 0);
	if (p == MAP_FAILED)
		return err_set(e, "no memory for counters of frames: %s", err_why(errno));
	f->counters = p;
	return 0;
}

static void become(const void *setup, int control, pid_t supervisor)
{
	frames_main(setup, control, supervisor);
}

int frames_link_start(struct frames_link *f, const struct frames_setup *s, struct err *e)
{
	struct frames_setup own = *s;
	json_t *ready;

	if (make_counters(f, e) < 0)
		return -1;
	own.counters = f->counters;
	f->process.heard = NULL;
	if (process_link_fork(&f->process, become, &own, e) < 0)
		return -1;
	ready = process_link_await_ready(&f->process, e);
	json_decref(ready);
	return ready ? 0 : -1;
}

struct saying {
	struct err *said;
	bool any;
};

/* The words are ours, the number is one: nothing that the process says reaches a terminal as it is. */
static void hear(void *ctx, const json_t *message)
{
	const char *op = json_string_value(json_object_get(message, "op"));
	json_int_t number = json_integer_value(json_object_get(message, "number"));
	struct saying *s = ctx;

	if (!op)
		return;
	if (strcmp(op, "length") == 0)
		err_set(s->said,
			"the machine's connection was closed: it announced a frame of %" JSON_INTEGER_FORMAT
			" octets, so no frame after it could be told",
			number);
	else if (strcmp(op, "stranger") == 0)
		err_set(s->said,
			"a process of user %" JSON_INTEGER_FORMAT
			" was refused at the socket of frames: it is for the user of sandgate and for root",
			number);
	else if (strcmp(op, "unanswerable") == 0 && number > 0 && number < 4096)
		err_set(s->said,
			"a monitor's frames were refused, since its own socket cannot be sent to: %s; "
			"let it bind one to an absolute path, as the user of sandgate",
			strerror((int)number));
	else
		return;
	s->any = true;
}

bool frames_link_hear(struct frames_link *f, struct err *said)
{
	struct saying s = {.said = said};

	f->process.ctx = &s;
	f->process.heard = hear;
	process_link_hear(&f->process);
	f->process.heard = NULL;
	return s.any;
}

uint64_t frames_link_refused(const struct frames_link *f)
{
	uint64_t n = f->counters ? f->counters->refused : 0;

	return n < count_max ? n : count_max;
}

void frames_link_free(struct frames_link *f)
{
	if (f->counters)
		munmap(f->counters, sizeof(*f->counters));
	f->counters = NULL;
}
