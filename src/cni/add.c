/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "airlock/link.h"
#include "cni/cni.h"
#include "cni/ipam.h"
#include "cni/result.h"
#include "cni/turn.h"
#include "sandbox/engine/netns.h"
#include "sandbox/runtime_dir.h"

/* What ADD makes, before it is made. */
struct link {
	int netns, turn;
	char name[SANDBOX_NAME_SIZE];
	bool chained;
	struct airlock_inbound before; /* chained: the device in whose place it comes */
	struct airlock_addresses addresses;
	struct attach_publish publish[2 * CNI_PORTS_MAX];
	size_t n_publish;
	char pcap[PATH_MAX];
};

static bool has_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool lives(const char *name)
{
	struct err ignored;

	return registry_find(name, &ignored) == 1;
}

static enum cni_code exists(const struct cni_request *q, const struct link *l, struct err *e)
{
	err_set(e, "%s of container %s is there already (sandbox %s); DEL comes before another ADD",
		q->call.ifname, q->call.container, l->name);
	return CNI_EXISTS;
}

/* The device of that name has to be there in a chain, and must not be alone. */
static enum cni_code look(const struct cni_request *q, struct link *l, struct err *e)
{
	int rc;

	l->netns = netns_open_path(q->call.netns, e);
	if (l->netns < 0 || netns_check(l->netns, e))
		return CNI_BAD_ENVIRONMENT;
	if (lives(l->name))
		return exists(q, l, e);
	rc = inbound_read(l->netns, q->call.ifname, &l->before, e);
	if (l->chained)
		return rc == 0 || (rc == -ENOTSUP && q->config.no_inbound) ? CNI_OK
									   : CNI_BAD_CONFIG;
	if (rc == -ENODEV)
		return CNI_OK;
	return rc == 0 || rc == -ENOTSUP ? exists(q, l, e) : CNI_NOT_MADE;
}

/* Of any address of the host: both families'. */
static void take_ports(const struct cni_request *q, struct link *l)
{
	const struct addr any4 = airlock_address("0.0.0.0"), any6 = airlock_address("::");
	bool v6 = has_ipv6();

	for (size_t i = 0; i < q->config.n_ports; i++) {
		struct attach_publish one = q->config.ports[i];

		l->publish[l->n_publish++] = one;
		if (!addr_equal(&one.host.addr, &any4) || !v6)
			continue;
		one.host.addr = any6;
		l->publish[l->n_publish++] = one;
	}
}

static enum cni_code take_addresses(const struct cni_request *q, struct link *l, struct err *e)
{
	json_t *given;
	enum cni_code code;

	l->addresses = l->chained ? inbound_link_addresses(&l->before) : airlock_usual_addresses();
	if (!q->config.ipam)
		return CNI_OK;
	code = cni_ipam_run(&q->call, CNI_ADD, q->config.ipam, q->text, &given, e);
	if (code)
		return code;
	if (cni_result_link(given, &l->addresses, e)) {
		err_prefix(e, "ipam: %s", q->config.ipam);
		code = CNI_BAD_CONFIG;
	}
	json_decref(given);
	return code;
}

static enum cni_code check_chain(const struct cni_config *c, struct err *e)
{
	if (c->ipam) {
		err_set(e, "ipam: behind another plugin the addresses are that one's; leave it "
			   "out");
		return CNI_BAD_CONFIG;
	}
	if (!c->n_ports)
		return CNI_OK;
	err_set(e, "portMappings: behind another plugin the portmap plugin publishes ports; put it "
		   "into the chain, and leave the capability out here");
	return CNI_BAD_FIELD;
}

/* The airlock's own addresses are not for a pod's network to give. */
static bool is_of_airlock(const struct addr *a)
{
	struct airlock_addresses usual = airlock_usual_addresses();

	return addr_equal(a, &usual.gate_v4) || addr_equal(a, &usual.gate_v6);
}

static enum cni_code check_before(const struct link *l, struct err *e)
{
	for (size_t i = 0; i < l->before.n_addresses; i++)
		if (is_of_airlock(&l->before.addresses[i].addr)) {
			err_set(e,
				"the pod's network gave it the address of its gate; take another "
				"range than " AIRLOCK_GATE_V4 "/29");
			return CNI_BAD_CONFIG;
		}
	if (l->before.n_addresses)
		return CNI_OK;
	err_set(e, "the pod's device has no address; put sandgate behind the plugin that gives "
		   "one");
	return CNI_BAD_CONFIG;
}

