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

static void find_remedy(const struct suggestions *s, const struct seen *what,
			struct remedy_words *w)
{
	struct destination d = seen_destination(what);
	const struct remedy_for who = {
		.sandbox = SUGGEST_NAME, .catalogue = s->catalogue, .on = s->on};
	char *save = NULL, *before, *word;

	*w = (struct remedy_words){.item = NULL};
	if (!d.name && !d.addr)
		return;
	remedy_format(&who, &d, what->reason, w->text);
	before = strtok_r(w->text, " ", &save);
	for (; before && (word = strtok_r(NULL, " ", &save)); before = word)
		if (word[0] != '-')
			take_word(w, before, word);
}

/* --- the groups --- */

static bool is_same(const struct suggestion *g, const struct permission *permission,
		    const char *host)
{
	if (g->permission || permission)
		return g->permission == permission;
	return strcmp(g->hosts[0], host) == 0;
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

static struct suggestion *find_or_make(struct suggestions *s, const struct permission *permission,
				       const char *host)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_same(&s->v[i], permission, host))
			return &s->v[i];
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 16;
		struct suggestion *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v)
			return NULL;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n] = (struct suggestion){.permission = permission};
	if (add_text(s->v[s->n].hosts, &s->v[s->n].n_hosts, SUGGEST_PLACES_MAX, host))
		return NULL;
	return &s->v[s->n++];
}

int suggest_add(struct suggestions *s, const struct seen *what)
{
	const struct permission *permission;
	char host[NAME_MAX_OCTETS + 1];
	struct remedy_words w;
	struct suggestion *g;

	find_remedy(s, what, &w);
	permission = w.item && s->catalogue ? catalogue_permission(s->catalogue, w.item) : NULL;
	g = find_or_make(s, permission, seen_host(what, host));
	if (!g || add_text(g->hosts, &g->n_hosts, SUGGEST_PLACES_MAX, host))
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
	*s = (struct suggestions){.catalogue = s->catalogue, .on = s->on};
}
