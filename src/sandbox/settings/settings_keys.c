/* SPDX-License-Identifier: Apache-2.0 */
/* settings_keys: every setting once: how it is read from a file, from a word, and shown. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "policy/quote.h"
#include "policy/rule.h"
#include "policy/strings.h"
#include "policy/value.h"
#include "sandbox/log/capture_request.h"
#include "sandbox/settings/settings.h"
#include "sandbox/settings/settings_audit.h"
#include "sandbox/settings/settings_proxy.h"

enum { PERMISSIONS_MAX = 256 };

struct setting {
	const char *key;
	bool list; /* a list in the file; a word with commas on the command line */
	int (*read)(const struct value_reader *v, struct settings *s, const struct node *value);
	json_t *(*show)(const struct settings *s);
};

/* ---- defaults ---- */

static int read_base(const struct value_reader *v, const struct node *value, enum network_base *out)
{
	struct policy p;
	const char *word;

	if (value_string(v, value, &word))
		return -1;
	policy_init(&p);
	if (policy_set_network(&p, word, v->e))
		return node_prefix(v->d, value, v->e);
	*out = p.network;
	return 0;
}

static int read_network(const struct value_reader *v, struct settings *s, const struct node *value)
{
	return read_base(v, value, &s->network);
}

static int read_agent_network(const struct value_reader *v, struct settings *s,
			      const struct node *value)
{
	return read_base(v, value, &s->agent_network);
}

static json_t *show_network(const struct settings *s)
{
	return json_string(network_base_name(s->network));
}

static json_t *show_agent_network(const struct settings *s)
{
	return json_string(network_base_name(s->agent_network));
}

/* Whether the catalogue has them is for whoever uses them: this is the form alone. */
static bool is_permission_word(const char *word)
{
	const char *id = *word == '-' ? word + 1 : word;

	return *id && strlen(id) < 64 &&
	       id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789:-")] == 0;
}

static int read_permissions(const struct value_reader *v, struct settings *s,
			    const struct node *value)
{
	char shown[QUOTE_MAX];
	char **list;
	const char *word;

	if (value_list(v, value, true))
		return -1;
	if (value->n > PERMISSIONS_MAX)
		return node_error(v->d, value, v->e, "more than %d permissions", PERMISSIONS_MAX);
	list = calloc(value->n + 1, sizeof(*list));
	for (size_t i = 0; list && i < value->n; i++) {
		const struct node *n = &value->items[i];

		if (value_string(v, n, &word) == 0 && is_permission_word(word) &&
		    (list[i] = strdup(word)))
			continue;
		string_list_free(list);
		return n->kind == NODE_SCALAR
			       ? node_error(v->d, n, v->e,
					    "%s is no permission; `sandgate net permissions` "
					    "lists them",
					    quote_span(node_span(n), shown))
			       : -1;
	}
	if (!list)
		return node_error(v->d, value, v->e, "out of memory");
	string_list_free(s->permissions);
	s->permissions = list;
	return 0;
}

