/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox_name.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

/* `sandgate net NAME` and `sandgate net allow NAME` must never mean two things. */
static const char *const reserved[] = {
	"allow",       "attach",	"audit",  "config",  "create",	 "deny",    "detach",
	"docker-args", "docker-driver", "doctor", "egress",  "exec",	 "explain", "help",
	"learn",       "log",		"ls",	  "net",     "oci-hook", "org",	    "pcap",
	"permissions", "policy",	"proof",  "rm",	     "run",	 "setup",   "show",
	"start",       "stop",		"verify", "version", "vm-net",
};

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool sandbox_name_valid(const char *s)
{
	size_t n = 0;

	if (!is_name_char(s[0]))
		return false;
	while (is_name_char(s[n]) || s[n] == '-')
		n++;
	if (s[n] || n > SANDBOX_NAME_MAX)
		return false;
	for (size_t i = 0; i < sg_array_len(reserved); i++)
		if (strcmp(s, reserved[i]) == 0)
			return false;
	return true;
}

/* The last part of a path, without slashes; n is its length. */
static const char *last_part(const char *path, size_t *n)
{
	size_t end = strlen(path), begin;

	while (end && path[end - 1] == '/')
		end--;
	begin = end;
	while (begin && path[begin - 1] != '/')
		begin--;
	*n = end - begin;
	return path + begin;
}

char *sandbox_name_from_path(const char *path, char out[SANDBOX_NAME_SIZE])
{
	size_t n, used = 0;
	const char *part = last_part(path, &n);

	for (size_t i = 0; i < n && used < SANDBOX_NAME_MAX; i++) {
		char c = part[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (is_name_char(c))
			out[used++] = c;
		else if (used && out[used - 1] != '-')
			out[used++] = '-';
	}
	while (used && out[used - 1] == '-')
		used--;
	out[used] = 0;
	if (!used)
		memcpy(out, "sandbox", sizeof("sandbox"));
	return out;
}

char *sandbox_name_numbered(const char *base, unsigned n, char out[SANDBOX_NAME_SIZE])
{
	char suffix[16];
	int digits = snprintf(suffix, sizeof(suffix), "-%u", n);
	int room = SANDBOX_NAME_MAX - digits;

	snprintf(out, SANDBOX_NAME_SIZE, "%.*s%s", room, base, suffix);
	return out;
}
