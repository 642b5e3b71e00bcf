/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "cni/version.h"

#define POD_ANNOTATIONS "io.kubernetes.cri.pod-annotations"
#define PREFIX		"sandgate."

/* One key, and what reads its value. */
struct key {
	const char *name;
	enum cni_code (*read)(struct cni_config *c, const json_t *value, struct err *e);
};

static enum cni_code wrong(struct err *e, const char *key, const char *what)
{
	err_set(e, "%s: %s", key, what);
	return CNI_BAD_CONFIG;
}

/* One line of text without control characters. */
static bool is_word(const json_t *v)
{
	const char *s = json_string_value(v);
	size_t n = json_string_length(v);

	if (!s || !n || n > CNI_WORD_MAX)
		return false;
	for (; *s; s++)
		if (printable_control((char *)s))
			return false;
	return true;
}

static enum cni_code add_word(struct cni_words *to, const json_t *v, const char *key, struct err *e)
{
	if (!is_word(v))
		return wrong(e, key,
			     "items are texts of one line, such as \"github\" or "
			     "\"api.example.com:443\"");
	if (to->n == CNI_WORDS_MAX)
		return wrong(e, key, "there are too many; put them into a policy file");
	to->v[to->n++] = json_string_value(v);
	to->v[to->n] = NULL;
	return CNI_OK;
}

/* "a,b" or ["a", "b"]. */
static enum cni_code read_words(struct cni_words *to, const json_t *v, const char *key,
				struct err *e)
{
	enum cni_code code = CNI_OK;
	json_t *one;
	size_t i;

	if (json_is_string(v))
		return add_word(to, v, key, e);
	if (!json_is_array(v))
		return wrong(e, key, "a list of items is wanted, such as [\"github\"]");
	json_array_foreach(v, i, one)
	{
		if (!code)
			code = add_word(to, one, key, e);
	}
	return code;
}

static enum cni_code read_flag(bool *out, const json_t *v, const char *key, struct err *e)
{
	if (!json_is_boolean(v))
		return wrong(e, key, "it is true or false");
	*out = json_is_true(v);
	return CNI_OK;
}

static enum cni_code read_policy(struct cni_config *c, const json_t *v, struct err *e)
{
	if (!is_word(v))
		return wrong(e, "policy",
			     "a preset is wanted, such as \"standard\", or the "
			     "absolute path of a policy file");
	c->policy = json_string_value(v);
	if (*c->policy != '/' && strchr(c->policy, '/'))
		return wrong(e, "policy", "a policy file is named by its absolute path");
	return CNI_OK;
}

static enum cni_code read_allow(struct cni_config *c, const json_t *v, struct err *e)
{
	return read_words(&c->allow, v, "allow", e);
}

static enum cni_code read_deny(struct cni_config *c, const json_t *v, struct err *e)
{
	return read_words(&c->deny, v, "deny", e);
}

static enum cni_code read_only(struct cni_config *c, const json_t *v, struct err *e)
{
	return read_words(&c->only, v, "only", e);
}

static enum cni_code read_pcap(struct cni_config *c, const json_t *v, struct err *e)
{
	if (!is_word(v) || *json_string_value(v) != '/')
		return wrong(e, "pcap", "the absolute path of a folder is wanted");
	c->pcap = json_string_value(v);
	return CNI_OK;
}

static enum cni_code read_inbound(struct cni_config *c, const json_t *v, struct err *e)
{
	bool inbound = true;
	enum cni_code code = read_flag(&inbound, v, "inbound", e);

	c->no_inbound = !inbound;
	return code;
}

/* Read on its own, when the rest is known. */
static enum cni_code read_annotations(struct cni_config *c, const json_t *v, struct err *e)
{
	bool ignored;

	return read_flag(&ignored, v, "annotations", e);
}

static enum cni_code read_ipam(struct cni_config *c, const json_t *v, struct err *e)
{
	const json_t *type = json_object_get(v, "type");

	/* An empty one is what some tools write for none. */
	if (json_is_object(v) && json_object_size(v) == 0)
		return CNI_OK;
	if (!is_word(type) || strchr(json_string_value(type), '/') ||
	    *json_string_value(type) == '.')
		return wrong(e, "ipam", "its `type` is the name of a plugin, such as host-local");
	/* It would run itself, with the same configuration, without an end. */
	if (json_equal(type, json_object_get(c->document, "type")))
		return wrong(e, "ipam",
			     "its `type` is this plugin, which gives no addresses; "
			     "take another, such as host-local");
	c->ipam = json_string_value(type);
	return CNI_OK;
}

