/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cni/cni.h"
#include "cni/ipam.h"
#include "sandbox/netns.h"

/*
 * Without a result of before (0.3.1) the addresses say whose they are: those of a link alone are the
 * usual or an IPAM plugin's.
 */
static bool is_chained(const struct cni_request *q, const struct airlock_inbound *now)
{
	struct airlock_addresses usual = airlock_usual_addresses();

	if (q->config.ipam || !now->n_addresses)
		return false;
	for (size_t i = 0; i < now->n_addresses; i++)
		if (addr_is_v4(&now->addresses[i].addr))
			return !addr_equal(&now->addresses[i].addr, &usual.sandbox_v4);
	return !addr_equal(&now->addresses[0].addr, &usual.sandbox_v6);
}

/* A namespace that is gone is not there to be left in order. */
static int open_netns(const struct cni_request *q)
{
	struct err ignored;

	return q->call.netns ? netns_open_path(q->call.netns, &ignored) : -1;
}

static enum cni_code end(const char *name, struct err *e)
{
	int rc = attach_end(name, e);

	return rc == 0 || rc == -ENOENT ? CNI_OK : CNI_TRY_AGAIN;
}

enum cni_code cni_del(const struct cni_request *q, struct err *e)
{
	_cleanup_fd_ int netns = open_netns(q);
	struct airlock_inbound now = {0};
	char name[SANDBOX_NAME_SIZE];
	json_t *nothing;
	struct err ignored;
	enum cni_code code;

	if (netns >= 0 && inbound_read(netns, q->call.ifname, &now, &ignored))
		now.n_addresses = 0;
	cni_call_name(&q->call, name);
	code = end(name, e);
	if (!code && netns >= 0 && is_chained(q, &now) &&
	    inbound_leave_dead(netns, q->call.ifname, &now, e))
		code = CNI_NOT_MADE;
	if (!code && q->config.ipam)
		code = cni_ipam_run(&q->call, CNI_DEL, q->config.ipam, q->text, &nothing, e);
	return code;
}
