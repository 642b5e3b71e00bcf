/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/options.h"

#include <stddef.h>
#include <string.h>

#include "base/nearest.h"

static const struct {
	const char *key;
	size_t at; /* in struct docker_network_options */
	bool path; /* absolute, since the driver's working directory is nobody's */
} keys[] = {
	{"policy", offsetof(struct docker_network_options, policy), false},
	{"allow", offsetof(struct docker_network_options, allow), false},
	{"deny", offsetof(struct docker_network_options, deny), false},
	{"only", offsetof(struct docker_network_options, only), false},
	{"pcap", offsetof(struct docker_network_options, pcap), true},
};

static int refuse_unknown(const char *key, struct err *e)
{
	struct nearest near = nearest_to(key);

	for (size_t i = 0; i < sg_array_len(keys); i++)
		nearest_offer(&near, keys[i].key);
	if (near.word)
		return err_set(e, "-o %s: there is no such option; did you mean -o %s?", key,
			       near.word);
	return err_set(e,
		       "-o %s: there is no such option; there are policy, allow, deny, only and "
		       "pcap",
		       key);
}

static int take(const struct docker_option *o, struct docker_network_options *out, struct err *e)
{
	for (size_t i = 0; i < sg_array_len(keys); i++) {
		if (strcmp(keys[i].key, o->key) != 0)
			continue;
		if (!*o->value)
			return err_set(e, "-o %s: it is empty; leave it out, or say what it is",
				       o->key);
		if (keys[i].path && *o->value != '/')
			return err_set(e, "-o %s=%s: it has to be an absolute path", o->key,
				       o->value);
		*(const char **)((char *)out + keys[i].at) = o->value;
		return 0;
	}
	return refuse_unknown(o->key, e);
}

int docker_network_options_read(const struct docker_message *m, struct docker_network_options *out,
				struct err *e)
{
	*out = (struct docker_network_options){0};
	for (size_t i = 0; i < m->n_options; i++)
		if (take(&m->options[i], out, e))
			return -1;
	if (m->internal)
		return err_set(e, "--internal: the policy says what leaves; take -o policy=deny in "
				  "its place");
	return 0;
}