static enum cni_code read_before(struct cni_config *c, const json_t *v, struct err *e)
{
	if (!json_is_object(v))
		return wrong(e, "prevResult", "it is the result of the plugin before");
	c->before = v;
	return CNI_OK;
}

/* --- what a runtime says: runtimeConfig --- */

static bool read_port(const json_t *v, uint16_t *out)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < 1 || n > 65535)
		return false;
	*out = (uint16_t)n;
	return true;
}

static bool read_host_ip(const json_t *v, struct addr *out)
{
	const char *text = v ? json_string_value(v) : "";

	if (!text)
		return false;
	if (!*text)
		text = "0.0.0.0";
	return addr_parse(text, strlen(text), out);
}

static enum cni_code add_port(struct cni_config *c, const json_t *v, struct err *e)
{
	const json_t *protocol = json_object_get(v, "protocol");
	struct attach_publish one = {0};

	if (!read_port(json_object_get(v, "hostPort"), &one.host.port) ||
	    !read_port(json_object_get(v, "containerPort"), &one.sandbox) ||
	    !read_host_ip(json_object_get(v, "hostIP"), &one.host.addr))
		return wrong(e, "portMappings",
			     "hostPort and containerPort are from 1 to 65535, "
			     "hostIP is an address");
	if (protocol &&
	    (!json_is_string(protocol) || strcasecmp(json_string_value(protocol), "tcp") != 0)) {
		err_set(e, "portMappings: only TCP is published by the gate; put sandgate behind a "
			   "plugin such as bridge, with portmap, for the rest");
		return CNI_BAD_FIELD;
	}
	if (c->n_ports == CNI_PORTS_MAX)
		return wrong(e, "portMappings", "there are too many");
	c->ports[c->n_ports++] = one;
	return CNI_OK;
}

static enum cni_code read_ports(struct cni_config *c, const json_t *v, struct err *e)
{
	enum cni_code code = CNI_OK;
	json_t *one;
	size_t i;

	if (!json_is_array(v))
		return wrong(e, "portMappings", "a list is wanted");
	json_array_foreach(v, i, one)
	{
		if (!code)
			code = add_port(c, one, e);
	}
	return code;
}

/* What is given for the IPAM plugin, and annotations, which are read on their own. */
static enum cni_code skip(struct cni_config *c, const json_t *v, struct err *e)
{
	return CNI_OK;
}

static enum cni_code read_keys(struct cni_config *c, const json_t *object, const struct key *keys,
			       size_t n, enum cni_code unknown, struct err *e)
{
	struct nearest near;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)object, name, value)
	{
		enum cni_code code;
		size_t i = 0;

		while (i < n && strcmp(keys[i].name, name) != 0)
			i++;
		if (i < n) {
			code = keys[i].read(c, value, e);
			if (code)
				return code;
			continue;
		}
		near = nearest_to(name);
		for (i = 0; i < n; i++)
			nearest_offer(&near, keys[i].name);
		if (near.word)
			err_set(e, "%s: unknown; did you mean %s?", name, near.word);
		else
			err_set(e, "%s: unknown", name);
		return unknown;
	}
	return CNI_OK;
}

static enum cni_code read_runtime(struct cni_config *c, const json_t *v, struct err *e)
{
	static const struct key keys[] = {
		{"portMappings", read_ports}, {POD_ANNOTATIONS, skip}, {"ips", skip},
		{"ipRanges", skip},	      {"aliases", skip},
	};
	enum cni_code code;

	if (!json_is_object(v))
		return wrong(e, "runtimeConfig", "an object is wanted");
	code = read_keys(c, v, keys, sg_array_len(keys), CNI_BAD_FIELD, e);
	if (code == CNI_BAD_FIELD)
		err_prefix(e, "runtimeConfig");
	return code;
}

/* --- what a pod says --- */

static enum cni_code take_pod_policy(struct cni_config *c, const json_t *v, struct err *e)
{
	/* Its author names no files of the machine. */
	if (!is_word(v) || strchr(json_string_value(v), '/'))
		return wrong(e, "policy", "a preset is wanted, such as \"standard\"");
	c->policy = json_string_value(v);
	return CNI_OK;
}

static enum cni_code take_pod(struct cni_config *c, const json_t *pod, struct err *e)
{
	static const struct {
		const char *name;
		enum cni_code (*read)(struct cni_config *c, const json_t *value, struct err *e);
	} keys[] = {{"policy", take_pod_policy},
		    {"allow", read_allow},
		    {"only", read_only},
		    {"deny", read_deny}};
	enum cni_code code = CNI_OK;
	const char *name;
	json_t *value;

