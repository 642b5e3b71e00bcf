/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/endpoints.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "docker/store.h"

static const char *const state_names[] = {
	[ENDPOINT_MADE] = "made",
	[ENDPOINT_JOINING] = "joining",
	[ENDPOINT_JOINED] = "joined",
	[ENDPOINT_LEAVING] = "leaving",
};
_Static_assert(sg_array_len(state_names) == ENDPOINT_LEAVING + 1, "each state has a name");

struct docker_endpoint *docker_endpoints_find(const struct docker_endpoints *l, const char *id)
{
	struct docker_endpoint *p = l->first;

	while (p && strcmp(p->id, id) != 0)
		p = p->next;
	return p;
}

struct docker_endpoint *docker_endpoints_add(struct docker_endpoints *l, const char *id,
					     struct err *e)
{
	struct docker_endpoint *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(e, "out of memory"), NULL;
	strcpy(p->id, id);
	p->next = l->first;
	l->first = p;
	return p;
}

static void forget(struct docker_endpoints *l, struct docker_endpoint *p)
{
	struct docker_endpoint **at = &l->first;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	json_decref(p->ports);
	free(p);
}

/* --- the files --- */

static json_t *to_json(const struct docker_endpoint *p)
{
	char mac[DOCKER_MAC_TEXT_SIZE];

	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:O*}", "state",
			 state_names[p->state], "network", p->network, "v4",
			 docker_store_address(&p->v4), "v6", docker_store_address(&p->v6), "mac",
			 docker_mac_format(p->mac, mac), "sandbox", p->sandbox, "key", p->key,
			 "ports", p->ports);
}

static const char *text_of(const json_t *value, const char *key)
{
	const char *s = json_string_value(json_object_get(value, key));

	return s ? s : "";
}

static bool read_state(const char *name, enum docker_endpoint_state *out)
{
	for (size_t i = 0; i < sg_array_len(state_names); i++)
		if (strcmp(state_names[i], name) == 0) {
			*out = (enum docker_endpoint_state)i;
			return true;
		}
	return false;
}

static bool from_json(const json_t *value, struct docker_endpoint *p)
{
	const char *network = text_of(value, "network"), *sandbox = text_of(value, "sandbox"),
		   *key = text_of(value, "key");

	if (!read_state(text_of(value, "state"), &p->state) || !docker_id_valid(network) ||
	    !docker_store_read_address(value, "v4", &p->v4) ||
	    !docker_store_read_address(value, "v6", &p->v6) ||
	    !docker_mac_parse(text_of(value, "mac"), p->mac) ||
	    (*sandbox && !sandbox_name_valid(sandbox)) || strlen(key) >= sizeof(p->key) ||
	    (p->state != ENDPOINT_MADE && !*sandbox))
		return false;
	strcpy(p->network, network);
	strcpy(p->sandbox, sandbox);
	strcpy(p->key, key);
	p->ports = json_incref(json_object_get(value, "ports"));
	return true;
}

static int load(void *ctx, const char *id, const json_t *value, struct err *e)
{
	struct docker_endpoint *p = docker_endpoints_add(ctx, id, e);

	if (!p)
		return -1;
	return from_json(value, p) ? 0
				   : err_set(e, "it is not what the driver writes of an endpoint");
}

/* --- the table --- */

int docker_endpoints_open(struct docker_endpoints *l, struct err *e)
{
	*l = (struct docker_endpoints){.folder = docker_store_open("endpoints", e)};
	return l->folder < 0 ? -1 : docker_store_each(l->folder, load, l, e);
}

void docker_endpoints_close(struct docker_endpoints *l)
{
	while (l->first)
		forget(l, l->first);
	if (l->folder >= 0)
		close(l->folder);
}

int docker_endpoints_keep(struct docker_endpoints *l, const struct docker_endpoint *p,
			  struct err *e)
{
	return docker_store_put(l->folder, p->id, to_json(p), e);
}

int docker_endpoints_set(struct docker_endpoints *l, struct docker_endpoint *p,
			 enum docker_endpoint_state state, struct err *e)
{
	p->state = state;
	if (state == ENDPOINT_MADE) {
		*p->sandbox = '\0';
		*p->key = '\0';
		json_decref(p->ports);
		p->ports = NULL;
	}
	return docker_endpoints_keep(l, p, e);
}

int docker_endpoints_remove(struct docker_endpoints *l, struct docker_endpoint *p, struct err *e)
{
	if (docker_store_remove(l->folder, p->id, e))
		return -1;
	forget(l, p);
	return 0;
}
