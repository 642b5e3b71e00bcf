/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for QEMU, one a line: whatever they are, what is passed on is options that may be, and each of
 * its files is one that was found.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sandbox/engine/qemu_options.h"
#include "sandbox/engine/qemu_words.h"

enum { WORDS = 32, TEXT = 4096 };

/* Files are what begins with /f. */
static enum path_kind kind(const void *ctx, const char *path)
{
	return path[0] == '/' && path[1] == 'f' ? PATH_FILE : PATH_NONE;
}

static void check_files(char **files)
{
	for (; files && *files; files++)
		if (kind(NULL, *files) != PATH_FILE)
			abort();
}

/* Options that are known, each with its value. */
static void check_words(char **words)
{
	for (; words && *words; words++) {
		const struct qemu_option *o = qemu_option_find(*words + 1 + ((*words)[1] == '-'));

		if (**words != '-' || !o || o->kind == QEMU_REFUSED)
			abort();
		if (o->kind != QEMU_SWITCH && !*++words)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tree tree = {.kind = kind};
	char text[TEXT], *at = text;
	const char *words[WORDS + 1];
	struct qemu_request r = {.host = &tree, .cwd = "/", .words = words};
	struct qemu_words q;
	struct err e;
	size_t n = 0;

	size = size < TEXT ? size : TEXT - 1;
	memcpy(text, data, size);
	text[size] = 0;
	while (n < WORDS && at)
		words[n++] = strsep(&at, "\n");
	words[n] = NULL;
	if (qemu_words_read(&r, &q, &e))
		return 0;
	check_files(q.ro);
	check_files(q.rw);
	check_words(q.words);
	qemu_words_free(&q);
	return 0;
}
