/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cni/cni.h"
#include "cni/ipam.h"
#include "cni/turn.h"
#include "sandbox/engine/netns.h"

/* A start may take so long on a busy machine; a runtime comes again. */
enum { TURN_MS = 30000 };

/*
 * Leaves those that another plugin gave: of a link alone there are the usual ones only, or those of
 * our own IPAM plugin. A result of before does not say it: it may be the plugin's own (and 0.3.1 has
 * none).
 */
static void keep_others(const struct cni_request *q, struct airlock_inbound *now)
{
	struct airlock_addresses usual = airlock_usual_addresses();
	size_t n = 0;

	for (size_t i = 0; i < now->n_addresses && !q->config.ipam; i++) {
		const struct addr *a = &now->addresses[i].addr;

		if (!addr_equal(a, &usual.sandbox_v4) && !addr_equal(a, &usual.sandbox_v6))
			now->addresses[n++] = now->addresses[i];
	}
	now->n_addresses = n;
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

static enum cni_code del(const struct cni_request *q, const char *name, struct err *e)
{
	_cleanup_fd_ int netns = open_netns(q);
	struct airlock_inbound now = {0};
	json_t *nothing;
	struct err ignored;
	enum cni_code code;

	if (netns < 0 || inbound_read(netns, q->call.ifname, &now, &ignored))
		now.n_addresses = 0;
	keep_others(q, &now);
	code = end(name, e);
	if (!code && now.n_addresses && inbound_leave_dead(netns, q->call.ifname, &now, e))
		code = CNI_NOT_MADE;
	if (!code && q->config.ipam)
		code = cni_ipam_run(&q->call, CNI_DEL, q->config.ipam, q->text, &nothing, e);
	return code;
}

/*
 * What an ADD that was killed has started is waited for. Where no turn can be had for want of the
 * file none has had one.
 */
enum cni_code cni_del(const struct cni_request *q, struct err *e)
{
	char name[SANDBOX_NAME_SIZE];
	enum cni_code code;
	int turn;

	cni_call_name(&q->call, name);
	code = cni_turn_take(name, TURN_MS, &turn, e);
	if (code == CNI_TRY_AGAIN)
		return code;
	code = del(q, name, e);
	cni_turn_give(turn);
	return code;
}
