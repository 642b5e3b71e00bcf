/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/rule_entry.h"

#include "policy/path.h"
#include "policy/quote.h"

enum { METHOD_MAX_OCTETS = 31, LIST_MAX = 64, NOTE_MAX_OCTETS = 1024 };

struct entry {
	const struct value_reader *v;
	struct rule *rule;
	const struct node *target; /* NULL until one of host, address, network was read */
};

/* Puts the place and what is written there before the message. */
static int at_node(const struct entry *t, const struct node *n)
{
	char shown[QUOTE_MAX];

	err_prefix(t->v->e, "%s", quote_span(node_span(n), shown));
	return node_prefix(t->v->d, n, t->v->e);
}

/* ---- Targets ---- */

static int read_target(struct entry *t, const struct node *value)
{
	const char *text;

	if (t->target)
		return node_error(
			t->v->d, value, t->v->e,
			"a second target; a rule has one of `host`, `address`, `network`");
	t->target = value;
	if (value_string(t->v, value, &text))
		return -1;
	if (rule_refuse_url(node_span(value), t->v->e) ||
	    rule_parse_target(node_span(value), false, t->rule, t->v->e))
		return at_node(t, value);
	return 0;
}

/* "db.example.com:5432" has a colon and is no IPv6 address, which has two. */
static bool has_ports(const char *text)
{
	const char *colon = strchr(text, ':');

	return text[0] == '[' || (colon && !strchr(colon + 1, ':'));
}

static int read_host(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	const char *text;

	if (value_string(t->v, value, &text))
		return -1;
	if (has_ports(text) && !strstr(text, "://")) {
		err_set(t->v->e, "ports go in `ports`, not behind the host");
		return at_node(t, value);
	}
	if (read_target(t, value))
		return -1;
	if (t->rule->kind != TARGET_PREFIX)
		return 0;
	err_set(t->v->e, "it is not a name; write `%s:`",
		t->rule->prefix.bits == 128 ? "address" : "network");
	return at_node(t, value);
}

static int read_prefix(struct entry *t, const struct node *value, bool network)
{
	if (read_target(t, value))
		return -1;
	if (t->rule->kind == TARGET_PREFIX && (strchr(value->text, '/') != NULL) == network)
		return 0;
	err_set(t->v->e, "it is not %s; write `%s:`", network ? "a network" : "an address",
		t->rule->kind != TARGET_PREFIX ? "host"
		: network		       ? "address"
					       : "network");
	return at_node(t, value);
}

static int read_address(void *context, const struct node *key, const struct node *value)
{
	return read_prefix(context, value, false);
}

static int read_network(void *context, const struct node *key, const struct node *value)
{
	return read_prefix(context, value, true);
}

/* ---- Ports and protocol ---- */

/* A port may be a number; ranges and `*` are strings. In JSON both may stand. */
static int read_port(struct entry *t, const struct node *value)
{
	if (value->kind != NODE_SCALAR || value->text_n == 0)
		return node_error(t->v->d, value, t->v->e,
				  "ports are written as [22, 443], [\"1000-2000\"] or \"*\"");
	if (rule_parse_ports(node_span(value), t->rule, t->v->e))
		return at_node(t, value);
	return 0;
}

static int read_ports(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	if (value->kind == NODE_SCALAR)
		return read_port(t, value);
	if (value_list(t->v, value, false))
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (read_port(t, &value->items[i]))
			return -1;
	return 0;
}

static int read_one_proto(struct entry *t, const struct node *value)
{
	const char *text;

	if (value_string(t->v, value, &text))
		return -1;
	return rule_parse_proto(node_span(value), t->rule, t->v->e) ? at_node(t, value) : 0;
}

static int read_proto(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	if (value->kind == NODE_SCALAR)
		return read_one_proto(t, value);
	if (value_list(t->v, value, false))
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (read_one_proto(t, &value->items[i]))
			return -1;
	return 0;
}

/* ---- Methods and paths ---- */

/* token of RFC 9110, 5.6.2 */
static bool is_token(const char *s)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	if (*s == 0)
		return false;
	for (; *s; s++)
		if (!((*s >= '0' && *s <= '9') || ((*s | 0x20) >= 'a' && (*s | 0x20) <= 'z') ||
		      strchr(others, *s)))
			return false;
	return true;
}

int rule_check_method(const char *method, struct err *e)
{
	char upper[METHOD_MAX_OCTETS + 1] = "";

	if (!is_token(method))
		return err_set(e, "not a method of HTTP; write one such as `GET`");
	if (strlen(method) > METHOD_MAX_OCTETS)
		return err_set(e, "a method has at most %d characters", METHOD_MAX_OCTETS);
	for (size_t i = 0; method[i]; i++)
		upper[i] =
			method[i] >= 'a' && method[i] <= 'z' ? (char)(method[i] - 0x20) : method[i];
	if (strcmp(method, upper) != 0)
		return err_set(e, "methods are in capitals; write `%s`", upper);
	return 0;
}

static size_t count(const char *s, char c)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* What some server reads as another path: a rule that holds for every reading cannot name it. */
static bool has_unclear_part(const char *path)
{
	size_t n = strcspn(path, "?");

	return memchr(path, '%', n) || memchr(path, ';', n) || memchr(path, '\\', n) ||
	       memmem(path, n, "//", 2) || memmem(path, n, "/./", 3) ||
	       memmem(path, n, "/../", 4) || (n >= 2 && memcmp(path + n - 2, "/.", 2) == 0) ||
	       (n >= 3 && memcmp(path + n - 3, "/..", 3) == 0);
}

