/* SPDX-License-Identifier: Apache-2.0 */
/* The same text as resolv.conf and as hosts: what comes out is in bounds and valid. */
#include <stdlib.h>

#include "fuzz.h"
#include "sandbox/files/resolver_files.h"

static void check_resolv(const struct resolver_config *c)
{
	if (c->n_servers < 1 || c->n_servers > RESOLVER_SERVERS_MAX || c->tries < 1 ||
	    c->tries > 5 || c->timeout_ms < 1000 || c->timeout_ms > 30000)
		abort();
	for (size_t i = 0; i < c->n_servers; i++)
		if (c->servers[i].port != 53)
			abort();
}

static void check_hosts(const struct resolver_config *c)
{
	struct name again;

	if (c->n_hosts > HOST_NAMES_MAX)
		abort();
	for (size_t i = 0; i < c->n_hosts; i++)
		if (name_parse_ascii(c->hosts[i].name.s, c->hosts[i].name.n, &again) != NAME_OK ||
		    !name_equal(&again, &c->hosts[i].name))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct resolver_config c = {0};

	resolver_files_read_resolv(span_of(p, n), &c);
	check_resolv(&c);
	if (resolver_files_read_hosts(span_of(p, n), &c) == 0)
		check_hosts(&c);
	if (!resolver_config_equal(&c, &c))
		abort();
	free(c.hosts);
	return 0;
}
