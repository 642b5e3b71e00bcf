/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/question.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_MAX = 64, SHOWN_LINES_MAX = 200 };

bool question_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* Names and paths may be an agent's making: only plain ASCII reaches the terminal. */
static void put_plain(const char *prefix, const char *text, const char *end)
{
	fputs(prefix, stderr);
	for (; *text; text++)
		fputc(*text >= ' ' && *text < 0x7f ? *text : '?', stderr);
	fputs(end, stderr);
}

void question_show(const char *path, char *lines)
{
	char *save = NULL;
	unsigned n = 0;

	put_plain("sandgate: ", path, " asks for:\n");
	for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (++n <= SHOWN_LINES_MAX)
			put_plain("  ", line, "\n");
	if (n > SHOWN_LINES_MAX)
		fprintf(stderr, "  ... and %u lines more: read the file before you accept it\n",
			n - SHOWN_LINES_MAX);
}

/* One line. Not by stdio, which would take what the command is to read after it. */
static bool read_line(char out[ANSWER_MAX])
{
	size_t n = 0;
	ssize_t got;
	char c;

	for (;;) {
		got = read(STDIN_FILENO, &c, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || c == '\n')
			break;
		if (n < ANSWER_MAX - 1)
			out[n++] = c;
	}
	out[n] = 0;
	return got > 0;
}

int question_ask(const char *text, bool yes, struct err *e)
{
	char answer[ANSWER_MAX];
	struct err shown;

	if (yes)
		return 0;
	if (!question_can_ask())
		return err_set(e, "%s; nobody can be asked here: pass --yes to accept it", text);
	err_set(&shown, "%s", text);
	fprintf(stderr, "sandgate: %s\nsandgate: continue? [y/N] ", shown.text);
	fflush(stderr);
	if (read_line(answer) && (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0))
		return 0;
	return err_set(e, "declined; nothing was started or changed");
}
