/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/permission.h"

_Static_assert(REASONS <= 64, "a bit for each reason");

/* --- what a remedy says --- */

/* In the place of a sandbox's name, which none can have. */
#define SUGGEST_NAME "@"

/*
 * What "sandgate net allow NAME ITEM" and "sandgate run --allow ITEM ..." say, the two commands of
 * remedy_format().
 */
struct remedy_words {
	char text[REMEDY_MAX];
	const char *item; /* points into text; NULL: none */
	uint16_t host_port;
	bool net_deny;
};

static void take_word(struct remedy_words *w, const char *before, const char *word)
{
	if (strcmp(before, SUGGEST_NAME) == 0 || strcmp(before, "--allow") == 0)
		w->item = word;
	else if (strcmp(before, "--host-port") == 0)
		w->host_port = (uint16_t)strtoul(word, NULL, 10);
	else if (strcmp(before, "--net") == 0)
		w->net_deny = strcmp(word, "deny") == 0;
}

/* Of a request that was refused: which permission is for it, as far as the catalogue has it. */
static const struct permission *permission_for(const struct suggestions *s, const struct seen *what)
{
	if (!what->permission[0] || what->reason == REASON_NONE || !s->catalogue)
		return NULL;
	return catalogue_permission(s->catalogue, what->permission);
}

static void find_remedy(const struct suggestions *s, const struct seen *what,
			struct remedy_words *w)
{
	struct destination d = seen_destination(what);
	const struct remedy_for who = {
		.sandbox = SUGGEST_NAME, .catalogue = s->catalogue, .on = s->on};
	const struct permission *wanted = permission_for(s, what);
	char *save = NULL, *before, *word;

	*w = (struct remedy_words){.item = wanted ? wanted->id : NULL};
	if (wanted || (!d.name && !d.addr))
		return;
	remedy_format(&who, &d, what->reason, w->text);
	before = strtok_r(w->text, " ", &save);
	for (; before && (word = strtok_r(NULL, " ", &save)); before = word)
		if (word[0] != '-')
			take_word(w, before, word);
}

/*
 * Whether a refusal is the policy's and of the target alone, so that the policy can be asked again.
 */
static bool is_of_policy(enum reason r)
{
	return r == REASON_NOT_IN_POLICY || r == REASON_PORT_NOT_ALLOWED ||
	       r == REASON_DENIED_BY_RULE || r == REASON_SPECIAL_ADDRESS ||
	       r == REASON_ENCRYPTED_DNS || r == REASON_DNS_OFF || r == REASON_NETWORK_NONE;
}

/* The name was allowed all along: what it points to was withheld. One of the host's own stays so.
 */
static bool is_shown_now(const struct suggestions *s, const struct seen *what,
			 const struct verdict *name)
{
	return what->has_addr && address_special(NULL, &what->addr) &&
	       address_admissible(s->rules, NULL, name, &what->addr);
}

static bool is_on(char *const *on, const char *id)
{
	while (on && *on && strcmp(*on, id) != 0)
		on++;
	return on && *on;
}

static bool is_allowed_now(const struct suggestions *s, const struct seen *what)
{
	struct destination d = seen_destination(what);
	const struct permission *wanted = permission_for(s, what);
	struct verdict v;

	if (wanted)
		return is_on(s->on, wanted->id);
	if (!s->rules || !is_of_policy(what->reason) || (!d.name && !d.addr))
		return false;
	decide(s->rules, NULL, &d, &v);
	if (v.allow && what->lookup && what->reason == REASON_SPECIAL_ADDRESS)
		return is_shown_now(s, what, &v);
	return v.allow;
}

/* --- the groups --- */

/* What a refusal goes with. */
struct place {
	const struct permission *permission;
	char host[NAME_MAX_OCTETS + 1];
	bool allowed_now;
};

static bool is_same(const struct suggestion *g, const struct place *p)
{
	if (g->permission || p->permission)
		return g->permission == p->permission;
	return g->allowed_now == p->allowed_now && strcmp(g->hosts[0], p->host) == 0;
}

static int add_text(char **list, size_t *n, size_t most, const char *text)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(list[i], text) == 0)
			return 0;
	if (*n == most)
		return 0;
	list[*n] = strdup(text);
	if (!list[*n])
		return -ENOMEM;
	++*n;
	return 0;
}

static void add_port(struct suggestion *g, const struct seen *what)
{
	const struct suggestion_port p = {
		.lookup = what->lookup,
		.proto = what->proto,
		.port = what->lookup ? 0 : what->port,
	};

	for (size_t i = 0; i < g->n_ports; i++)
		if (g->ports[i].lookup == p.lookup && g->ports[i].port == p.port &&
		    (p.lookup || g->ports[i].proto == p.proto))
			return;
	if (g->n_ports < SUGGEST_PLACES_MAX)
		g->ports[g->n_ports++] = p;
}

static void add_host_port(struct suggestion *g, uint16_t port)
{
	for (size_t i = 0; i < g->n_host_ports; i++)
		if (g->host_ports[i] == port)
			return;
	if (g->n_host_ports < SUGGEST_ITEMS_MAX)
		g->host_ports[g->n_host_ports++] = port;
}

/* NULL with errno. */
static struct suggestion *find_or_make(struct suggestions *s, const struct place *p)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_same(&s->v[i], p))
			return &s->v[i];
	errno = s->n < SUGGESTIONS_MAX ? ENOMEM : ENOSPC;
	if (s->n == SUGGESTIONS_MAX)
		return NULL;
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 16;
		struct suggestion *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v)
			return NULL;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n] =
		(struct suggestion){.permission = p->permission, .allowed_now = p->allowed_now};
	if (add_text(s->v[s->n].hosts, &s->v[s->n].n_hosts, SUGGEST_PLACES_MAX, p->host))
		return NULL;
	return &s->v[s->n++];
}

static void find_place(const struct suggestions *s, const struct seen *what, struct remedy_words *w,
		       struct place *p)
{
	*p = (struct place){.allowed_now = is_allowed_now(s, what)};
	*w = (struct remedy_words){.item = NULL};
	seen_host(what, p->host);
	if (p->allowed_now)
		return;
	find_remedy(s, what, w);
	if (w->item && s->catalogue)
		p->permission = catalogue_permission(s->catalogue, w->item);
}

int suggest_add(struct suggestions *s, const struct seen *what)
{
	struct remedy_words w;
	struct suggestion *g;
	struct place p;

	find_place(s, what, &w, &p);
	g = find_or_make(s, &p);
	if (!g)
		return -errno;
	if (add_text(g->hosts, &g->n_hosts, SUGGEST_PLACES_MAX, p.host))
		return -ENOMEM;
	if (w.item && add_text(g->items, &g->n_items, SUGGEST_ITEMS_MAX, w.item))
		return -ENOMEM;
	if (w.host_port)
		add_host_port(g, w.host_port);
	g->net_deny |= w.net_deny;
	g->reasons |= UINT64_C(1) << what->reason;
	g->count += what->count;
	s->total += what->count;
	add_port(g, what);
	return 0;
}

void suggest_free(struct suggestions *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->v[i].n_hosts; k++)
			free(s->v[i].hosts[k]);
		for (size_t k = 0; k < s->v[i].n_items; k++)
			free(s->v[i].items[k]);
	}
	free(s->v);
	*s = (struct suggestions){.catalogue = s->catalogue, .on = s->on, .rules = s->rules};
}
