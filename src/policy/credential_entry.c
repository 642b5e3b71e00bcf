/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands under `from` is never shown in a message: it may be the secret itself, put there by
 * mistake.
 */
#include "policy/credential_entry.h"

#include "http/text.h"
#include "policy/quote.h"
#include "policy/rule_entry.h"
#include "policy/secret_from.h"
#include "policy/strings.h"
#include "policy/template.h"

enum { WORD_MAX = 64, TEXT_MAX = 512, LIST_MAX = 64 };

struct entry {
	const struct value_reader *v;
	struct credential *c;
	/* Each NULL until it was read. */
	const struct node *header, *value, *basic, *query, *aws;
};

static int no_memory(const struct entry *t, const struct node *n)
{
	return node_error(t->v->d, n, t->v->e, "out of memory");
}

static int at_node(const struct entry *t, const struct node *n)
{
	char shown[QUOTE_MAX];

	err_prefix(t->v->e, "%s", quote_span(node_span(n), shown));
	return node_prefix(t->v->d, n, t->v->e);
}

static int keep_text(struct entry *t, const struct node *n, const char *text, char **out)
{
	free(*out);
	*out = strdup(text);
	return *out ? 0 : no_memory(t, n);
}

/* ---- Where to ---- */

static int refuse_host(const char *text, struct err *e)
{
	struct addr a;

	if (strchr(text, '*'))
		return err_set(e,
			       "a credential goes to exact names only: a wildcard would give the "
			       "secret to every server that somebody gets a name for below it; "
			       "write an entry for each host");
	if (addr_parse(text, strlen(text), &a))
		return err_set(e, "a credential goes to a name, which the server's certificate is "
				  "checked for; write the name");
	return 0;
}

static int read_host(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	struct name name;
	enum name_error wrong;
	const char *text;
	size_t at;

	if (value_string(t->v, value, &text))
		return -1;
	if (rule_refuse_url(node_span(value), t->v->e) || refuse_host(text, t->v->e))
		return at_node(t, value);
	if (strchr(text, ':')) {
		err_set(t->v->e, "a port goes in `port`, not behind the host");
		return at_node(t, value);
	}
	wrong = name_parse(text, strlen(text), &name, &at);
	if (wrong != NAME_OK) {
		err_set(t->v->e, "%s (character %zu)", name_error_text(wrong), at + 1);
		return at_node(t, value);
	}
	return keep_text(t, value, name.s, &t->c->host);
}

static int read_port(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;
	uint64_t port;

	if (value_number(t->v, value, 1, UINT16_MAX, &port))
		return -1;
	if (port == 80)
		return node_error(t->v->d, value, t->v->e,
				  "port 80 is plain HTTP, and a secret goes over TLS only; leave "
				  "`port` out for 443");
	t->c->port = (uint16_t)port;
	return 0;
}

typedef int check_fn(const char *text, struct err *e);

static int read_strings(struct entry *t, const struct node *value, check_fn *check, char ***out)
{
	const char *text;

	if (value_list(t->v, value, false))
		return -1;
	if (value->n > LIST_MAX)
		return node_error(t->v->d, value, t->v->e, "more than %d entries", LIST_MAX);
	for (size_t i = 0; i < value->n; i++) {
		const struct node *n = &value->items[i];

		if (value_string(t->v, n, &text))
			return -1;
		if (check(text, t->v->e))
			return at_node(t, n);
		if (string_list_add(out, text))
			return no_memory(t, n);
	}
	return 0;
}

static int read_methods(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_strings(t, value, rule_check_method, &t->c->methods);
}

static int check_path(const char *path, struct err *e)
{
	if (strchr(path, '?'))
		return err_set(e, "a credential is bound to paths, not to queries; leave `?` out");
	return rule_check_path(path, e);
}

static int read_paths(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_strings(t, value, check_path, &t->c->paths);
}

/* ---- In which form ---- */

/* Fields that frame the message, or are of a hop (RFC 9110, 7.6.1), or say where it goes. */
static bool is_not_for_secrets(const char *name)
{
	static const char *const names[] = {
		"host",
		"content-length",
		"transfer-encoding",
		"connection",
		"keep-alive",
		"te",
		"trailer",
		"upgrade",
		"proxy-connection",
		"expect",
		"content-encoding",
		"content-type",
		"accept-encoding",
		"range",
		"http2-settings",
		"proxy-authorization",
	};

	for (size_t i = 0; i < sg_array_len(names); i++)
		if (http_is_word(span_of_string(name), names[i]))
			return true;
	return false;
}

