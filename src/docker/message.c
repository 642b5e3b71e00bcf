/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/message.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

#define GENERIC	 "com.docker.network.generic"
#define INTERNAL "com.docker.network.internal"
#define PORT_MAP "com.docker.network.portmap"

/* --- texts --- */

bool docker_id_valid(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= DOCKER_ID_MAX &&
	       strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == n;
}

bool docker_address_parse(const char *s, struct docker_address *out)
{
	const char *slash = strchr(s, '/');
	unsigned bits = 0;
	size_t digits;

	*out = (struct docker_address){0};
	if (!slash || !addr_parse(s, (size_t)(slash - s), &out->addr))
		return false;
	digits = strspn(slash + 1, "0123456789");
	if (digits < 1 || digits > 3 || slash[1 + digits])
		return false;
	bits = (unsigned)strtoul(slash + 1, NULL, 10);
	if (bits > (addr_is_v4(&out->addr) ? 32U : 128U))
		return false;
	out->bits = (uint8_t)bits;
	out->given = true;
	return true;
}

char *docker_address_format(const struct docker_address *a, char out[DOCKER_ADDRESS_TEXT_MAX])
{
	char text[ADDR_TEXT_MAX];

	snprintf(out, DOCKER_ADDRESS_TEXT_MAX, "%s/%u", addr_format(&a->addr, text), a->bits);
	return out;
}

bool docker_mac_parse(const char *s, uint8_t out[6])
{
	if (strlen(s) != DOCKER_MAC_TEXT_SIZE - 1)
		return false;
	for (size_t i = 0; i < 6; i++, s += 3) {
		int high = hex_value((uint8_t)s[0]), low = hex_value((uint8_t)s[1]);

		if (high < 0 || low < 0 || s[2] != (i < 5 ? ':' : '\0'))
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

char *docker_mac_format(const uint8_t mac[6], char out[DOCKER_MAC_TEXT_SIZE])
{
	snprintf(out, DOCKER_MAC_TEXT_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return out;
}

/* --- fields --- */

struct taking {
	struct docker_message *m;
	struct err *e;
};

static int wrong(const struct taking *t, const char *what, const char *wanted)
{
	return err_set(t->e, "\"%s\" is not %s", what, wanted);
}

/* The text, "" where there is none or null; NULL for what is no text. jansson lets no NUL in. */
static const char *text_of(const json_t *value)
{
	return !value || json_is_null(value) ? "" : json_string_value(value);
}

static int take_id(const struct taking *t, const char *key, const json_t *value,
		   char out[DOCKER_ID_SIZE])
{
	const char *s = text_of(value);

	if (!s || (*s && !docker_id_valid(s)))
		return wrong(t, key, "an id of docker's");
	strcpy(out, s);
	return 0;
}

static int take_key(const struct taking *t, const json_t *value)
{
	const char *s = text_of(value);

	if (!s || (*s && *s != '/') || strlen(s) >= PATH_MAX)
		return wrong(t, "SandboxKey", "an absolute path");
	strcpy(t->m->key, s);
	return 0;
}

static int take_address(const struct taking *t, const char *what, const json_t *value, bool v4,
			struct docker_address *out)
{
	const char *s = text_of(value);

	if (s && !*s)
		return 0;
	if (!s || !docker_address_parse(s, out) || addr_is_v4(&out->addr) != v4)
		return wrong(t, what,
			     v4 ? "an IPv4 address with its prefix"
				: "an IPv6 address with its prefix");
	return 0;
}

static int take_interface(const struct taking *t, const json_t *value)
{
	const char *mac;

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_object(value))
		return wrong(t, "Interface", "an object");
	if (take_address(t, "Address", json_object_get(value, "Address"), true, &t->m->v4) ||
	    take_address(t, "AddressIPv6", json_object_get(value, "AddressIPv6"), false, &t->m->v6))
		return -1;
	mac = text_of(json_object_get(value, "MacAddress"));
	t->m->has_mac = mac && *mac;
	if (!mac || (*mac && !docker_mac_parse(mac, t->m->mac)))
		return wrong(t, "MacAddress", "a MAC address");
	return 0;
}

/* Of several pools of one family the first counts, as it does for docker's own drivers. */
static int take_pools(const struct taking *t, const char *what, const json_t *value, bool v4,
		      struct docker_address *out)
{
	const json_t *first = json_array_get(value, 0);

	if (value && !json_is_null(value) && !json_is_array(value))
		return wrong(t, what, "a list");
	if (first && !json_is_object(first))
		return wrong(t, what, "a list of objects");
	return first ? take_address(t, "Gateway", json_object_get(first, "Gateway"), v4, out) : 0;
}

static int take_option(const struct taking *t, const char *key, const json_t *value)
{
	const char *s = json_string_value(value);
	struct docker_option *o = &t->m->options[t->m->n_options];

	if (!s)
		return wrong(t, key, "a text");
	if (t->m->n_options == DOCKER_OPTIONS_MAX)
		return err_set(t->e, "more than %d options", DOCKER_OPTIONS_MAX);
	t->m->n_options++;
	o->key = strdup(key);
	o->value = strdup(s);
	return o->key && o->value ? 0 : err_set(t->e, "out of memory");
}

/* In a Join the same key has what is of no use here: only texts are options. */
static int take_options(const struct taking *t, json_t *value)
{
	const char *key;
	json_t *one;

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_object(value))
		return wrong(t, GENERIC, "an object");
	json_object_foreach(value, key, one)
	{
		if (!json_is_null(one) && take_option(t, key, one))
			return -1;
	}
	return 0;
}

/* --- published ports --- */

static bool take_number(const json_t *object, const char *key, json_int_t max, json_int_t *out)
{
	const json_t *value = json_object_get(object, key);

	*out = json_integer_value(value);
	return (!value || json_is_integer(value)) && *out >= 0 && *out <= max;
}

static int take_host(const struct taking *t, const json_t *value, struct docker_port *p)
{
	const char *s = text_of(value);

	p->any_host = s && !*s;
	if (!s || (*s && !addr_parse(s, strlen(s), &p->host)))
		return wrong(t, "HostIP", "an address");
	return 0;
}

static int take_port(const struct taking *t, const json_t *value, struct docker_port *p)
{
	json_int_t proto, inside, low, high;

	if (!take_number(value, "Proto", 255, &proto) ||
	    !take_number(value, "Port", 65535, &inside) || inside == 0 ||
	    !take_number(value, "HostPort", 65535, &low) ||
	    !take_number(value, "HostPortEnd", 65535, &high))
		return wrong(t, PORT_MAP, "a list of ports");
	*p = (struct docker_port){.proto = (uint8_t)proto,
				  .inside = (uint16_t)inside,
				  .host_low = (uint16_t)low,
				  .host_high = (uint16_t)(high ? high : low)};
	if (p->host_high < p->host_low || (p->host_low == 0 && p->host_high != 0))
		return wrong(t, "HostPortEnd", "the end of a range");
	return take_host(t, json_object_get(value, "HostIP"), p);
}

static int take_ports(const struct taking *t, const json_t *value)
{
	size_t n = json_array_size(value);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_array(value))
		return wrong(t, PORT_MAP, "a list of ports");
	if (n > DOCKER_PORTS_MAX)
		return err_set(t->e, "%zu published ports; publish %d at most", n,
			       DOCKER_PORTS_MAX);
	t->m->ports = calloc(n + 1, sizeof(*t->m->ports));
	if (!t->m->ports)
		return err_set(t->e, "out of memory");
	for (; t->m->n_ports < n; t->m->n_ports++)
		if (take_port(t, json_array_get(value, t->m->n_ports), &t->m->ports[t->m->n_ports]))
			return -1;
	return 0;
}