static json_t *show_words(char *const *words)
{
	json_t *list = json_array();

	for (; words && *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

static json_t *show_permissions(const struct settings *s)
{
	return show_words(s->permissions);
}

/* ---- the resolver ---- */

/* An address, or "ADDRESS:PORT", an IPv6 one in brackets then. */
static bool parse_resolver(const char *text, struct endpoint *out)
{
	const char *colon = strrchr(text, ':');
	const char *from = text + (*text == '[');
	size_t n = strlen(text);
	char again[ENDPOINT_TEXT_MAX];
	unsigned port;
	int used = 0;

	*out = (struct endpoint){.port = 53};
	if (addr_parse(text, n, &out->addr))
		return true;
	if (!colon || sscanf(colon + 1, "%5u%n", &port, &used) != 1 || colon[1 + used] || !port ||
	    port > UINT16_MAX || colon - from < 2)
		return false;
	out->port = (uint16_t)port;
	n = (size_t)(colon - from) - (*text == '[');
	return addr_parse(from, n, &out->addr) && strcmp(endpoint_format(out, again), text) == 0;
}

static int read_resolver(const struct value_reader *v, struct settings *s, const struct node *value)
{
	struct endpoint list[SETTINGS_RESOLVERS_MAX];
	char shown[QUOTE_MAX];
	const char *word;

	if (value_list(v, value, true))
		return -1;
	if (value->n > SETTINGS_RESOLVERS_MAX)
		return node_error(v->d, value, v->e, "more than %d resolvers",
				  SETTINGS_RESOLVERS_MAX);
	for (size_t i = 0; i < value->n; i++) {
		if (value_string(v, &value->items[i], &word))
			return -1;
		if (!parse_resolver(word, &list[i]))
			return node_error(v->d, &value->items[i], v->e,
					  "%s is no address of a resolver; write `192.0.2.53`, "
					  "`192.0.2.53:5353` or `[2001:db8::53]:5353`",
					  quote_string(word, shown));
	}
	memcpy(s->resolver, list, value->n * sizeof(*list));
	s->n_resolver = value->n;
	return 0;
}

static json_t *show_resolver(const struct settings *s)
{
	json_t *list = json_array();
	char text[ENDPOINT_TEXT_MAX];

	for (size_t i = 0; i < s->n_resolver; i++)
		json_array_append_new(
			list, json_string(s->resolver[i].port == 53
						  ? addr_format(&s->resolver[i].addr, text)
						  : endpoint_format(&s->resolver[i], text)));
	return list;
}

/* ---- captures ---- */

static int read_pcap_max_mb(const struct value_reader *v, struct settings *s,
			    const struct node *value)
{
	return value_number(v, value, 1, CAPTURE_MAX_MB_MOST, &s->pcap_max_mb);
}

static json_t *show_pcap_max_mb(const struct settings *s)
{
	return json_integer((json_int_t)s->pcap_max_mb);
}

static int read_pcap_files(const struct value_reader *v, struct settings *s,
			   const struct node *value)
{
	return value_number(v, value, 1, CAPTURE_FILES_MOST, &s->pcap_files);
}

static json_t *show_pcap_files(const struct settings *s)
{
	return json_integer((json_int_t)s->pcap_files);
}

static int read_pcap_keys(const struct value_reader *v, struct settings *s,
			  const struct node *value)
{
	return value_bool(v, value, &s->pcap_keys);
}

static json_t *show_pcap_keys(const struct settings *s)
{
	return json_boolean(s->pcap_keys);
}

/* ---- the table ---- */

static const struct setting settings[] = {
	{"defaults.network", false, read_network, show_network},
	{"defaults.permissions", true, read_permissions, show_permissions},
	{"defaults.agent_network", false, read_agent_network, show_agent_network},
	{"audit.anchor", false, settings_read_audit_anchor, settings_show_audit_anchor},
	{"audit.keep_segments", false, settings_read_audit_keep_segments,
	 settings_show_audit_keep_segments},
	{"audit.on_full", false, settings_read_audit_on_full, settings_show_audit_on_full},
	{"audit.connections_mb", false, settings_read_audit_connections_mb,
	 settings_show_audit_connections_mb},
	{"resolver", true, read_resolver, show_resolver},
	{"upstream_proxy", false, settings_read_upstream_proxy, settings_show_upstream_proxy},
	{"upstream_proxy_from", false, settings_read_upstream_proxy_from,
	 settings_show_upstream_proxy_from},
	{"no_proxy", true, settings_read_no_proxy, settings_show_no_proxy},
	{"pcap.max_mb", false, read_pcap_max_mb, show_pcap_max_mb},
	{"pcap.files", false, read_pcap_files, show_pcap_files},
	{"pcap.keys", false, read_pcap_keys, show_pcap_keys},
};
const size_t settings_n_keys = sg_array_len(settings);
_Static_assert(sg_array_len(settings) <= SETTINGS_KEYS_MAX, "`from` has room for each");

const char *settings_key(size_t i)
{
	return settings[i].key;
}

bool settings_is_list(size_t i)
{
	return settings[i].list;
}

static int find(const char *key)
{
	for (size_t i = 0; i < settings_n_keys; i++)
		if (strcmp(settings[i].key, key) == 0)
			return (int)i;
	return -1;
}

int settings_find(const char *key, struct err *e)
{
	struct nearest near = nearest_to(key);
	char shown[QUOTE_MAX];
	int i = find(key);

	if (i >= 0)
		return i;
	for (size_t k = 0; k < settings_n_keys; k++)
		nearest_offer(&near, settings[k].key);
	quote_string(key, shown);
	if (near.word)
		return err_set(e, "%s is no setting; did you mean `%s`?", shown, near.word);
	return err_set(e, "%s is no setting; `sandgate config list` has all", shown);
}

/* ---- the file ---- */

struct file {
	struct value_reader v;
	struct settings *s;
	enum setting_from from;
	const char *section; /* the map that is read, or NULL */
};

static int read_key(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	char name[64];
	int i;

	snprintf(name, sizeof(name), "%s%s%s", f->section ? f->section : "", f->section ? "." : "",
		 key->text);
	i = find(name);
	if (i < 0)
		return node_error(f->v.d, key, f->v.e, "unknown key `%s`", name);
	if (settings[i].read(&f->v, f->s, value))
		return -1;
	f->s->from[i] = (uint8_t)f->from;
	return 0;
}

static int read_section(void *context, const struct node *key, const struct node *value);

/* The keys below a section, or at the top when it is NULL. */
static size_t keys_of(const char *section, struct value_key out[SETTINGS_KEYS_MAX],
		      char names[SETTINGS_KEYS_MAX][64])
{
	size_t n = 0, prefix = section ? strlen(section) + 1 : 0;

	for (size_t i = 0; i < settings_n_keys; i++) {
		const char *key = settings[i].key, *dot = strchr(key, '.');
		size_t k = 0;

		if (section &&
		    (!dot || strncmp(key, section, prefix - 1) != 0 || key[prefix - 1] != '.'))
			continue;
		snprintf(names[n], 64, "%.*s", (int)strcspn(key + prefix, "."), key + prefix);
		while (k < n && strcmp(names[k], names[n]) != 0)
			k++;
		if (k < n)
			continue;
		out[n] = (struct value_key){names[n], !section && dot ? read_section : read_key};
		n++;
	}
	return n;
}

static int read_map(struct file *f, const struct node *value)
{
	char names[SETTINGS_KEYS_MAX][64];
	struct value_key keys[SETTINGS_KEYS_MAX];
	size_t n = keys_of(f->section, keys, names);

	return value_map(&f->v, value, keys, n, f);
}

static int read_section(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	int rc;

	f->section = key->text;
	rc = read_map(f, value);
	f->section = NULL;
	return rc;
}

static bool copy_list(char *const *from, char ***to)
{
	*to = from ? string_list_copy(from) : NULL;
	return !from || *to;
}

static bool copy_text(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

/* All that settings_free() frees becomes the copy's own, also of one that cannot be finished. */
static int copy(const struct settings *from, struct settings *to)
{
	bool done;

	*to = *from;
	done = copy_list(from->permissions, &to->permissions);
	done = copy_list(from->anchor_command, &to->anchor_command) && done;
	done = copy_list(from->no_proxy, &to->no_proxy) && done;
	done = copy_text(from->anchor_file, &to->anchor_file) && done;
	done = copy_text(from->upstream_proxy, &to->upstream_proxy) && done;
	done = copy_text(from->upstream_proxy_from, &to->upstream_proxy_from) && done;
	if (done)
		return 0;
	settings_free(to);
	return -1;
}

int settings_parse(struct span text, const char *file, enum setting_from from, struct settings *s,
		   struct err *e)
{
	struct document d;
	struct settings fresh;
	struct file f = {.v = {.d = &d, .e = e}, .s = &fresh, .from = from};
	int rc;

	if (document_parse(text, POLICY_YAML, file, &d, e))
		return -1;
	if (copy(s, &fresh)) {
		document_free(&d);
		return err_set(e, "out of memory");
	}
	rc = d.empty ? 0 : read_map(&f, &d.root);
	document_free(&d);
	if (rc == 0) {
		settings_free(s);
		*s = fresh;
	} else {
		settings_free(&fresh);
	}
	return rc;
}

/* ---- one key ---- */

json_t *settings_value(const struct settings *s, size_t key)
{
	return settings[key].show(s);
}

char *settings_value_text(const struct settings *s, size_t key)
{
	json_t *value = settings_value(s, key);
	char *text = NULL;
	size_t octets, i;
	json_t *one;
	FILE *to = open_memstream(&text, &octets);

	if (!to) {
		json_decref(value);
		return NULL;
	}
	if (json_is_integer(value))
		fprintf(to, "%lld", (long long)json_integer_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "true" : "false", to);
	else if (json_is_string(value))
		fputs(json_string_value(value), to);
	json_array_foreach(value, i, one) fprintf(to, "%s%s", i ? "," : "", json_string_value(one));
	json_decref(value);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

/* "a,b" as the list node that a file would have. 0 or -1. */
static int put_items(struct node *list, const char *text)
{
	for (const char *at = text; *text;) {
		size_t n = strcspn(at, ",");
		struct node *item = node_add(list);

		if (!item || !(item->text = strndup(at, n)))
			return -1;
		item->text_n = n;
		if (!at[n])
			return 0;
		at += n + 1;
	}
	return 0;
}

static int make_node(const struct setting *set, const char *text, struct node *n)
{
	*n = (struct node){.kind = set->list ? NODE_LIST : NODE_SCALAR, .plain = true};
	if (set->list)
		return put_items(n, text);
	n->text = strdup(text);
	n->text_n = n->text ? strlen(text) : 0;
	return n->text ? 0 : -1;
}

int settings_set(struct settings *s, size_t key, const char *text, struct err *e)
{
	const struct setting *set = &settings[key];
	struct document d = {.file = "", .syntax = POLICY_YAML};
	struct value_reader v = {.d = &d, .e = e};
	static const char nowhere[] = ":0:0: "; /* there is no file to point into */
	struct err why;
	int rc;

	if (make_node(set, text, &d.root)) {
		document_free(&d);
		return err_set(e, "out of memory");
	}
	rc = set->read(&v, s, &d.root);
	document_free(&d);
	if (rc == 0)
		return 0;
	why = *e;
	return err_set(e, "%s: %s", set->key,
		       strncmp(why.text, nowhere, sizeof(nowhere) - 1) == 0
			       ? why.text + sizeof(nowhere) - 1
			       : why.text);
}
