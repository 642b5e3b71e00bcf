/* SPDX-License-Identifier: Apache-2.0 */
/*
 * project: what a person's working directory says of the project in it: its sandgate.yaml, and the
 * languages that its files show. All of it is the sandbox's to write, so it is read with care and
 * bounded, and counts only when it was confirmed (trust.h).
 */
#ifndef SG_SANDBOX_PROJECT_H
#define SG_SANDBOX_PROJECT_H

#include <limits.h>

#include "audit/digest.h"
#include "policy/permission.h"
#include "sandbox/settings/trusted_file.h"

#define PROJECT_FILE "sandgate.yaml"
enum { PROJECT_FILE_MAX = 1024 * 1024, PROJECT_NAMES_MAX = 10000 };

struct project_file {
	char folder[PATH_MAX]; /* without links */
	char path[PATH_MAX];
	struct trusted_text
		text; /* read once: what is judged, confirmed and used are the same octets */
	struct digest digest;
	bool names_network; /* it has the key `network` */
};

/*
 * Looks in `cwd` and in the folders above it, and ends before the person's home, at the root, and
 * at a folder that is not theirs. 0; -ENOENT when there is none; -1 with the message: also for one
 * that is a link, somebody else's or for others to write.
 */
int project_find(const char *cwd, const char *home, struct project_file *out,
		 struct err *e) sg_must_check;
void project_free(struct project_file *p);

/*
 * The permissions of the languages that the folder's files show, sorted, NULL-terminated; free with
 * string_list_free(). A name counts when it is a regular file's; of patterns ("*.csproj") the first
 * PROJECT_NAMES_MAX names are looked at. Empty for a folder that cannot be read; NULL without
 * memory.
 */
char **project_languages(const struct catalogue *c, const char *folder);

#endif
