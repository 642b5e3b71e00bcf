/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pcap_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/path.h"

/* 0 where it was not given. */
static int read_number(const struct args *a, const char *option, uint64_t most, uint64_t *out,
		       struct err *e)
{
	const struct args_values *v = args_named(a, option);
	const char *text = v->n ? v->values[0] : "0";
	char *end;

	*out = strtoull(text, &end, 10);
	if (!v->n || (*text >= '1' && *text <= '9' && !*end && *out <= most))
		return 0;
	return err_set(e, "--%s: \"%s\" is no number from 1 to %llu", option, text,
		       (unsigned long long)most);
}

static int make_absolute(const char *file, char path[PATH_MAX], struct err *e)
{
	char cwd[PATH_MAX];

	if (!*file)
		return err_set(e, "--pcap: the name is empty; name a file");
	if (getcwd(cwd, sizeof(cwd)) && path_join(cwd, file, path))
		return 0;
	return err_set(e, "--pcap %s: the path is too long", file);
}

int pcap_words_read(const struct args *a, const char *file, struct pcap_words *out, struct err *e)
{
	struct capture_request *r = &out->request;

	*r = (struct capture_request){.keys = args_named(a, "pcap-keys")->n > 0};
	if (read_number(a, "pcap-max-mb", CAPTURE_MAX_MB_MOST, &r->max_mb, e) ||
	    read_number(a, "pcap-files", CAPTURE_FILES_MOST, &r->files, e))
		return -1;
	if (!file && (r->max_mb || r->files || r->keys))
		return err_set(e, "--%s: there is no capture without a file; name one",
			       r->keys	  ? "pcap-keys"
			       : r->files ? "pcap-files"
					  : "pcap-max-mb");
	if (!file)
		return 0;
	r->file = out->path;
	return make_absolute(file, out->path, e);
}
