/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime gives to the plugin of container networks, and what an IPAM plugin answers. */
#include <stdlib.h>
#include <string.h>

#include "cni/config.h"
#include "cni/result.h"
#include "cni/version.h"
#include "fuzz.h"

/* Texts end up in policies and messages: one line, no controls. */
static void check_text(const char *s)
{
	if (!*s || strlen(s) > CNI_WORD_MAX)
		abort();
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			abort();
}

static void check_words(const struct cni_words *w)
{
	if (w->n > CNI_WORDS_MAX || w->v[w->n])
		abort();
	for (size_t i = 0; i < w->n; i++)
		check_text(w->v[i]);
}

static void check_config(const struct cni_config *c)
{
	if (!cni_version_is_known(c->version) || c->n_ports > CNI_PORTS_MAX)
		abort();
	if (c->policy)
		check_text(c->policy);
	if (c->ipam && strchr(c->ipam, '/'))
		abort();
	if (c->pcap && *c->pcap != '/')
		abort();
	if (c->only.n && (c->policy || c->allow.n))
		abort();
	check_words(&c->allow);
	check_words(&c->deny);
	check_words(&c->only);
	for (size_t i = 0; i < c->n_ports; i++)
		if (!c->ports[i].host.port || !c->ports[i].sandbox)
			abort();
}

static void check_result(const json_t *result)
{
	struct addr all[CNI_ADDRESSES_MAX];
	struct airlock_addresses a;
	struct err e;
	int n = cni_result_read(result, all, &e);

	if (n > CNI_ADDRESSES_MAX)
		abort();
	if (cni_result_link(result, &a, &e))
		return;
	if (n < 1 || a.v4_bits > 32 || a.v6_bits > 128 || !addr_is_v4(&a.sandbox_v4) ||
	    addr_is_v4(&a.sandbox_v6) || addr_equal(&a.gate_v4, &a.sandbox_v4))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cni_config c;
	struct err e = {""};

	if (cni_config_parse(span_of(data, size), &c, &e)) {
		if (!*e.text || c.document)
			abort();
		return 0;
	}
	check_config(&c);
	check_result(c.before ? c.before : c.document);
	cni_config_free(&c);
	return 0;
}
