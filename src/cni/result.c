/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/result.h"

#include <stdio.h>
#include <string.h>

#include "cni/version.h"

static json_t *address_entry(const struct addr *a, unsigned bits, const struct addr *gateway,
			     bool family)
{
	char text[ADDR_TEXT_MAX + 5], via[ADDR_TEXT_MAX];
	size_t n;
	json_t *o;

	addr_format(a, text);
	n = strlen(text);
	snprintf(text + n, sizeof(text) - n, "/%u", bits);
	o = json_pack("{s:i, s:s, s:s}", "interface", 0, "address", text, "gateway",
		      addr_format(gateway, via));
	if (o && family)
		json_object_set_new(o, "version", json_string(addr_is_v4(a) ? "4" : "6"));
	return o;
}

static json_t *default_route(const struct addr *gateway)
{
	char text[ADDR_TEXT_MAX];

	return json_pack("{s:s, s:s}", "dst", addr_is_v4(gateway) ? "0.0.0.0/0" : "::/0", "gw",
			 addr_format(gateway, text));
}

static json_t *interfaces(const struct cni_call *call, const uint8_t mac[6])
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return json_pack("[{s:s, s:s, s:s}]", "name", call->ifname, "mac", text, "sandbox",
			 call->netns);
}

json_t *cni_result_alone(const struct cni_call *call, const char *version,
			 const struct airlock_addresses *a, const uint8_t mac[6], bool v6)
{
	bool family = cni_version_names_families(version);
	json_t *ips = json_array(), *routes = json_array();
	char gate[ADDR_TEXT_MAX];

	json_array_append_new(ips, address_entry(&a->sandbox_v4, a->v4_bits, &a->gate_v4, family));
	json_array_append_new(routes, default_route(&a->gate_v4));
	if (v6) {
		json_array_append_new(
			ips, address_entry(&a->sandbox_v6, a->v6_bits, &a->gate_v6, family));
		json_array_append_new(routes, default_route(&a->gate_v6));
	}
	return json_pack("{s:s, s:o, s:o, s:o, s:{s:[s]}}", "cniVersion", version, "interfaces",
			 interfaces(call, mac), "ips", ips, "routes", routes, "dns", "nameservers",
			 addr_format(&a->gate_v4, gate));
}

json_t *cni_result_chained(const json_t *before, const char *version)
{
	json_t *o = json_deep_copy(before);

	if (o && json_object_set_new(o, "cniVersion", json_string(version)) == 0)
		return o;
	json_decref(o);
	return NULL;
}

/* "10.1.2.3/24". */
static bool read_address(const json_t *v, struct addr *out, uint8_t *bits)
{
	const char *text = json_string_value(v), *slash = text ? strchr(text, '/') : NULL;
	unsigned n = 0;
	const char *s;

	if (!slash || !addr_parse(text, (size_t)(slash - text), out))
		return false;
	for (s = slash + 1; *s >= '0' && *s <= '9' && n <= 128; s++)
		n = n * 10 + (unsigned)(*s - '0');
	*bits = (uint8_t)n;
	return s > slash + 1 && !*s && n <= (addr_is_v4(out) ? 32U : 128U);
}

static int refuse(struct err *e)
{
	return err_set(e, "ips: each has an `address` such as \"10.1.2.3/24\", %d at most",
		       CNI_ADDRESSES_MAX);
}

int cni_result_read(const json_t *result, struct addr out[CNI_ADDRESSES_MAX], struct err *e)
{
	const json_t *ips = json_object_get(result, "ips");
	size_t n = json_array_size(ips);
	uint8_t bits;

	if (n > CNI_ADDRESSES_MAX)
		return refuse(e);
	for (size_t i = 0; i < n; i++)
		if (!read_address(json_object_get(json_array_get(ips, i), "address"), &out[i],
				  &bits))
			return refuse(e);
	return (int)n;
}

static int take_address(const json_t *one, struct airlock_addresses *out, bool *v4, bool *v6,
			struct err *e)
{
	const json_t *via = json_object_get(one, "gateway");
	const char *text = json_string_value(via);
	struct addr a, gateway;
	uint8_t bits;
	bool is_v4;

	if (!read_address(json_object_get(one, "address"), &a, &bits))
		return refuse(e);
	is_v4 = addr_is_v4(&a);
	if (is_v4 ? *v4 : *v6)
		return err_set(e, "ips: the gate's link has one address of a family; leave the "
				  "other range out");
	gateway = is_v4 ? out->gate_v4 : out->gate_v6;
	if (text && (!addr_parse(text, strlen(text), &gateway) || addr_is_v4(&gateway) != is_v4 ||
		     addr_equal(&gateway, &a)))
		return err_set(e, "ips: the gateway is another address of the same family");
	*(is_v4 ? v4 : v6) = true;
	*(is_v4 ? &out->sandbox_v4 : &out->sandbox_v6) = a;
	*(is_v4 ? &out->gate_v4 : &out->gate_v6) = gateway;
	*(is_v4 ? &out->v4_bits : &out->v6_bits) = bits;
	return 0;
}

int cni_result_link(const json_t *result, struct airlock_addresses *out, struct err *e)
{
	const json_t *ips = json_object_get(result, "ips");
	bool v4 = false, v6 = false;

	*out = airlock_usual_addresses();
	for (size_t i = 0; i < json_array_size(ips); i++)
		if (take_address(json_array_get(ips, i), out, &v4, &v6, e))
			return -1;
	return v4 || v6 ? 0 : err_set(e, "ips: there is no address");
}
