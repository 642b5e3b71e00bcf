/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of dockerd's that parses fits what it is kept in; what is refused leaves nothing. Of a
 * network's options every one is understood or named.
 */
#include <stdlib.h>
#include <string.h>

#include "docker/message.h"
#include "docker/options.h"
#include "docker/routes.h"
#include "fuzz.h"

static void check_address(const struct docker_address *a)
{
	char text[DOCKER_ADDRESS_TEXT_MAX];
	struct docker_address again;
	json_t *list = json_array();

	if (!a->given) {
		json_decref(list);
		return;
	}
	if (!docker_address_parse(docker_address_format(a, text), &again) ||
	    again.bits != a->bits || !addr_equal(&again.addr, &a->addr) ||
	    !docker_routes_add(list, a))
		abort();
	json_decref(list);
}

static void check_ports(const struct docker_message *m)
{
	for (size_t i = 0; i < m->n_ports; i++) {
		const struct docker_port *p = &m->ports[i];

		if (p->inside == 0 || p->host_high < p->host_low || (!p->host_low && p->host_high))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct docker_message m, empty = {0};
	struct docker_network_options o;
	struct err e = {""};

	if (docker_message_parse(span_of(data, size), &m, &e)) {
		if (!*e.text || memcmp(&m, &empty, sizeof(m)) != 0)
			abort();
		return 0;
	}
	if ((*m.network && !docker_id_valid(m.network)) ||
	    (*m.endpoint && !docker_id_valid(m.endpoint)) || (*m.key && *m.key != '/') ||
	    m.n_options > DOCKER_OPTIONS_MAX || m.n_ports > DOCKER_PORTS_MAX)
		abort();
	check_address(&m.v4);
	check_address(&m.v6);
	check_address(&m.gateway_v4);
	check_address(&m.gateway_v6);
	check_ports(&m);
	if (docker_network_options_read(&m, &o, &e) && !*e.text)
		abort();
	docker_message_free(&m);
	return 0;
}
