/* SPDX-License-Identifier: Apache-2.0 */
/* catalogue_entry: one permission, preset or agent of an administrator's catalogue. */
#include <stdio.h>

#include "policy/catalogue_read.h"
#include "policy/quote.h"
#include "policy/rule.h"

enum { TEXT_MAX = 200, WORD_MAX_OCTETS = 63, LIST_FIRST = 8 };

/* ---- Values ---- */

int catalogue_read_text(struct catalogue_reading *r, const struct node *n, const char **out)
{
	const char *text;

	if (value_string(&r->v, n, &text))
		return -1;
	if (!*text || strlen(text) > TEXT_MAX)
		return node_error(r->v.d, n, r->v.e, "a text has 1 to %d octets", TEXT_MAX);
	for (const char *s = text; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			return node_error(r->v.d, n, r->v.e,
					  "a text is one line of visible ASCII, since terminals "
					  "show it");
	*out = catalogue_keep_string(r, text);
	return *out ? 0 : -1;
}

/* Small letters, digits and hyphens; a letter or a digit first. */
static size_t word_length(const char *s)
{
	return *s == '-' ? 0 : strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

/* The shape of an id, "word" or "word:word". */
static int check_id(const char *id, struct err *e)
{
	size_t n = word_length(id);
	char shown[QUOTE_MAX];

	if (n && id[n] == ':' && word_length(id + n + 1))
		n += 1 + word_length(id + n + 1);
	if (n && !id[n] && n <= WORD_MAX_OCTETS && (*id < '0' || *id > '9'))
		return 0;
	return err_set(e,
		       "%s is not an id: small letters, digits and hyphens, as in `model` or "
		       "`install:python`",
		       quote_string(id, shown));
}

static int check_file(const char *name, struct err *e)
{
	const char *plain = strncmp(name, "*.", 2) == 0 ? name + 2 : name;
	char shown[QUOTE_MAX];

	if (*plain && !strpbrk(plain, "/*?[") && strlen(name) <= WORD_MAX_OCTETS)
		return 0;
	return err_set(e, "%s is not the name of a file; write one as `go.mod` or `*.csproj`",
		       quote_string(name, shown));
}

static int check_command(const char *name, struct err *e)
{
	char shown[QUOTE_MAX];

	if (*name && !strchr(name, '/') && strlen(name) <= WORD_MAX_OCTETS)
		return 0;
	return err_set(e, "%s is not the base name of a command", quote_string(name, shown));
}

/* ---- Hosts ---- */

static const char *const nothing[] = {NULL};

static size_t length_of(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* Room is for a power of two with the NULL; the old list is the catalogue's to free. */
static int append(struct catalogue_reading *r, const char *text, const char *const **list)
{
	size_t n = length_of(*list), used = n + 1;
	const char **to = (const char **)*list;

	if (n == 0 || (used >= LIST_FIRST && (used & (used - 1)) == 0)) {
		to = catalogue_keep(r, n ? used * 2 : LIST_FIRST, sizeof(*to));
		if (!to)
			return -1;
		if (n)
			memcpy(to, *list, n * sizeof(*to));
		*list = to;
	}
	to[n] = catalogue_keep_string(r, text);
	return to[n] ? 0 : -1;
}

/* A rule in the short form, appended in its canonical spelling. */
static int add_rule(struct catalogue_reading *r, const struct node *at, const char *text,
		    const char *const **rules)
{
	char canonical[RULE_TEXT_MAX];
	struct rule rule;

	if (length_of(*rules) >= CATALOGUE_ENTRIES_MAX)
		return node_error(r->v.d, at, r->v.e, "more than %d hosts", CATALOGUE_ENTRIES_MAX);
	if (rule_parse_short(span_of_string(text), EFFECT_ALLOW, &rule, r->v.e))
		return node_prefix(r->v.d, at, r->v.e);
	rule_format(&rule, canonical);
	rule_clear(&rule);
	for (const char *const *had = *rules; had && *had; had++)
		if (strcmp(*had, canonical) == 0)
			return node_error(r->v.d, at, r->v.e, "`%s` stands twice; leave one out",
					  canonical);
	return append(r, canonical, rules);
}

/* `@` is the domain itself; ports and protocol follow what stands before it. */
static int add_host(struct catalogue_reading *r, const char *domain, const struct node *n,
		    const char *const **rules)
{
	char text[RULE_TEXT_MAX];
	const char *label;
	size_t host;

	if (value_string(&r->v, n, &label))
		return -1;
	host = strcspn(label, ":/");
	if (host == 1 && label[0] == '@')
		snprintf(text, sizeof(text), "%s%s", domain, label + 1);
	else
		snprintf(text, sizeof(text), "%.*s.%s%s", (int)host, label, domain, label + host);
	if (strlen(label) + strlen(domain) + 2 > sizeof(text))
		return node_error(r->v.d, n, r->v.e, "the name is too long");
	return add_rule(r, n, text, rules);
}

/* The hosts of `groups`, `domain: [part before it, ...]`, appended to a NULL-terminated list. */
static int append_hosts(struct catalogue_reading *r, const struct node *groups,
			const char *const **rules)
{
	if (catalogue_read_names(r, groups))
		return -1;
	for (size_t i = 0; i < groups->n; i += 2) {
		const struct node *labels = &groups->items[i + 1];

		if (value_list(&r->v, labels, false))
			return -1;
		for (size_t k = 0; k < labels->n; k++)
			if (add_host(r, groups->items[i].text, &labels->items[k], rules))
				return -1;
	}
	return 0;
}

/* ---- Permissions ---- */

struct permission_entry {
	struct catalogue_reading *r;
	struct permission *p;
	const char *const *files;
};

static int read_says(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	return catalogue_read_text(t->r, value, &t->p->says);
}

static int read_attempt(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	return catalogue_read_text(t->r, value, &t->p->attempt);
}

static int read_hosts(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	return append_hosts(t->r, value, &t->p->rules);
}

static int read_rules(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;
	const char *text;

	if (value_list(&t->r->v, value, false))
		return -1;
	for (size_t i = 0; i < value->n; i++)
		if (value_string(&t->r->v, &value->items[i], &text) ||
		    add_rule(t->r, &value->items[i], text, &t->p->rules))
			return -1;
	return 0;
}

static int read_includes(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	t->p->includes = catalogue_read_list(t->r, value, check_id);
	return t->p->includes ? 0 : -1;
}

static int read_operations(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	return catalogue_read_operations(t->r, value, &t->p->operations, &t->p->n_operations);
}

static int read_host_port(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;
	uint64_t port;

	if (value_number(&t->r->v, value, 1, UINT16_MAX, &port))
		return -1;
	t->p->host_port = (uint16_t)port;
	return 0;
}

static int read_files(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	t->files = catalogue_read_list(t->r, value, check_file);
	return t->files ? 0 : -1;
}

static int read_web(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	return value_bool(&t->r->v, value, &t->p->web);
}

static int read_warning(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	t->p->asks = true;
	return catalogue_read_text(t->r, value, &t->p->warning);
}

static int read_personal(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	return value_bool(&t->r->v, value, &t->p->personal);
}

static int read_instead(void *context, const struct node *key, const struct node *value)
{
	struct permission_entry *t = context;

	return catalogue_read_text(t->r, value, &t->p->instead);
}

static const struct value_key permission_keys[] = {
	{"says", read_says},	   {"attempt", read_attempt},	  {"hosts", read_hosts},
	{"rules", read_rules},	   {"includes", read_includes},	  {"operations", read_operations},
	{"files", read_files},	   {"host_port", read_host_port}, {"web", read_web},
	{"warning", read_warning}, {"personal", read_personal},	  {"instead", read_instead},
};

/* Ids that stand for what the agent has, beside hosts of their own. */
static bool is_of_the_agent(const char *id)
{
	return strcmp(id, "model") == 0 || strcmp(id, "update") == 0 || strcmp(id, "sign-in") == 0;
}

/* Does the rule let something through whose requests nobody sees? */
static bool is_unseen(const struct rule *r)
{
	struct rule_scope s = rule_scope_of(r);

	for (size_t i = 0; i < s.n; i++)
		if (s.ports[i].lo != s.ports[i].hi || (s.ports[i].lo != 80 && s.ports[i].lo != 443))
			return true;
	return r->raw || r->kind == TARGET_PREFIX || s.protos != PROTO_TCP;
}

static bool lets_all_through(const struct operation *o)
{
	return !o->methods && !o->paths && !o->check;
}

/* Do the operations hold back some requests to the rule's host? */
static bool is_narrowed(const struct permission *p, const struct rule *r)
{
	bool narrowed = false;

	for (size_t i = 0; i < p->n_operations; i++) {
		const struct operation *o = &p->operations[i];

		if (o->host && (r->kind != TARGET_NAME || strcmp(o->host, rule_name(r)) != 0))
			continue;
		if (lets_all_through(o))
			return false;
		narrowed = true;
	}
	return narrowed;
}

/* The rule that is wider than its operations could be held to, or NULL. */
static const char *find_unheld(const struct permission *p)
{
	for (const char *const *text = p->rules; p->n_operations && *text; text++) {
		struct rule r;
		struct err e;
		bool unheld;

		if (rule_parse_short(span_of_string(*text), EFFECT_ALLOW, &r, &e))
			return *text;
		unheld = is_unseen(&r) && is_narrowed(p, &r);
		rule_clear(&r);
		if (unheld)
			return *text;
	}
	return NULL;
}

static int check_permission(const struct catalogue_reading *r, const struct node *at,
			    const struct permission *p)
{
	bool something = p->rules[0] || p->includes || p->host_port || p->web;
	const char *unheld = find_unheld(p);

	if (unheld)
		return node_error(
			r->v.d, at, r->v.e,
			"its operations cannot be held for `%s`: requests are seen on TCP "
			"ports 80 and 443 of a name; say `host` of each operation, or make "
			"it a permission of its own",
			unheld);
	if (!p->says || !p->attempt)
		return node_error(r->v.d, at, r->v.e, "a permission needs `says` and `attempt`");
	if (p->web && !p->warning)
		return node_error(r->v.d, at, r->v.e,
				  "what opens the web asks first; write its `warning`");
	if (something == (p->instead != NULL) && !is_of_the_agent(p->id))
		return node_error(r->v.d, at, r->v.e,
				  something ? "it has hosts, so there is nothing to write instead; "
					      "leave `instead` out"
					    : "it lets nothing through; write `hosts`, `rules`, "
					      "`includes` or `host_port`");
	return 0;
}

static const char *read_id(struct catalogue_reading *r, const struct node *name)
{
	if (!check_id(name->text, r->v.e))
		return catalogue_keep_string(r, name->text);
	node_prefix(r->v.d, name, r->v.e);
	return NULL;
}

int catalogue_read_permission(struct catalogue_reading *r, const struct node *name,
			      const struct node *entry, struct permission *out,
			      const char *const **files)
{
	struct permission_entry t = {.r = r, .p = out};

	*out = (struct permission){.id = read_id(r, name), .rules = nothing};
	if (!out->id)
		return -1;
	if (strcmp(out->id, "languages") == 0)
		return node_error(r->v.d, name, r->v.e,
				  "`languages` stands for those of the project; choose another id");
	if (value_map(&r->v, entry, permission_keys, sg_array_len(permission_keys), &t) ||
	    check_permission(r, name, out))
		return -1;
	*files = t.files;
	return 0;
}

/* ---- Presets ---- */

struct preset_entry {
	struct catalogue_reading *r;
	struct preset *p;
};

static int read_preset_says(void *context, const struct node *key, const struct node *value)
{
	struct preset_entry *t = context;

	return catalogue_read_text(t->r, value, &t->p->says);
}

static int read_preset_permissions(void *context, const struct node *key, const struct node *value)
{
	struct preset_entry *t = context;

	t->p->permissions = catalogue_read_list(t->r, value, check_id);
	return t->p->permissions ? 0 : -1;
}

static int read_preset_open(void *context, const struct node *key, const struct node *value)
{
	struct preset_entry *t = context;

	return value_bool(&t->r->v, value, &t->p->open);
}

static int read_preset_warning(void *context, const struct node *key, const struct node *value)
{
	struct preset_entry *t = context;

	t->p->asks = true;
	return catalogue_read_text(t->r, value, &t->p->warning);
}

static const struct value_key preset_keys[] = {
	{"says", read_preset_says},
	{"permissions", read_preset_permissions},
	{"open", read_preset_open},
	{"warning", read_preset_warning},
};

int catalogue_read_preset(struct catalogue_reading *r, const struct node *name,
			  const struct node *entry, struct preset *out)
{
	struct preset made = {.permissions = nothing};
	struct preset_entry t = {.r = r, .p = &made};
	bool open = strcmp(name->text, "open") == 0;

	made.name = read_id(r, name);
	if (!made.name || value_map(&r->v, entry, preset_keys, sg_array_len(preset_keys), &t))
		return -1;
	if (!made.says)
		return node_error(r->v.d, name, r->v.e, "a preset needs `says`");
	if (made.open != open)
		return node_error(r->v.d, name, r->v.e,
				  open ? "the preset `open` is open; write `open: true`"
				       : "only the preset `open` may be open; leave it out");
	if (made.open && !made.warning)
		return node_error(r->v.d, name, r->v.e,
				  "what opens the network asks first; write its `warning`");
	*out = made;
	return 0;
}

/* ---- Agents ---- */

struct agent_entry {
	struct catalogue_reading *r;
	struct agent *a;
};

static int read_commands(void *context, const struct node *key, const struct node *value)
{
	struct agent_entry *t = context;

	t->a->commands = catalogue_read_list(t->r, value, check_command);
	return t->a->commands ? 0 : -1;
}

static int read_model(void *context, const struct node *key, const struct node *value)
{
	struct agent_entry *t = context;

	t->a->model = catalogue_read_list(t->r, value, check_id);
	return t->a->model ? 0 : -1;
}

static int read_update(void *context, const struct node *key, const struct node *value)
{
	struct agent_entry *t = context;

	return append_hosts(t->r, value, &t->a->update);
}

static int read_sign_in(void *context, const struct node *key, const struct node *value)
{
	struct agent_entry *t = context;

	return append_hosts(t->r, value, &t->a->sign_in);
}

static const struct value_key agent_keys[] = {
	{"commands", read_commands},
	{"model", read_model},
	{"update", read_update},
	{"sign-in", read_sign_in},
};

int catalogue_read_agent(struct catalogue_reading *r, const struct node *name,
			 const struct node *entry, struct agent *out)
{
	struct agent_entry t = {.r = r, .a = out};

	*out = (struct agent){.name = read_id(r, name), .update = nothing, .sign_in = nothing};
	if (!out->name || value_map(&r->v, entry, agent_keys, sg_array_len(agent_keys), &t))
		return -1;
	if (!out->commands || !out->model)
		return node_error(r->v.d, name, r->v.e, "an agent needs `commands` and `model`");
	return 0;
}