static enum cni_code attach(const struct cni_request *q, const struct link *l,
			    const struct policy *policy, const struct sources *sources,
			    struct err *e)
{
	bool inbound = l->chained && !q->config.no_inbound;
	char name[SANDBOX_NAME_SIZE];
	struct attach_request r = {
		.name = l->name,
		.engine = "cni",
		.netns = l->netns,
		.alive = -1,
		.policy = policy,
		.sources = sources,
		.others = inbound      ? AIRLOCK_OTHERS_INBOUND
			  : l->chained ? AIRLOCK_OTHERS_REMOVED
				       : AIRLOCK_OTHERS_REFUSED,
		.inbound = inbound ? &l->before : NULL,
		.device = q->call.ifname,
		.addresses = &l->addresses,
		.mac = l->chained ? l->before.mac : NULL,
		.mtu = l->chained ? l->before.mtu : 0,
		.publish = l->publish,
		.n_publish = l->n_publish,
		.leave = l->chained ? &l->before : NULL,
		.lock = l->turn,
		.quiet = true,
		.pcap = {.file = q->config.pcap ? l->pcap : NULL, .again = true},
	};

	if (attach_start(&r, name, e) == 0)
		return CNI_OK;
	return lives(l->name) ? CNI_EXISTS : CNI_NOT_MADE;
}

static void give_back(const struct cni_request *q)
{
	json_t *nothing;
	struct err ignored;

	if (q->config.ipam &&
	    cni_ipam_run(&q->call, CNI_DEL, q->config.ipam, q->text, &nothing, &ignored) == CNI_OK)
		json_decref(nothing);
}

static json_t *make_result(const struct cni_request *q, const struct link *l)
{
	return l->chained ? cni_result_chained(q->config.before, q->config.version)
			  : cni_result_alone(&q->call, q->config.version, &l->addresses,
					     link_mac_sandbox, has_ipv6());
}

/* From here on a failure gives back what the IPAM plugin gave. */
static enum cni_code make(const struct cni_request *q, struct link *l, const struct policy *policy,
			  const struct sources *sources, json_t **result, struct err *e)
{
	enum cni_code code = l->chained ? check_before(l, e) : CNI_OK;

	*result = code ? NULL : make_result(q, l);
	if (!code && !*result) {
		err_set(e, "out of memory");
		code = CNI_NOT_MADE;
	}
	if (!code)
		code = attach(q, l, policy, sources, e);
	if (!code)
		return CNI_OK;
	json_decref(*result);
	*result = NULL;
	return code;
}

/* The name is this ADD's alone. */
static enum cni_code add(const struct cni_request *q, struct link *l, const struct policy *policy,
			 const struct sources *sources, json_t **result, struct err *e)
{
	enum cni_code code = l->chained ? check_chain(&q->config, e) : CNI_OK;

	if (!code)
		code = look(q, l, e);
	if (!code && q->config.pcap &&
	    snprintf(l->pcap, sizeof(l->pcap), "%s/%s.pcapng", q->config.pcap, l->name) >=
		    (int)sizeof(l->pcap)) {
		err_set(e, "pcap: the path of the folder is too long");
		code = CNI_BAD_CONFIG;
	}
	if (code)
		return code;
	take_ports(q, l);
	code = take_addresses(q, l, e);
	if (!code)
		code = make(q, l, policy, sources, result, e);
	if (code)
		give_back(q);
	return code;
}

enum cni_code cni_add(const struct cni_request *q, const struct policy *policy,
		      const struct sources *sources, json_t **result, struct err *e)
{
	static struct link l;
	enum cni_code code;

	*result = NULL;
	l = (struct link){.netns = -1, .chained = q->config.before != NULL};
	cni_call_name(&q->call, l.name);
	code = cni_turn_take(l.name, 0, &l.turn, e);
	if (!code)
		code = add(q, &l, policy, sources, result, e);
	cni_turn_give(l.turn);
	if (l.netns >= 0)
		close(l.netns);
	return code;
}
