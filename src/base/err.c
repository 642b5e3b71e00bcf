/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

/* A message may quote what a person or a file wrote: none of it reaches a terminal as control. */
static void make_printable(char *s)
{
	for (; *s; s++)
		for (size_t n = printable_control(s); n; n--)
			s[n - 1] = '?';
}

int err_set(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	make_printable(e->text);
	return -1;
}

int err_prefix(struct err *e, const char *fmt, ...)
{
	char old[ERR_MAX];
	size_t n;
	va_list ap;

	if (!e)
		return -1;
	memcpy(old, e->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", old);
	make_printable(e->text);
	return -1;
}

const char *err_why(int error)
{
	switch (error) {
	case EAGAIN:
		return "no more processes may be started; end some, or raise the limit (ulimit -u)";
	case EMFILE:
		return "too many open files; raise the limit (ulimit -n)";
	case ENFILE:
		return "too many open files on this machine; end what holds them";
	case EFBIG:
		return "the limit of a file's size is reached; raise it (ulimit -f)";
	case ENOMEM:
		return "out of memory; end other programs, or raise the limit (ulimit -v)";
	case ENOSPC:
	case EDQUOT:
		return "no space left; make room there";
	default:
		return strerror(error);
	}
}

void die(int status, const char *fmt, ...)
{
	struct err e;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	make_printable(e.text);
	fprintf(stderr, "sandgate: %s\n", e.text);
	exit(status);
}
