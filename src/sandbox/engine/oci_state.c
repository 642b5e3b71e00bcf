/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/oci_state.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

static const char prefix[] = "sandgate.";
static const char pod_annotation[] = "io.kubernetes.cri-o.SandboxID";
static const char manager_annotation[] = "io.container.manager";

static const char *const keys[OCI_KEYS] = {
	[OCI_POLICY] = "policy",   [OCI_ALLOW] = "allow", [OCI_DENY] = "deny",
	[OCI_PUBLISH] = "publish", [OCI_NAME] = "name",	  [OCI_SANDBOX] = "sandbox",
};

static json_t *load(struct span text, const char *what, size_t flags, struct err *e)
{
	json_error_t why;
	json_t *root = text.n > OCI_STATE_MAX ? NULL
					      : json_loadb((const char *)text.p, text.n,
							   JSON_REJECT_DUPLICATES | flags, &why);

	if (text.n > OCI_STATE_MAX)
		err_set(e, "%s is longer than %d octets", what, OCI_STATE_MAX);
	else if (!root)
		err_set(e, "%s is not JSON: %s", what, why.text);
	else if (!json_is_object(root)) {
		err_set(e, "%s is not a JSON object", what);
		json_decref(root);
		root = NULL;
	}
	return root;
}

/* --- the state --- */

static bool is_id(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-");

	return n > 0 && n <= OCI_ID_MAX && !s[n] && *s != '.';
}

