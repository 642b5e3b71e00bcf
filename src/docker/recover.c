/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/recover.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "docker/gate.h"

/* As the process sees its files; 0: as this one does. */
static bool is_mounted(const char *key, pid_t daemon)
{
	char path[PATH_MAX + 32] = "";
	struct statfs fs;

	if (daemon)
		snprintf(path, sizeof(path), "/proc/%d/root", (int)daemon);
	strcat(path, key);
	return statfs(path, &fs) == 0 && fs.f_type == NSFS_MAGIC;
}

/* Whether the endpoint is for docker to end: its gate stands, or it has none yet. */
static bool is_still_there(const struct docker_driver *d, const struct docker_endpoint *p,
			   pid_t daemon)
{
	if (p->busy)
		return true;
	if (p->state == ENDPOINT_MADE)
		return docker_networks_find(&d->networks, p->network) != NULL;
	return p->state == ENDPOINT_JOINED && docker_gate_is_alive(p) && is_mounted(p->key, daemon);
}

static int recover_one(struct docker_driver *d, struct docker_endpoint *p, struct err *e)
{
	if (docker_gate_end(p, e))
		return -1;
	/* A join or a leave that was cut short, dockerd asks for again. */
	if (p->state == ENDPOINT_JOINING || p->state == ENDPOINT_LEAVING)
		return docker_endpoints_set(&d->endpoints, p, ENDPOINT_MADE, e);
	return docker_endpoints_remove(&d->endpoints, p, e);
}

void docker_recover(struct docker_driver *d, pid_t daemon)
{
	struct docker_endpoint *next;
	struct err e;

	for (struct docker_endpoint *p = d->endpoints.first; p; p = next) {
		char name[SANDBOX_NAME_SIZE];

		next = p->next;
		strcpy(name, p->sandbox);
		if (!is_still_there(d, p, daemon) && recover_one(d, p, &e))
			docker_driver_say("%s: it is left over: %s", name, e.text);
	}
}
