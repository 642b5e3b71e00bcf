/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item: one word of --allow, --deny or --only.
 *
 * A word may be a permission, a preset or a rule. A word that is nearly a
 * permission is never taken for a host of one label: that would be a guess.
 */
#include <stdio.h>

#include "base/nearest.h"
#include "policy/quote.h"
#include "policy/rule.h"

/* The ids of permissions to come; those that end in a colon take a word after it. */
static const char *const permissions[] = {
	"bitbucket", "error-reports", "github",	 "github:as-you", "github:push",
	"gitlab",    "huggingface",   "install", "model",	  "sign-in",
	"time",	     "update",	      "web",
};
static const char *const permission_families[] = {"install:", "model:", "publish:"};

static bool begins_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

static bool is_permission(const char *word)
{
	for (size_t i = 0; i < sg_array_len(permissions); i++)
		if (strcmp(word, permissions[i]) == 0)
			return true;
	for (size_t i = 0; i < sg_array_len(permission_families); i++)
		if (begins_with(word, permission_families[i]))
			return true;
	return false;
}

static bool is_base(const char *word)
{
	for (unsigned i = 0; i < NET_BASES; i++)
		if (strcmp(word, network_base_name((enum network_base)i)) == 0)
			return true;
	return false;
}

/* One label without ports or protocol could be a host as well as a misspelt permission. */
static int refuse_near_permission(const char *item, struct err *e)
{
	struct nearest near = nearest_to(item);
	char shown[QUOTE_MAX];

	if (strpbrk(item, ".:/*["))
		return 0;
	for (size_t i = 0; i < sg_array_len(permissions); i++)
		nearest_offer(&near, permissions[i]);
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

int policy_add_item(struct policy *p, const struct catalogue *c, enum effect effect,
		    const char *item, struct err *e)
{
	const char *id = item[0] == '-' ? item + 1 : item;
	char shown[QUOTE_MAX];

	if (begins_with(item, "site:"))
		return policy_add_rule(p, effect, item, e);
	if (is_permission(id))
		return err_set(e,
			       "permission %s: permissions are not in this version; list the "
			       "hosts it stands for",
			       quote_string(id, shown));
	if (is_base(id))
		return err_set(e, "%s is a network, not a rule; write `--net %s`",
			       quote_string(id, shown), id);
	if (item[0] != '-' && refuse_near_permission(item, e))
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

int policy_add_list(struct policy *p, const struct catalogue *c, enum effect effect,
		    const char *list, struct err *e)
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
		if (policy_add_item(p, c, effect, item, e))
			return -1;
		if (*end == 0)
			return 0;
		s = end;
	}
}