int rule_check_path(const char *path, struct err *e)
{
	if (path[0] != '/' && path[0] != '*')
		return err_set(e, "a path begins with `/` or `*`");
	if (strlen(path) > PATH_PATTERN_MAX_OCTETS)
		return err_set(e, "a path has at most %d characters", PATH_PATTERN_MAX_OCTETS);
	if (count(path, '*') > PATH_PATTERN_MAX_STARS)
		return err_set(e, "a path has at most %d `*`", PATH_PATTERN_MAX_STARS);
	for (const char *s = path; *s; s++)
		if (*s <= 0x20 || *s >= 0x7f || *s == '#')
			return err_set(e, "a path holds visible ASCII without `#`");
	if (has_unclear_part(path))
		return err_set(e, "a path is written decoded, without `%%`, `;`, `\\`, `//`, `/./` "
				  "or `/../`");
	return 0;
}

/* A list of strings that each pass `check`, owned by the caller. NULL with the message. */
static char **read_strings(struct entry *t, const struct node *value,
			   int (*check)(const char *, struct err *))
{
	char **list;
	const char *text;

	if (value_list(t->v, value, false))
		return NULL;
	if (value->n > LIST_MAX) {
		node_error(t->v->d, value, t->v->e, "more than %d entries", LIST_MAX);
		return NULL;
	}
	list = calloc(value->n + 1, sizeof(*list));
	for (size_t i = 0; list && i < value->n; i++) {
		const struct node *n = &value->items[i];

		if (value_string(t->v, n, &text) || (check(text, t->v->e) && at_node(t, n)) ||
		    !(list[i] = strdup(text))) {
			string_list_free(list);
			return NULL;
		}
	}
	return list;
}

static int read_methods(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	struct rule_detail *d = rule_need_detail(t->rule, t->v->e);

	if (d)
		d->methods = read_strings(t, value, rule_check_method);
	return d && d->methods ? 0 : -1;
}

static int read_paths(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	struct rule_detail *d = rule_need_detail(t->rule, t->v->e);

	if (d)
		d->paths = read_strings(t, value, rule_check_path);
	return d && d->paths ? 0 : -1;
}

/* ---- The rest ---- */

static int read_effect(void *context, const struct node *key, const struct node *value)
{
	static const char *const words[] = {[EFFECT_DENY] = "deny", [EFFECT_ALLOW] = "allow"};
	struct entry *t = context;
	size_t effect;

	if (value_word(t->v, value, words, sg_array_len(words), &effect))
		return -1;
	if (effect != t->rule->effect)
		return node_error(t->v->d, value, t->v->e,
				  "the rule stands in the list `%s`; move it to `%s`",
				  words[t->rule->effect], words[effect]);
	return 0;
}

static int read_private(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	bool on;

	if (value_bool(t->v, value, &on))
		return -1;
	t->rule->private_ok = on;
	return 0;
}

static int read_note(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	struct rule_detail *d = rule_need_detail(t->rule, t->v->e);
	const char *text;

	if (!d || value_string(t->v, value, &text))
		return -1;
	if (strlen(text) > NOTE_MAX_OCTETS)
		return node_error(t->v->d, value, t->v->e, "a note has at most %d octets",
				  NOTE_MAX_OCTETS);
	d->note = strdup(text);
	return d->note ? 0 : node_error(t->v->d, value, t->v->e, "out of memory");
}

static const struct value_key keys[] = {
	{"host", read_host},   {"address", read_address}, {"network", read_network},
	{"ports", read_ports}, {"proto", read_proto},	  {"methods", read_methods},
	{"paths", read_paths}, {"private", read_private}, {"effect", read_effect},
	{"note", read_note},
};

static int read_long(const struct value_reader *v, const struct node *n, struct rule *r)
{
	struct entry t = {.v = v, .rule = r};

	if (value_map(v, n, keys, sg_array_len(keys), &t))
		return -1;
	if (!t.target)
		return node_error(v->d, n, v->e,
				  "the rule has no target; write `host`, `address` or `network`");
	return rule_check(r, v->e) ? at_node(&t, t.target) : 0;
}

static int read_short(const struct value_reader *v, const struct node *n, enum effect effect,
		      struct rule *r)
{
	const char *text;

	/* A NUL is the rule's to refuse: it says where in the name it stands. */
	if (strlen(n->text) == n->text_n && value_string(v, n, &text))
		return -1;
	return rule_parse_short(node_span(n), effect, r, v->e) ? node_prefix(v->d, n, v->e) : 0;
}

int rule_entry_read(const struct value_reader *v, const struct node *n, enum effect effect,
		    struct rule *r)
{
	int rc;

	*r = (struct rule){.effect = (uint8_t)effect};
	if (n->kind == NODE_LIST)
		return node_error(v->d, n, v->e, "a list stands where a rule belongs");
	rc = n->kind == NODE_MAP ? read_long(v, n, r) : read_short(v, n, effect, r);
	if (rc)
		rule_clear(r);
	return rc;
}
