/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/networks.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "docker/store.h"

static void empty(struct docker_network *n)
{
	free(n->policy);
	free(n->pcap);
}

struct docker_network *docker_networks_find(const struct docker_networks *l, const char *id)
{
	struct docker_network *n = l->first;

	while (n && strcmp(n->id, id) != 0)
		n = n->next;
	return n;
}

/* In the table alone; moved from. */
static int put(struct docker_networks *l, struct docker_network *n, struct err *e)
{
	struct docker_network *there = docker_networks_find(l, n->id);

	if (there) {
		n->next = there->next;
		empty(there);
	} else {
		there = malloc(sizeof(*there));
		if (!there) {
			empty(n);
			return err_set(e, "out of memory");
		}
		n->next = l->first;
		l->first = there;
	}
	*there = *n;
	return 0;
}

/* --- the files --- */

static json_t *to_json(const struct docker_network *n)
{
	return json_pack("{s:s, s:s*, s:o, s:o}", "policy", n->policy, "pcap", n->pcap,
			 "gateway_v4", docker_store_address(&n->gateway_v4), "gateway_v6",
			 docker_store_address(&n->gateway_v6));
}

static int from_json(const json_t *value, struct docker_network *n, struct err *e)
{
	const char *policy = json_string_value(json_object_get(value, "policy"));
	const char *pcap = json_string_value(json_object_get(value, "pcap"));

	if (!policy || !docker_store_read_address(value, "gateway_v4", &n->gateway_v4) ||
	    !docker_store_read_address(value, "gateway_v6", &n->gateway_v6))
		return err_set(e, "it is not what the driver writes of a network");
	n->policy = strdup(policy);
	n->pcap = pcap ? strdup(pcap) : NULL;
	return n->policy && (!pcap || n->pcap) ? 0 : err_set(e, "out of memory");
}

static int load(void *ctx, const char *id, const json_t *value, struct err *e)
{
	struct docker_network n = {0};

	strcpy(n.id, id);
	if (from_json(value, &n, e)) {
		empty(&n);
		return -1;
	}
	return put(ctx, &n, e);
}

/* --- the table --- */

int docker_networks_open(struct docker_networks *l, struct err *e)
{
	*l = (struct docker_networks){.folder = docker_store_open("networks", e)};
	return l->folder < 0 ? -1 : docker_store_each(l->folder, load, l, e);
}

void docker_networks_close(struct docker_networks *l)
{
	while (l->first) {
		struct docker_network *n = l->first;

		l->first = n->next;
		empty(n);
		free(n);
	}
	if (l->folder >= 0)
		close(l->folder);
}

int docker_networks_put(struct docker_networks *l, struct docker_network *n, struct err *e)
{
	if (docker_store_put(l->folder, n->id, to_json(n), e)) {
		empty(n);
		return -1;
	}
	return put(l, n, e);
}

int docker_networks_remove(struct docker_networks *l, const char *id, struct err *e)
{
	struct docker_network **at = &l->first, *n;

	if (docker_store_remove(l->folder, id, e))
		return -1;
	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	n = *at;
	if (n) {
		*at = n->next;
		empty(n);
		free(n);
	}
	return 0;
}
