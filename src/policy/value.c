/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/value.h"

#include "base/nearest.h"
#include "policy/quote.h"

static const char *kind_name(const struct node *n)
{
	return n->kind == NODE_LIST ? "a list" : n->kind == NODE_MAP ? "a map" : "one value";
}

/* `key:` with nothing after it, and null. */
static bool is_nothing(const struct node *n)
{
	return n->kind == NODE_SCALAR && n->plain &&
	       (n->text_n == 0 || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0);
}

static const char *kind_hint(enum node_kind kind)
{
	static const char *const hints[] = {
		[NODE_SCALAR] = "write that one alone",
		[NODE_LIST] = "put it in brackets: `[...]`",
		[NODE_MAP] = "write `key: value`",
	};

	return hints[kind];
}

static int expect_kind(const struct value_reader *r, const struct node *n, enum node_kind kind)
{
	struct node wanted = {.kind = (uint8_t)kind};

	if (is_nothing(n))
		return node_error(r->d, n, r->e,
				  "there is no value; write %s, or leave the key out",
				  kind_name(&wanted));
	if (n->kind != kind)
		return node_error(r->d, n, r->e, "%s stands where %s belongs; %s", kind_name(n),
				  kind_name(&wanted), kind_hint(kind));
	return 0;
}

int value_string(const struct value_reader *r, const struct node *n, const char **out)
{
	char shown[QUOTE_MAX];

	if (expect_kind(r, n, NODE_SCALAR))
		return -1;
	if (n->plain && r->d->syntax == POLICY_JSON)
		return node_error(r->d, n, r->e, "%s is not a string; put it in double quotes",
				  quote_span(node_span(n), shown));
	if (strlen(n->text) != n->text_n)
		return node_error(r->d, n, r->e, "%s holds a NUL; leave it out",
				  quote_span(node_span(n), shown));
	*out = n->text;
	return 0;
}

int value_number(const struct value_reader *r, const struct node *n, uint64_t min, uint64_t max,
		 uint64_t *out)
{
	char shown[QUOTE_MAX];
	uint64_t v = 0;
	bool ok = n->kind == NODE_SCALAR && n->plain && n->text_n > 0 && n->text_n < 20 &&
		  (n->text[0] != '0' || n->text_n == 1);

	if (expect_kind(r, n, NODE_SCALAR))
		return -1;
	for (size_t i = 0; ok && i < n->text_n; i++) {
		ok = n->text[i] >= '0' && n->text[i] <= '9';
		v = v * 10 + (uint64_t)(n->text[i] - '0');
	}
	if (!ok || v < min || v > max)
		return node_error(r->d, n, r->e, "%s is not a number from %llu to %llu",
				  quote_span(node_span(n), shown), (unsigned long long)min,
				  (unsigned long long)max);
	*out = v;
	return 0;
}

int value_bool(const struct value_reader *r, const struct node *n, bool *out)
{
	char shown[QUOTE_MAX];

	if (expect_kind(r, n, NODE_SCALAR))
		return -1;
	*out = strcmp(n->text, "true") == 0;
	if (!n->plain || (!*out && strcmp(n->text, "false") != 0))
		return node_error(r->d, n, r->e, "%s is not `true` or `false`",
				  quote_span(node_span(n), shown));
	return 0;
}

int value_list(const struct value_reader *r, const struct node *n, bool may_be_empty)
{
	if (expect_kind(r, n, NODE_LIST))
		return -1;
	if (n->n == 0 && !may_be_empty)
		return node_error(r->d, n, r->e,
				  "an empty list matches nothing; leave the key out "
				  "for the default");
	return 0;
}

int value_word(const struct value_reader *r, const struct node *n, const char *const *words,
	       size_t n_words, size_t *index)
{
	char shown[QUOTE_MAX], all[256] = "";
	struct nearest near;
	const char *word;

	if (value_string(r, n, &word))
		return -1;
	near = nearest_to(word);
	for (size_t i = 0; i < n_words; i++) {
		if (strcmp(word, words[i]) == 0) {
			*index = i;
			return 0;
		}
		nearest_offer(&near, words[i]);
		if (strlen(all) + strlen(words[i]) + 8 < sizeof(all)) {
			strcat(all, i ? ", `" : "`");
			strcat(all, words[i]);
			strcat(all, "`");
		}
	}
	if (near.word)
		return node_error(r->d, n, r->e, "%s is not known here; did you mean `%s`?",
				  quote_string(word, shown), near.word);
	return node_error(r->d, n, r->e, "%s is not known here; write one of %s",
			  quote_string(word, shown), all);
}

static int refuse_key(const struct value_reader *r, const struct node *key,
		      const struct value_key *keys, size_t n_keys)
{
	struct nearest near = nearest_to(key->text);
	char shown[QUOTE_MAX];

	for (size_t i = 0; i < n_keys; i++)
		nearest_offer(&near, keys[i].name);
	quote_span(node_span(key), shown);
	if (near.word)
		return node_error(r->d, key, r->e, "unknown key %s; did you mean `%s`?", shown,
				  near.word);
	return node_error(r->d, key, r->e, "unknown key %s", shown);
}

static int find_key(const struct value_reader *r, const struct node *key,
		    const struct value_key *keys, size_t n_keys, size_t *found)
{
	const char *name;

	if (value_string(r, key, &name))
		return -1;
	for (size_t i = 0; i < n_keys; i++)
		if (strcmp(name, keys[i].name) == 0) {
			*found = i;
			return 0;
		}
	return refuse_key(r, key, keys, n_keys);
}

int value_map(const struct value_reader *r, const struct node *n, const struct value_key *keys,
	      size_t n_keys, void *context)
{
	uint32_t seen_at[VALUE_KEYS_MAX] = {0}; /* line; 0: not seen */
	size_t which = 0;

	if (expect_kind(r, n, NODE_MAP))
		return -1;
	for (size_t i = 0; i + 1 < n->n; i += 2) {
		const struct node *key = &n->items[i];

		if (find_key(r, key, keys, n_keys, &which))
			return -1;
		if (seen_at[which])
			return node_error(r->d, key, r->e,
					  "a second key `%s`; the first is on "
					  "line %u",
					  keys[which].name, seen_at[which]);
		seen_at[which] = key->line;
		if (keys[which].read(context, key, &n->items[i + 1]))
			return -1;
	}
	return 0;
}