	if (json_object_get(pod, PREFIX "policy") || json_object_get(pod, PREFIX "only")) {
		c->policy = NULL;
		c->allow = c->only = (struct cni_words){0};
	}
	json_object_foreach((json_t *)pod, name, value)
	{
		size_t i = 0;

		if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		while (i < sg_array_len(keys) && strcmp(keys[i].name, name + strlen(PREFIX)) != 0)
			i++;
		c->of_pod = true;
		code = i < sg_array_len(keys) ? keys[i].read(c, value, e)
					      : wrong(e, name, "unknown");
		if (code)
			break;
	}
	return code;
}

static enum cni_code read_pod(struct cni_config *c, struct err *e)
{
	const json_t *runtime = json_object_get(c->document, "runtimeConfig");
	const json_t *pod = json_object_get(runtime, POD_ANNOTATIONS);
	enum cni_code code;

	if (!json_is_true(json_object_get(c->document, "annotations")) || !pod)
		return CNI_OK;
	if (!json_is_object(pod))
		return wrong(e, POD_ANNOTATIONS, "an object is wanted");
	code = take_pod(c, pod, e);
	if (code)
		err_prefix(e, "the pod's annotations");
	return code;
}

/* --- all of it --- */

static enum cni_code check(const struct cni_config *c, struct err *e)
{
	if (c->only.n && (c->policy || c->allow.n))
		return wrong(e, "only", "it means nothing else; leave `policy` and `allow` out");
	return CNI_OK;
}

static enum cni_code read_all(struct cni_config *c, struct err *e)
{
	static const struct key keys[] = {
		{"policy", read_policy},
		{"allow", read_allow},
		{"deny", read_deny},
		{"only", read_only},
		{"inbound", read_inbound},
		{"annotations", read_annotations},
		{"pcap", read_pcap},
		{"ipam", read_ipam},
		{"prevResult", read_before},
		{"runtimeConfig", read_runtime},
		{"cniVersion", skip},
		{"name", skip},
		{"type", skip},
		{"args", skip},
		{"capabilities", skip},
		{"dns", skip},
		{"cni.dev/attachments", skip},
		{"cni.dev/valid-attachments", skip},
	};
	enum cni_code code = read_keys(c, c->document, keys, sg_array_len(keys), CNI_BAD_CONFIG, e);

	if (!code)
		code = read_pod(c, e);
	return code ? code : check(c, e);
}

static enum cni_code read_version(struct cni_config *c, struct err *e)
{
	const json_t *v = json_object_get(c->document, "cniVersion");

	if (!v || (json_is_string(v) && !*json_string_value(v)))
		err_set(e, "cniVersion is not said; " CNI_NEWEST ", 0.4.0 and 0.3.1 are spoken");
	else if (!json_is_string(v))
		return wrong(e, "cniVersion", "a text is wanted, such as \"" CNI_NEWEST "\"");
	else if (!cni_version_is_known(json_string_value(v)))
		err_set(e, "cniVersion %.32s is not spoken; " CNI_NEWEST ", 0.4.0 and 0.3.1 are",
			json_string_value(v));
	else
		return snprintf(c->version, sizeof(c->version), "%s", json_string_value(v)), CNI_OK;
	return CNI_BAD_VERSION;
}

enum cni_code cni_config_parse(struct span text, struct cni_config *out, struct err *e)
{
	json_error_t where;
	enum cni_code code;

	memset(out, 0, sizeof(*out));
	if (text.n > CNI_CONFIG_MAX) {
		err_set(e, "the configuration is longer than %d octets", CNI_CONFIG_MAX);
		return CNI_BAD_JSON;
	}
	out->document = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, &where);
	if (!json_is_object(out->document)) {
		err_set(e, "the configuration is not a JSON object: line %d: %s", where.line,
			out->document ? "it is another value" : where.text);
		json_decref(out->document);
		out->document = NULL;
		return CNI_BAD_JSON;
	}
	code = read_version(out, e);
	if (!code)
		code = read_all(out, e);
	if (code)
		cni_config_free(out);
	return code;
}

void cni_config_free(struct cni_config *c)
{
	char version[CNI_VERSION_SIZE];

	memcpy(version, c->version, sizeof(version));
	json_decref(c->document);
	memset(c, 0, sizeof(*c));
	memcpy(c->version, version, sizeof(version));
}
