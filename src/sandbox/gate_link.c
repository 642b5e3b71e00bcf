/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/gate_link.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "gate/counted.h"

json_t *gate_link_counted(struct gate_link *g, const char *op, int timeout_ms)
{
	json_t *answer = process_link_ask(&g->process, json_pack("{s:s}", "op", op), timeout_ms);

	if (answer || !g->totals.counters)
		return answer;
	return strcmp(op, "refusals") == 0
		       ? counted_refusals_untrusted(g->totals.refusals, &g->remedy)
		       : counted_status_untrusted(&g->totals, g->generation);
}

json_int_t gate_link_number(const json_t *answer, const char *group, const char *key)
{
	const json_t *o = group ? json_object_get(answer, group) : answer;
	json_int_t n = json_integer_value(json_object_get(o, key));

	return n < 0 ? 0 : n > GATE_NUMBER_MAX ? GATE_NUMBER_MAX : n;
}

json_t *gate_link_resolver_request(const struct resolver_config *c)
{
	json_t *servers = json_array(), *hosts = json_array();
	char text[ENDPOINT_TEXT_MAX];

	for (size_t i = 0; i < c->n_servers; i++)
		json_array_append_new(servers, json_string(endpoint_format(&c->servers[i], text)));
	for (size_t i = 0; i < c->n_hosts; i++)
		json_array_append_new(hosts, json_pack("[s, s]", c->hosts[i].name.s,
						       addr_format(&c->hosts[i].addr, text)));
	return json_pack("{s:s, s:o, s:I, s:I, s:o}", "op", "resolver", "servers", servers,
			 "timeout_ms", (json_int_t)c->timeout_ms, "tries", (json_int_t)c->tries,
			 "hosts", hosts);
}

static void become_gate(const void *setup, int control, pid_t supervisor)
{
	struct gate_setup own = *(const struct gate_setup *)setup;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor)
		_exit(EXIT_FAILURE);
	/* Out of reach of the terminal's signals, and of kill(0) by anyone in the job. */
	setsid();
	own.control = control;
	_exit(gate_main(&own));
}

int gate_link_start(struct gate_link *g, const struct gate_setup *s, struct err *e)
{
	struct gate_setup setup = *s;
	json_t *ready;

	g->remedy = (struct remedy_for){.sandbox = s->sandbox, .catalogue = s->catalogue};
	g->generation = ruleset_generation(s->rules);
	if (!g->totals.counters && totals_make(&g->totals, e) != 0)
		return -1;
	setup.totals = &g->totals;
	if (process_link_fork(&g->process, become_gate, &setup, e))
		return -1;
	ready = process_link_await_ready(&g->process, e);
	json_decref(ready);
	return ready ? 0 : -1;
}
