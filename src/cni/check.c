/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/cni.h"
#include "cni/ipam.h"
#include "cni/result.h"
#include "sandbox/control/client.h"
#include "sandbox/engine/netns.h"
#include "sandbox/engine/netns_claim.h"

/* The supervisor answers, and replaces a gate that has died. */
static enum cni_code check_gate(const char *name, struct err *e)
{
	json_t *row = client_ask(name, "ls", e);

	if (!row) {
		err_prefix(e, "there is no gate");
		return CNI_BROKEN;
	}
	json_decref(row);
	return CNI_OK;
}

static enum cni_code check_claim(int netns, const char *name, struct err *e)
{
	char of[SANDBOX_NAME_SIZE];
	int found = netns_claim_find(netns, of, e);

	if (found == 1 && strcmp(of, name) == 0)
		return CNI_OK;
	if (found >= 0)
		err_set(e, "the network namespace is not the one that %s stands before", name);
	return CNI_BROKEN;
}

static enum cni_code check_ways(int netns, const struct airlock_inbound *now, struct err *e)
{
	struct netns_watch w;
	int rc = netns_watch_open(netns, &w, e);

	if (rc == 0) {
		rc = netns_watch_verify(&w, now->index, e);
		netns_watch_close(&w);
	}
	return rc ? CNI_BROKEN : CNI_OK;
}

static bool has(const struct airlock_inbound *now, const struct addr *a)
{
	for (size_t i = 0; i < now->n_addresses; i++)
		if (addr_equal(&now->addresses[i].addr, a))
			return true;
	return false;
}

static enum cni_code check_addresses(const struct cni_request *q, const struct airlock_inbound *now,
				     struct err *e)
{
	struct addr expected[CNI_ADDRESSES_MAX];
	int n = cni_result_read(q->config.before, expected, e);
	char text[ADDR_TEXT_MAX];

	if (n < 0)
		return CNI_BAD_CONFIG;
	for (int i = 0; i < n; i++)
		if (!has(now, &expected[i])) {
			err_set(e, "%s has lost the address %s", q->call.ifname,
				addr_format(&expected[i], text));
			return CNI_BROKEN;
		}
	return CNI_OK;
}

static enum cni_code check_netns(const struct cni_request *q, const char *name, struct err *e)
{
	struct airlock_inbound now;
	_cleanup_fd_ int netns = netns_open_path(q->call.netns, e);
	enum cni_code code;

	if (netns < 0)
		return CNI_NO_CONTAINER;
	code = check_claim(netns, name, e);
	if (!code && inbound_read(netns, q->call.ifname, &now, e))
		code = CNI_BROKEN;
	if (!code)
		code = check_ways(netns, &now, e);
	return code ? code : check_addresses(q, &now, e);
}

enum cni_code cni_check(const struct cni_request *q, struct err *e)
{
	char name[SANDBOX_NAME_SIZE];
	json_t *nothing;
	enum cni_code code;

	if (!q->config.before) {
		err_set(e, "prevResult: CHECK needs the result of ADD");
		return CNI_BAD_CONFIG;
	}
	cni_call_name(&q->call, name);
	code = check_gate(name, e);
	if (!code)
		code = check_netns(q, name, e);
	if (!code && q->config.ipam)
		code = cni_ipam_run(&q->call, CNI_CHECK, q->config.ipam, q->text, &nothing, e);
	return code;
}