static int check_header(const char *name, struct err *e)
{
	if (!http_is_token(span_of_string(name)) || strlen(name) > WORD_MAX)
		return err_set(e, "not the name of a header; write one such as `Authorization`");
	if (is_not_for_secrets(name))
		return err_set(e, "the header is part of how HTTP itself works; a secret goes into "
				  "one such as `Authorization` or `X-Api-Key`");
	return 0;
}

static int read_checked(struct entry *t, const struct node *value, check_fn *check, char **out)
{
	const char *text;

	if (value_string(t->v, value, &text))
		return -1;
	if (check(text, t->v->e))
		return at_node(t, value);
	return keep_text(t, value, text, out);
}

/* Who forgets `${secret}` may have written the secret itself: it is not shown. */
static int read_template(struct entry *t, const struct node *value, check_fn *check)
{
	const char *text;

	if (value_string(t->v, value, &text))
		return -1;
	if (check(text, t->v->e))
		return node_prefix(t->v->d, value, t->v->e);
	return keep_text(t, value, text, &t->c->value);
}

/* One of the forms: each entry has exactly one. */
static int take_slot(struct entry *t, const struct node *key, enum credential_slot slot)
{
	if (t->header || t->basic || t->query || t->aws)
		return node_error(t->v->d, key, t->v->e,
				  "a second form; a credential has one of `header`, `basic`, "
				  "`query`, `aws`");
	t->c->slot = (uint8_t)slot;
	return 0;
}

static int read_header(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	if (take_slot(t, key, SLOT_HEADER))
		return -1;
	t->header = key;
	return read_checked(t, value, check_header, &t->c->name);
}

static int check_template(const char *text, struct err *e)
{
	struct template parts;

	return template_parse(text, &parts, e);
}

static int check_basic(const char *text, struct err *e)
{
	struct template parts;

	return template_parse_basic(text, &parts, e);
}

/* Kept apart until the end: the form may come after it. */
static int note_value(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	t->value = value;
	return 0;
}

static int read_basic(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	if (take_slot(t, key, SLOT_BASIC))
		return -1;
	t->basic = key;
	return read_template(t, value, check_basic);
}

/* Unreserved characters (RFC 3986, 2.3), which nobody reads in two ways. */
static bool is_plain_word(const char *s, const char *others)
{
	size_t n = 0;

	for (; s[n]; n++)
		if (!(s[n] >= '0' && s[n] <= '9') &&
		    !((s[n] | 0x20) >= 'a' && (s[n] | 0x20) <= 'z') && !strchr(others, s[n]))
			return false;
	return n > 0 && n <= WORD_MAX;
}

static int check_query(const char *name, struct err *e)
{
	return is_plain_word(name, "-._~") ? 0
					   : err_set(e, "a key of a query holds letters, digits, "
							"`-`, `.`, `_` and `~`");
}

static int read_query(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	if (take_slot(t, key, SLOT_QUERY))
		return -1;
	t->query = key;
	return read_checked(t, value, check_query, &t->c->name);
}

static int check_aws_word(const char *word, struct err *e)
{
	return is_plain_word(word, "-")
		       ? 0
		       : err_set(e, "a region or a service of AWS is letters, digits "
				    "and `-`, such as `us-east-1` and `s3`");
}

static int read_region(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_checked(t, value, check_aws_word, &t->c->name);
}

static int read_service(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_checked(t, value, check_aws_word, &t->c->value);
}

static int read_aws(void *context, const struct node *key, const struct node *value)
{
	static const struct value_key keys[] = {{"region", read_region}, {"service", read_service}};
	struct entry *t = context;

	if (take_slot(t, key, SLOT_AWS))
		return -1;
	t->aws = key;
	if (value_map(t->v, value, keys, sg_array_len(keys), t))
		return -1;
	if (t->c->name && t->c->value)
		return 0;
	return node_error(
		t->v->d, value, t->v->e,
		"`aws` has `region` and `service`, such as {region: us-east-1, service: s3}");
}

