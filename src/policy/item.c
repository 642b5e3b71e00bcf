/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item: one word of --allow, --deny or --only.
 *
 * A word is a permission, a preset or a rule. What is nearly a permission is never taken for a host
 * of one label: that would be a guess.
 */
#include <stdio.h>

#include "base/nearest.h"
#include "policy/permission.h"
#include "policy/quote.h"
#include "policy/rule.h"

static bool begins_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

static bool is_base(const char *word)
{
	for (unsigned i = 0; i < NET_BASES; i++)
		if (strcmp(word, network_base_name((enum network_base)i)) == 0)
			return true;
	return false;
}

/* ---- Permissions ---- */

/* "-id" takes it away. Denying what is taken away says no twice, and is not what a person means. */
static int add_permission(struct policy *p, const struct permission *known, enum effect effect,
			  bool minus, struct err *e)
{
	_cleanup_free_ char *off = NULL;

	if (minus && effect == EFFECT_DENY)
		return err_set(e,
			       "`-%s` is denied already; to switch it on, allow `%s`, to take it "
			       "away, deny `%s`",
			       known->id, known->id, known->id);
	if (!minus && effect == EFFECT_ALLOW) {
		if (known->instead)
			return err_set(e, "`%s` has no host by itself: %s", known->id,
				       known->instead);
		return policy_add_permission(p, known->id, e);
	}
	if (asprintf(&off, "-%s", known->id) < 0) {
		off = NULL;
		return err_set(e, "out of memory");
	}
	return policy_add_permission(p, off, e);
}

/* Letters, digits and hyphens; a letter first. */
static size_t word_length(const char *s)
{
	if (*s < 'a' || *s > 'z')
		return 0;
	return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

/* "word:word": no rule is written so, since ports are numbers. */
static bool has_shape_of_id(const char *s)
{
	size_t first = word_length(s);

	return first && s[first] == ':' && word_length(s + first + 1) == strlen(s + first + 1) &&
	       s[first + 1];
}

/* One label without ports or protocol could be a host as well as a misspelt permission. */
static int refuse_near_permission(const struct catalogue *c, const char *item, struct err *e)
{
	struct nearest near = nearest_to(item);
	char shown[QUOTE_MAX];

	if (strpbrk(item, ".:/*["))
		return 0;
	for (size_t i = 0; i < c->n_permissions; i++)
		nearest_offer(&near, c->permissions[i].id);
	for (unsigned i = 0; i < NET_BASES; i++)
		nearest_offer(&near, network_base_name((enum network_base)i));
	/* Closer than for other words: `api` is a host, however near `any` is. */
	if (!near.word || near.distance > (strlen(item) < 6 ? 1u : 2u))
		return 0;
	return err_set(e,
		       "%s is not known; did you mean `%s`? A host of that name is written "
		       "`site:%s`",
		       quote_string(item, shown), near.word, item);
}

/* "github:22" would be a host of one label, which nobody means. */
static int refuse_ports_of_permission(const struct catalogue *c, const char *item, struct err *e)
{
	char id[64];
	size_t n = strcspn(item, ":/");

	if (!item[n] || n >= sizeof(id))
		return 0;
	memcpy(id, item, n);
	id[n] = 0;
	if (!catalogue_permission(c, id))
		return 0;
	return err_set(e,
		       "`%s` is a permission and takes no ports; name a host, as in "
		       "`HOST%.32s`. A host of that name is written `site:%s%.32s`",
		       id, item + n, id, item + n);
}

/* ---- Bases ---- */

static int add_base(struct policy *p, const struct catalogue *c, enum effect effect,
		    const char *word, bool minus, struct err *e)
{
	if (minus || effect == EFFECT_DENY)
		return err_set(e,
			       "`%s` is a network and cannot be taken away; choose another, as in "
			       "`--net deny`",
			       word);
	if (!catalogue_preset(c, word))
		return err_set(e, "`%s` is a network, not a rule; write `--net %s`", word, word);
	return policy_set_network(p, word, e);
}

int policy_add_item(struct policy *p, const struct catalogue *c, enum effect effect,
		    const char *item, struct err *e)
{
	bool minus = item[0] == '-';
	const char *id = minus ? item + 1 : item;
	const struct permission *known;

	if (!c)
		c = catalogue_builtin();
	if (begins_with(item, "site:"))
		return policy_add_rule(p, effect, item, e);
	known = catalogue_permission(c, id);
	if (known)
		return add_permission(p, known, effect, minus, e);
	if (is_base(id))
		return add_base(p, c, effect, id, minus, e);
	if (has_shape_of_id(id) || (minus && word_length(id) && !id[word_length(id)]))
		return catalogue_refuse_unknown(c, id, e);
	if (refuse_near_permission(c, item, e) || refuse_ports_of_permission(c, item, e))
		return -1;
	return policy_add_rule(p, effect, item, e);
}

/* "22", "1000-2000" or "443/udp": more ports of the item before it. No host is written so. */
static bool is_more_ports(const char *piece, size_t n)
{
	size_t digits = 0;

	while (digits < n &&
	       ((piece[digits] >= '0' && piece[digits] <= '9') || (digits && piece[digits] == '-')))
		digits++;
	return digits > 0 && (digits == n || piece[digits] == '/');
}

/* The end of the item that starts at s: the comma that parts it from the next, or the NUL. */
static const char *item_end(const char *s)
{
	const char *end = strchrnul(s, ',');
	bool has_ports = memchr(s, ':', (size_t)(end - s)) != NULL;

	while (*end && has_ports) {
		const char *next = strchrnul(end + 1, ',');

		if (!is_more_ports(end + 1, (size_t)(next - end - 1)))
			break;
		end = next;
	}
	return end;
}

int policy_each_item(const char *list, policy_item_fn *fn, void *ctx, struct err *e)
{
	char shown[QUOTE_MAX];

	for (const char *s = list;; s++) {
		const char *end = item_end(s);
		_cleanup_free_ char *item = strndup(s, (size_t)(end - s));

		if (!item)
			return err_set(e, "out of memory");
		if (*item == 0)
			return err_set(e, "%s has an empty item; leave the comma out",
				       quote_string(list, shown));
		if (fn(ctx, item, e))
			return -1;
		if (*end == 0)
			return 0;
		s = end;
	}
}

struct list_of {
	struct policy *p;
	const struct catalogue *c;
	enum effect effect;
};

static int add_one(void *ctx, const char *item, struct err *e)
{
	const struct list_of *l = ctx;

	return policy_add_item(l->p, l->c, l->effect, item, e);
}

int policy_add_list(struct policy *p, const struct catalogue *c, enum effect effect,
		    const char *list, struct err *e)
{
	struct list_of l = {p, c, effect};

	return policy_each_item(list, add_one, &l, e);
}
