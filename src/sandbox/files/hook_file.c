/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/hook_file.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/settings/trusted_file.h"

static int own_path(char out[PATH_MAX], struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

	if (n < 0)
		return err_set(e, "the path of sandgate itself: %s", err_why(errno));
	out[n] = 0;
	if (access(out, X_OK) < 0)
		return err_set(e, "%s: %s; sandgate was replaced while it ran, start it again", out,
			       strerror(errno));
	return 0;
}

static const struct {
	const char *file, *stage, *option; /* option: of `sandgate oci-hook`, or NULL */
} stages[HOOK_STAGES] = {
	[HOOK_CREATE_RUNTIME] = {HOOK_FILE_NAME, "createRuntime", NULL},
	[HOOK_PRECREATE] = {"sandgate-precreate.json", "precreate", "--precreate"},
};

char *hook_file_text(enum hook_stage stage, struct err *e)
{
	char path[PATH_MAX], *text;
	json_t *o;

	if (own_path(path, e))
		return NULL;
	o = json_pack("{s:s, s:{s:s, s:[s, s, s*]}, s:{s:{s:s}}, s:[s]}", "version", "1.0.0",
		      "hook", "path", path, "args", "sandgate", "oci-hook", stages[stage].option,
		      "when", "annotations", "^sandgate\\.", ".*", "stages", stages[stage].stage);
	text = json_dumps(o, JSON_INDENT(2));
	json_decref(o);
	if (!text)
		err_set(e, "%s: the path cannot be written as JSON", path);
	return text;
}

int hook_file_write(int folder, enum hook_stage stage, struct err *e)
{
	char *text = hook_file_text(stage, e);
	int rc;

	if (!text)
		return -1;
	rc = trusted_file_replace(folder, stages[stage].file, span_of_string(text), 0644);
	free(text);
	return rc ? err_set(e, "%s: %s", stages[stage].file, err_why(-rc)) : 0;
}