/* ---- Where from ---- */

static int read_source(struct entry *t, const struct node *value, char **out)
{
	enum secret_kind kind;
	const char *text;

	if (value->kind == NODE_SCALAR && value->plain && t->v->d->syntax == POLICY_JSON)
		return node_error(t->v->d, value, t->v->e,
				  "the source is not a string; put it in double quotes");
	if (strlen(value->kind == NODE_SCALAR ? value->text : "") != value->text_n)
		return node_error(t->v->d, value, t->v->e, "it holds a NUL; leave it out");
	if (value_string(t->v, value, &text))
		return -1;
	if (secret_from_parse(text, &kind, NULL, t->v->e))
		return node_prefix(t->v->d, value, t->v->e);
	return keep_text(t, value, text, out);
}

static int read_from(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_source(t, value, &t->c->from);
}

static int check_env_name(const char *name, struct err *e)
{
	if (!is_plain_word(name, "_") || (name[0] >= '0' && name[0] <= '9'))
		return err_set(e, "not the name of a variable; write one such as `EXAMPLE_TOKEN`");
	if (strncmp(name, "LD_", 3) == 0 || strcmp(name, "PATH") == 0 || strcmp(name, "HOME") == 0)
		return err_set(e, "the variable has a meaning of its own inside; name the one that "
				  "the client reads its credential from");
	return 0;
}

static int read_env(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_checked(t, value, check_env_name, &t->c->env);
}

static int read_pin(void *context, const struct node *key, const struct node *value)
{
	static const char *const words[] = {
		[PIN_REPLACE] = "replace", [PIN_STRICT] = "strict", [PIN_KEEP] = "keep"};
	struct entry *t = context;
	size_t pin;

	if (value_word(t->v, value, words, sg_array_len(words), &pin))
		return -1;
	t->c->pin = (uint8_t)pin;
	return 0;
}

/* ---- Refresh ---- */

static int check_url(const char *url, struct err *e)
{
	const char *host = url + 8;
	size_t n = strncmp(url, "https://", 8) == 0 ? strcspn(host, "/?#@") : 0;
	struct name name;

	if (n == 0 || host[n] != '/' || strlen(url) > TEXT_MAX || strpbrk(url, "?#@% \\"))
		return err_set(e,
			       "the token URL is https://HOST/PATH, without a query, a user or an "
			       "escape");
	for (const char *s = url; *s; s++)
		if (*s <= 0x20 || *s > 0x7e)
			return err_set(e, "a URL holds visible ASCII");
	if (name_parse_ascii(host, n, &name) != NAME_OK)
		return err_set(e,
			       "the host of the token URL is a name in lower case, without a port");
	return 0;
}

static int read_url(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_checked(t, value, check_url, &t->c->refresh->url);
}

