/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/gate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/attach.h"
#include "sandbox/definition.h"
#include "sandbox/runtime_dir.h"

enum { DIGITS = 12 }; /* of the endpoint's id: with "sg" the name of a device */

void docker_gate_device(const struct docker_endpoint *p, char out[IFNAMSIZ])
{
	snprintf(out, IFNAMSIZ, "sg%.*s", DIGITS, p->id);
}

bool docker_gate_is_alive(const struct docker_endpoint *p)
{
	struct err ignored;

	return registry_find(p->sandbox, &ignored) == 1;
}

/* By one that runs, or one that is kept. */
static bool is_taken(const struct docker_endpoint *p)
{
	struct definition kept;
	struct err ignored;
	int rc;

	if (docker_gate_is_alive(p))
		return true;
	rc = definition_load(p->sandbox, &kept, &ignored);
	if (rc == 0)
		definition_free(&kept);
	return rc != -ENOENT;
}

/* Two names of docker's may make one of ours, and the other's gate may be still in the making. */
static bool is_anothers(const struct docker_endpoints *l, const struct docker_endpoint *p)
{
	for (const struct docker_endpoint *o = l->first; o; o = o->next)
		if (o != p && o->state != ENDPOINT_MADE && strcmp(o->sandbox, p->sandbox) == 0)
			return true;
	return false;
}

void docker_gate_choose_name(const struct docker_endpoints *l, struct docker_endpoint *p,
			     const char *container)
{
	sandbox_name_from_path(container, p->sandbox);
	if (!*container || !sandbox_name_valid(p->sandbox) || is_anothers(l, p) || is_taken(p))
		snprintf(p->sandbox, sizeof(p->sandbox), "docker-%.*s", DIGITS, p->id);
}

int docker_gate_end(const struct docker_endpoint *p, struct err *e)
{
	return *p->sandbox && attach_end(p->sandbox, e) == -1 ? -1 : 0;
}
