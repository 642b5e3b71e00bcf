/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: runs a fuzz target over files and folders of files, without libFuzzer.
 *
 * Linked in place of libFuzzer's main, so that every corpus is an ordinary
 * test. Each input is copied to memory of exactly its size: under
 * AddressSanitizer an octet read past the end is then seen.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { INPUT_MAX = 1 << 20 };

static unsigned replayed;

static void fail(const char *path)
{
	fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
	exit(1);
}

static void replay_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	FILE *f = fopen(path, "rb");

	if (!f || !data || fread(data, 1, size, f) != size)
		fail(path);
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	replayed++;
}

static void replay_folder(const char *path);

static void replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		fail(path);
	if (S_ISDIR(st.st_mode))
		replay_folder(path);
	else if (st.st_size <= INPUT_MAX)
		replay_file(path, (size_t)st.st_size);
}

static void replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	char inner[4096];

	if (!dir)
		fail(path);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name) <
		    sizeof(inner))
			replay(inner);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (replayed == 0) {
		fputs("replay: no input: the corpus is empty\n", stderr);
		return 1;
	}
	printf("%u inputs\n", replayed);
	return 0;
}