/* --- all of it --- */

/* CreateNetwork has the person's options in it, Join what libnetwork keeps for itself. */
static int take_settings(const struct taking *t, const json_t *value, bool of_network)
{
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_object(value))
		return wrong(t, "Options", "an object");
	t->m->internal = json_is_true(json_object_get(value, INTERNAL));
	if (of_network && take_options(t, json_object_get(value, GENERIC)))
		return -1;
	return take_ports(t, json_object_get(value, PORT_MAP));
}

static int take_all(const struct taking *t, json_t *body)
{
	struct docker_message *m = t->m;
	bool of_network = json_object_get(body, "EndpointID") == NULL;

	if (!json_is_object(body))
		return err_set(t->e, "the request is not a JSON object");
	return take_id(t, "NetworkID", json_object_get(body, "NetworkID"), m->network) ||
			       take_id(t, "EndpointID", json_object_get(body, "EndpointID"),
				       m->endpoint) ||
			       take_key(t, json_object_get(body, "SandboxKey")) ||
			       take_interface(t, json_object_get(body, "Interface")) ||
			       take_pools(t, "IPv4Data", json_object_get(body, "IPv4Data"), true,
					  &m->gateway_v4) ||
			       take_pools(t, "IPv6Data", json_object_get(body, "IPv6Data"), false,
					  &m->gateway_v6) ||
			       take_settings(t, json_object_get(body, "Options"), of_network)
		       ? -1
		       : 0;
}

int docker_message_parse(struct span body, struct docker_message *out, struct err *e)
{
	struct taking t = {.m = out, .e = e};
	json_error_t why;
	json_t *json;
	int rc;

	*out = (struct docker_message){0};
	if (body.n == 0)
		return 0;
	json = json_loadb((const char *)body.p, body.n, JSON_REJECT_DUPLICATES, &why);
	if (!json)
		return err_set(e, "the request is not JSON: line %d, column %d: %s", why.line,
			       why.column, why.text);
	rc = take_all(&t, json);
	json_decref(json);
	if (rc)
		docker_message_free(out);
	return rc;
}

void docker_message_free(struct docker_message *m)
{
	for (size_t i = 0; i < m->n_options; i++) {
		free(m->options[i].key);
		free(m->options[i].value);
	}
	free(m->ports);
	*m = (struct docker_message){0};
}
