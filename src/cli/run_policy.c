/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_policy.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/policy_file.h"
#include "sandbox/run.h"

/* Reads a decimal port at s and moves it past. 0 when there is none from 1 to 65535. */
static uint16_t take_port(const char **s)
{
	uint32_t port = 0;

	if (**s == '0')
		return 0;
	for (; **s >= '0' && **s <= '9' && port <= 65535; ++*s)
		port = port * 10 + (uint32_t)(**s - '0');
	return port <= 65535 ? (uint16_t)port : 0;
}

static void *grown(void *array, size_t n, size_t size)
{
	void *p = reallocarray(array, n + 1, size);

	if (!p)
		die(EXIT_SANDGATE, "out of memory");
	return p;
}

static int add_publish(struct policy *p, const char **s, struct err *e)
{
	const char *written = *s;
	struct publish one = {.host = take_port(s)};

	if (one.host && **s == ':') {
		++*s;
		one.sandbox = take_port(s);
	}
	if (!one.sandbox || (**s && **s != ','))
		return err_set(e,
			       "--publish: \"%s\" is not HOST:PORT, two ports from 1 to 65535; "
			       "write --publish 8080:3000",
			       written);
	for (size_t i = 0; i < p->n_publish; i++)
		if (p->publish[i].host == one.host)
			return err_set(e,
				       "--publish: port %u of the host is published twice; leave "
				       "one out",
				       one.host);
	p->publish = grown(p->publish, p->n_publish, sizeof(one));
	p->publish[p->n_publish++] = one;
	return 0;
}

static int add_host_port(struct policy *p, const char **s, struct err *e)
{
	const char *written = *s;
	uint16_t port = take_port(s);

	if (!port || (**s && **s != ','))
		return err_set(e,
			       "--host-port: \"%s\" is not a port from 1 to 65535; write "
			       "--host-port 5432",
			       written);
	for (size_t i = 0; i < p->n_host_ports; i++)
		if (p->host_ports[i] == port)
			return 0;
	p->host_ports = grown(p->host_ports, p->n_host_ports, sizeof(port));
	p->host_ports[p->n_host_ports++] = port;
	return 0;
}

typedef int add_fn(struct policy *p, const char **s, struct err *e);

/* Each value is a list with commas; `add` leaves off at a comma or at the end. */
static int add_ports(struct policy *p, const char *const *lists, add_fn *add, struct err *e)
{
	for (; lists && *lists; lists++)
		for (const char *s = *lists;; s++) {
			if (add(p, &s, e))
				return -1;
			if (!*s)
				break;
		}
	return 0;
}

static int add_items(struct policy *p, enum effect effect, const char *option,
		     const char *const *lists, struct err *e)
{
	for (; lists && *lists; lists++)
		if (policy_add_list(p, NULL, effect, *lists, e)) {
			err_prefix(e, "%s", option);
			return -1;
		}
	return 0;
}

/* --only says "and nothing else": what would admit more beside it is a contradiction. */
static int check_only(const struct args *a, struct err *e)
{
	const char *net = args_value(a, RUN_NET);

	if (!args_has(a, RUN_ONLY))
		return 0;
	if (args_has(a, RUN_ALLOW))
		return err_set(e,
			       "--only and --allow: only means nothing else; put all of it in one "
			       "of them");
	if (args_has(a, RUN_POLICY))
		return err_set(e,
			       "--only and --policy: only means nothing else; add to the file with "
			       "--allow");
	if (net && strcmp(net, "deny") != 0)
		return err_set(e, "--only and --net %s: only stands for --net deny; leave one out",
			       net);
	return 0;
}

static int set_base(const struct args *a, struct policy *p, struct err *e)
{
	const char *net = args_value(a, RUN_NET);

	if (!net && args_has(a, RUN_POLICY))
		return 0;
	if (policy_set_network(p, net ? net : "deny", e) == 0)
		return 0;
	err_prefix(e, "--net");
	return -1;
}

static int apply(const struct args *a, struct policy *p, struct err *e)
{
	if (set_base(a, p, e) ||
	    add_items(p, EFFECT_ALLOW, "--allow", args_values(a, RUN_ALLOW), e) ||
	    add_items(p, EFFECT_ALLOW, "--only", args_values(a, RUN_ONLY), e) ||
	    add_items(p, EFFECT_DENY, "--deny", args_values(a, RUN_DENY), e) ||
	    add_ports(p, args_values(a, RUN_PUBLISH), add_publish, e) ||
	    add_ports(p, args_values(a, RUN_HOST_PORT), add_host_port, e))
		return -1;
	return policy_validate(p, e);
}

int run_policy_build(const struct args *a, struct policy *p, struct err *e)
{
	const char *file = args_value(a, RUN_POLICY);

	policy_init(p);
	if (check_only(a, e))
		return -1;
	if (file && policy_file_read(file, p, e))
		return -1;
	if (apply(a, p, e)) {
		policy_free(p);
		return -1;
	}
	return 0;
}