/* jansson refuses a NUL within a text, and what is not UTF-8. */
static bool is_line(const char *s)
{
	const char *c = s;

	for (; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return c > s && c - s <= OCI_WORDS_MAX;
}

static int set_text(char **out, const char *text, struct err *e)
{
	*out = strdup(text);
	return *out ? 0 : err_set(e, "out of memory");
}

static int read_fixed(const json_t *root, struct oci_state *out, struct err *e)
{
	const json_t *pid = json_object_get(root, "pid");
	const char *id = json_string_value(json_object_get(root, "id"));
	const char *bundle = json_string_value(json_object_get(root, "bundle"));

	if (!json_is_integer(pid) || json_integer_value(pid) < 1 ||
	    json_integer_value(pid) > INT32_MAX)
		return err_set(e, "the container's state has no process; the hook is for "
				  "createRuntime");
	if (!id || !is_id(id))
		return err_set(e, "the container's state has no id that can be one");
	if (!bundle || *bundle != '/' || strlen(bundle) >= PATH_MAX)
		return err_set(e, "the container's state has no bundle");
	out->pid = (pid_t)json_integer_value(pid);
	return set_text(&out->id, id, e) || set_text(&out->bundle, bundle, e) ? -1 : 0;
}

static int say_unknown(const char *name, struct err *e)
{
	struct nearest near = nearest_to(name + strlen(prefix));

	for (size_t i = 0; i < OCI_KEYS; i++)
		nearest_offer(&near, keys[i]);
	if (near.word)
		return err_set(e, "the annotation %s is unknown; did you mean %s%s?", name, prefix,
			       near.word);
	return err_set(e,
		       "the annotation %s is unknown; there are sandgate.policy, .allow, .deny, "
		       ".publish and .name",
		       name);
}

static int read_own(struct oci_state *out, const char *name, const json_t *value, struct err *e)
{
	const char *key = name + strlen(prefix), *text = json_string_value(value);

	for (size_t i = 0; i < OCI_KEYS; i++) {
		if (strcmp(keys[i], key) != 0)
			continue;
		if (!text || !is_line(text))
			return err_set(e, "the annotation %s is empty, or not one line of text",
				       name);
		out->asks = true;
		return set_text(&out->say[i], text, e);
	}
	return say_unknown(name, e);
}

static int read_annotations(json_t *annotations, struct oci_state *out, struct err *e)
{
	const char *name, *text;
	json_t *value;

	if (annotations && !json_is_object(annotations))
		return err_set(e, "the container's annotations are no JSON object");
	json_object_foreach(annotations, name, value)
	{
		text = json_string_value(value);
		if (strncmp(name, prefix, strlen(prefix)) == 0 && read_own(out, name, value, e))
			return -1;
		if (strcmp(name, manager_annotation) == 0)
			out->of_podman = text && strcmp(text, "libpod") == 0;
		if (strcmp(name, pod_annotation) == 0 && text && is_id(text) &&
		    set_text(&out->pod, text, e))
			return -1;
	}
	return 0;
}

/* One that waits for a container has its policy already. */
static int check_together(const struct oci_state *s, struct err *e)
{
	for (size_t i = 0; i < OCI_SANDBOX && s->say[OCI_SANDBOX]; i++)
		if (s->say[i])
			return err_set(e,
				       "the annotations sandgate.sandbox and sandgate.%s do not "
				       "go together",
				       keys[i]);
	if (s->asks && !s->say[OCI_SANDBOX] && !s->say[OCI_POLICY])
		return err_set(e, "the annotation sandgate.policy is missing; it names a preset, "
				  "or a file by its whole path");
	return 0;
}

int oci_state_parse(struct span text, struct oci_state *out, struct err *e)
{
	json_t *root = load(text, "the container's state", 0, e);
	int rc = -1;

	*out = (struct oci_state){0};
	if (root && read_fixed(root, out, e) == 0 &&
	    read_annotations(json_object_get(root, "annotations"), out, e) == 0)
		rc = check_together(out, e);
	json_decref(root);
	if (rc)
		oci_state_free(out);
	return rc;
}

void oci_state_free(struct oci_state *s)
{
	free(s->id);
	free(s->bundle);
	free(s->pod);
	for (size_t i = 0; i < OCI_KEYS; i++)
		free(s->say[i]);
	*s = (struct oci_state){0};
}

/* --- its configuration --- */

/* A limit that is none is 2^64 - 1 there, more than jansson has for an integer. */
json_t *oci_config_load(struct span config, struct err *e)
{
	return load(config, "the container's configuration", JSON_DECODE_INT_AS_REAL, e);
}

int oci_config_words(struct span config, struct oci_state *out, struct err *e)
{
	json_t *root = oci_config_load(config, e);
	int rc = -1;

	*out = (struct oci_state){0};
	if (root && read_annotations(json_object_get(root, "annotations"), out, e) == 0)
		rc = check_together(out, e);
	json_decref(root);
	if (rc)
		oci_state_free(out);
	return rc;
}

int oci_root_parse(struct span config, struct oci_root *out, struct err *e)
{
	json_t *root = oci_config_load(config, e);
	const json_t *files = json_object_get(root, "root");
	const char *path = json_string_value(json_object_get(files, "path"));
	bool good = path && *path == '/' && strlen(path) < PATH_MAX;

	if (good)
		strcpy(out->path, path);
	out->readonly = json_is_true(json_object_get(files, "readonly"));
	if (!good && root)
		err_set(e, "the container's configuration has no root, or none by its whole path");
	json_decref(root);
	return good ? 0 : -1;
}

/* "/proc/PID/ns/net", which is how an engine names the network of another container. */
static bool is_of_process(const char *path, pid_t *pid)
{
	char again[64];
	int32_t n;

	if (sscanf(path, "/proc/%" SCNd32 "/ns/net", &n) != 1 || n < 1)
		return false;
	snprintf(again, sizeof(again), "/proc/%" PRId32 "/ns/net", n);
	*pid = n;
	return strcmp(again, path) == 0;
}

static int read_network(const json_t *namespace, struct oci_network *out, struct err *e)
{
	const json_t *path = json_object_get(namespace, "path");

	if (path && !json_is_string(path))
		return err_set(e, "the path of the container's network is no text");
	out->kind = path && is_of_process(json_string_value(path), &out->of) ? OCI_NETWORK_OF
									     : OCI_NETWORK_OWN;
	return 0;
}

/* A list that is not there, or no list, is no promise. */
static bool may_admin(const json_t *config)
{
	const json_t *process = json_object_get(config, "process");
	const json_t *bounds =
		json_object_get(json_object_get(process, "capabilities"), "bounding");
	json_t *one;
	size_t i;

	json_array_foreach(bounds, i, one)
	{
		const char *name = json_string_value(one);

		if (!name || strcmp(name, "CAP_NET_ADMIN") == 0)
			return true;
	}
	return !json_is_array(bounds);
}

int oci_network_parse(struct span config, struct oci_network *out, struct err *e)
{
	json_t *root = oci_config_load(config, e);
	const json_t *list = json_object_get(json_object_get(root, "linux"), "namespaces");
	json_t *one;
	size_t i;
	int rc = root ? 0 : -1;

	*out = (struct oci_network){.kind = OCI_NETWORK_HOST, .admin = may_admin(root)};
	json_array_foreach(list, i, one)
	{
		const char *type = json_string_value(json_object_get(one, "type"));

		if (rc == 0 && type && strcmp(type, "network") == 0)
			rc = read_network(one, out, e);
	}
	json_decref(root);
	return rc;
}
