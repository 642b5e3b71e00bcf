/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/call.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "audit/digest.h"

enum { ID_MAX = 256, ID_SHOWN = 12, IFNAME_MAX = 15, IFNAME_SHOWN = 15, MARK_OCTETS = 4 };

static bool is_id(const char *s)
{
	size_t n = strlen(s);

	return n && n <= ID_MAX && isalnum((unsigned char)*s) &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

/* As the kernel's dev_valid_name(), and no variable of the plugin's is a path. */
static bool is_ifname(const char *s)
{
	size_t n = strlen(s);

	if (!n || n > IFNAME_MAX || strcmp(s, ".") == 0 || strcmp(s, "..") == 0 ||
	    strcmp(s, "lo") == 0)
		return false;
	for (; *s; s++)
		if (!isgraph((unsigned char)*s) || *s == '/' || *s == ':' || *s == '%')
			return false;
	return true;
}

/* Of the kernel's settings for all devices, and for those to come. DEL finds none, and is content. */
static bool is_kept_by_kernel(const struct cni_call *c)
{
	return c->command != CNI_DEL &&
	       (strcmp(c->ifname, "all") == 0 || strcmp(c->ifname, "default") == 0);
}

static enum cni_code read_command(const char *word, struct cni_call *out, struct err *e)
{
	static const char *const words[] = {[CNI_ADD] = "ADD",
					    [CNI_CHECK] = "CHECK",
					    [CNI_DEL] = "DEL",
					    [CNI_VERSION] = "VERSION"};

	for (size_t i = 0; word && i < sg_array_len(words); i++)
		if (strcmp(word, words[i]) == 0) {
			out->command = (enum cni_command)i;
			return CNI_OK;
		}
	err_set(e, "CNI_COMMAND is %s; it is ADD, CHECK, DEL or VERSION",
		word && *word ? word : "not set");
	return CNI_BAD_ENVIRONMENT;
}

static enum cni_code check(const struct cni_call *c, struct err *e)
{
	if (!c->container || !is_id(c->container))
		err_set(e,
			"CNI_CONTAINERID is %s; it is letters, digits, _, . and -, and begins "
			"with a letter or a digit",
			c->container ? c->container : "not set");
	else if (!c->ifname || !is_ifname(c->ifname))
		err_set(e, "CNI_IFNAME is %s; it is the name of a device, such as eth0",
			c->ifname ? c->ifname : "not set");
	else if (is_kept_by_kernel(c))
		err_set(e,
			"CNI_IFNAME is %s, a name that the kernel gives to no device; take another, "
			"such as eth0",
			c->ifname);
	else if (!c->netns && c->command != CNI_DEL)
		err_set(e, "CNI_NETNS is not set; it is the path of the container's network "
			   "namespace");
	else
		return CNI_OK;
	return CNI_BAD_ENVIRONMENT;
}

static const char *get_word(char *(*get)(const char *name), const char *name)
{
	const char *word = get(name);

	return word && *word ? word : NULL;
}

enum cni_code cni_call_read(char *(*get)(const char *name), struct cni_call *out, struct err *e)
{
	enum cni_code code;

	*out = (struct cni_call){0};
	code = read_command(get("CNI_COMMAND"), out, e);
	if (code || out->command == CNI_VERSION)
		return code;
	out->container = get_word(get, "CNI_CONTAINERID");
	out->ifname = get_word(get, "CNI_IFNAME");
	out->netns = get_word(get, "CNI_NETNS");
	out->path = get_word(get, "CNI_PATH");
	return check(out, e);
}

/*
 * Copies what a name may have, in small letters. True when that is all of it, and has no hyphen, which
 * is what stands between the parts.
 */
static bool put_word(char *out, const char *word, size_t n)
{
	bool all = true;

	for (size_t i = 0; i < n && word[i]; i++) {
		char c = word[i];

		out[i] = (char)(isdigit((unsigned char)c) || islower((unsigned char)c) ? c
				: isupper((unsigned char)c)			       ? tolower(c)
										       : '-');
		out[i + 1] = '\0';
		all = all && out[i] == c && c != '-';
	}
	return all;
}

static bool is_number(const char *id)
{
	return strspn(id, "0123456789abcdef") == strlen(id);
}

void cni_call_name(const struct cni_call *c, char out[SANDBOX_NAME_SIZE])
{
	char id[ID_SHOWN + 1] = "", device[IFNAME_SHOWN + 1] = "", mark[2 * MARK_OCTETS + 2] = "";
	bool other = strcmp(c->ifname, "eth0") != 0;
	bool exact = put_word(id, c->container, ID_SHOWN) &&
		     (strlen(c->container) <= ID_SHOWN || is_number(c->container));

	if (other)
		exact = put_word(device, c->ifname, IFNAME_SHOWN) && exact;
	if (!exact) {
		/* With the NUL between them, so that no two pairs are the same octets. */
		const struct span both[] = {span_of(c->container, strlen(c->container) + 1),
					    span_of_string(c->ifname)};
		struct digest d = digest_of(both, sg_array_len(both));

		mark[0] = '-';
		for (size_t i = 0; i < MARK_OCTETS; i++)
			snprintf(mark + 1 + 2 * i, 3, "%02x", d.b[i]);
	}
	snprintf(out, SANDBOX_NAME_SIZE, "cni-%s%s%s%s", id, other ? "-" : "", device, mark);
}