/* VSCHAR (RFC 6749, appendix A), spaces for the scope. */
static int check_vschar(const char *text, struct err *e)
{
	size_t n = strlen(text);

	for (const char *s = text; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			n = 0;
	return n > 0 && n <= TEXT_MAX
		       ? 0
		       : err_set(e, "it is visible ASCII of 1 to %d characters", TEXT_MAX);
}

static int read_client_id(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_checked(t, value, check_vschar, &t->c->refresh->client_id);
}

static int read_client_secret(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_source(t, value, &t->c->refresh->client_secret);
}

static int read_scope(void *context, const struct node *key, const struct node *value)
{
	struct entry *t = context;

	return read_checked(t, value, check_vschar, &t->c->refresh->scope);
}

static int read_refresh(void *context, const struct node *key, const struct node *value)
{
	static const struct value_key keys[] = {
		{"url", read_url},
		{"client_id", read_client_id},
		{"client_secret", read_client_secret},
		{"scope", read_scope},
	};
	struct entry *t = context;

	t->c->refresh = calloc(1, sizeof(*t->c->refresh));
	if (!t->c->refresh)
		return no_memory(t, value);
	if (value_map(t->v, value, keys, sg_array_len(keys), t))
		return -1;
	if (!t->c->refresh->url)
		return node_error(t->v->d, value, t->v->e,
				  "`refresh` has no `url`; write that of the token endpoint");
	if (t->c->refresh->client_secret && !t->c->refresh->client_id)
		return node_error(t->v->d, value, t->v->e,
				  "a `client_secret` without `client_id`; write both");
	return 0;
}

/* ---- The entry ---- */

static int check_value(struct entry *t, const struct node *n)
{
	if (t->c->slot == SLOT_HEADER && t->header && !t->value)
		return node_error(
			t->v->d, t->header, t->v->e,
			"`header` without `value`; write the text around the secret, such as "
			"\"Bearer ${secret}\", or \"${secret}\"");
	if (!t->value)
		return 0;
	if (t->header)
		return read_template(t, t->value, check_template);
	return node_error(t->v->d, t->value, t->v->e, "`value` goes with `header` only");
}

static int check_whole(struct entry *t, const struct node *n)
{
	if (!t->c->host)
		return node_error(t->v->d, n, t->v->e,
				  "the credential has no `host`; write the one it is for");
	if (!t->header && !t->basic && !t->query && !t->aws && !t->value)
		return node_error(t->v->d, n, t->v->e,
				  "the credential has no form; write one of `header` with `value`, "
				  "`basic`, `query`, `aws`");
	if (!t->c->from)
		return node_error(
			t->v->d, n, t->v->e,
			"the credential has no source; write `from: env:NAME`, `file:PATH`, "
			"`command:...`, `keyring:...` or `git`");
	if (t->c->slot == SLOT_AWS && t->c->refresh)
		return node_error(t->v->d, t->aws, t->v->e,
				  "`aws` has no use for `refresh`; a command that prints new keys "
				  "goes under `from`");
	return check_value(t, n);
}

static int read_one(const struct value_reader *v, const struct node *n, struct credential *c)
{
	static const struct value_key keys[] = {
		{"host", read_host},	   {"port", read_port},	    {"methods", read_methods},
		{"paths", read_paths},	   {"header", read_header}, {"value", note_value},
		{"basic", read_basic},	   {"query", read_query},   {"aws", read_aws},
		{"from", read_from},	   {"pin", read_pin},	    {"env", read_env},
		{"refresh", read_refresh},
	};
	struct entry t = {.v = v, .c = c};

	c->port = CREDENTIAL_PORT;
	if (value_map(v, n, keys, sg_array_len(keys), &t))
		return -1;
	return check_whole(&t, n);
}

/* ---- What entries say together ---- */

static bool same_strings(char *const *a, char *const *b)
{
	return !a == !b && (!a || string_list_equal(a, b));
}

static int check_pair(const struct value_reader *v, const struct node *n,
		      const struct credential *before, const struct credential *c)
{
	char shown[CREDENTIAL_TEXT_MAX];

	if (before->env && c->env && strcmp(before->env, c->env) == 0)
		return node_error(v->d, n, v->e,
				  "`env: %s` is that of another credential; each has a variable of "
				  "its own",
				  c->env);
	if (strcmp(before->host, c->host) != 0 || before->port != c->port)
		return 0;
	if (before->pin != c->pin)
		return node_error(
			v->d, n, v->e,
			"a second `pin` for %s: what becomes of a credential that the "
			"sandbox brings is one answer for the whole host; write the same in "
			"each entry",
			c->host);
	if (credential_has_same_place(before, c) && same_strings(before->methods, c->methods) &&
	    same_strings(before->paths, c->paths))
		return node_error(
			v->d, n, v->e,
			"a second credential for %s; leave one out, or part them by `paths` "
			"or `methods`",
			credential_describe(c, shown));
	return 0;
}

int credentials_read(const struct value_reader *v, const struct node *list,
		     struct credential_list *out)
{
	if (value_list(v, list, true))
		return -1;
	if (list->n > CREDENTIALS_WRITTEN_MAX)
		return node_error(v->d, list, v->e, "more than %d credentials",
				  CREDENTIALS_WRITTEN_MAX);
	out->v = list->n ? calloc(list->n, sizeof(*out->v)) : NULL;
	if (list->n && !out->v)
		return node_error(v->d, list, v->e, "out of memory");
	for (size_t i = 0; i < list->n; i++) {
		out->n++;
		if (read_one(v, &list->items[i], &out->v[i]))
			return -1;
		for (size_t j = 0; j < i; j++)
			if (check_pair(v, &list->items[i], &out->v[j], &out->v[i]))
				return -1;
	}
	return 0;
}
