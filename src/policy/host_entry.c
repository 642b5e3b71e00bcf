/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/host_entry.h"

#include <stdio.h>

#include "policy/quote.h"
#include "policy/rule.h"

enum { HTTP_PORT = 80 };

static int set_target(const struct short_form *f, struct rule *r, struct err *e)
{
	if (rule_parse_target(f->target, f->brackets, r, e))
		return -1;
	if (r->kind == TARGET_PREFIX)
		return err_set(e,
			       "TLS is opened by the name that a client asks for, and an address "
			       "has none; write the host's name");
	return 0;
}

static int set_port(const struct short_form *f, struct rule *r, struct host_pattern *p,
		    struct err *e)
{
	const struct port_range *ports;
	size_t n;

	p->port = HOST_PATTERN_PORT;
	if (!f->has_ports)
		return 0;
	if (rule_parse_ports(f->ports, r, e))
		return -1;
	ports = rule_ports(r, &n);
	if (n != 1 || ports[0].lo != ports[0].hi)
		return err_set(e, "one port belongs to a host; write an entry for each port");
	if (ports[0].lo == HTTP_PORT)
		return err_set(e, "port 80 is plain HTTP, where requests are seen anyway; leave it "
				  "out");
	p->port = ports[0].lo;
	return 0;
}

static int parse(struct span text, struct rule *r, struct host_pattern *p, struct err *e)
{
	struct short_form f;

	if (text.n == 0)
		return err_set(e, "it is empty; write a name, or `*.domain`");
	if (rule_refuse_url(text, e) || rule_cut_short(text, &f, e) || set_target(&f, r, e))
		return -1;
	if (f.has_proto)
		return err_set(e, "TLS runs over TCP; write the host without a protocol");
	if (set_port(&f, r, p, e))
		return -1;
	p->below = r->kind == TARGET_WILDCARD;
	p->name = strdup(rule_name(r));
	return p->name ? 0 : err_set(e, "out of memory");
}

static bool has(const struct host_list *list, const struct host_pattern *p)
{
	for (size_t i = 0; i < list->n; i++)
		if (host_pattern_equal(&list->v[i], p))
			return true;
	return false;
}

static int take(struct host_list *list, struct host_pattern *p, struct err *e)
{
	if (has(list, p)) {
		free(p->name);
		return 0;
	}
	if (list->n == HOST_LIST_MAX) {
		free(p->name);
		return err_set(e, "more than %d hosts; write `*.domain` for those below one",
			       HOST_LIST_MAX);
	}
	return host_list_take(list, p) ? err_set(e, "out of memory") : 0;
}

int host_entry_add(struct host_list *list, struct span text, struct err *e)
{
	struct rule r = {.effect = EFFECT_ALLOW};
	struct host_pattern p = {0};
	char shown[QUOTE_MAX];
	int rc = parse(text, &r, &p, e);

	rule_clear(&r);
	if (rc == 0)
		rc = take(list, &p, e);
	return rc ? err_prefix(e, "%s", quote_span(text, shown)) : 0;
}

int host_entries_read(const struct value_reader *v, const struct node *value,
		      struct host_list *list, const struct node **nodes)
{
	const char *text;

	if (value_list(v, value, true))
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		const struct node *n = &value->items[i];
		size_t before = list->n;

		if (value_string(v, n, &text))
			return -1;
		if (host_entry_add(list, node_span(n), v->e))
			return node_prefix(v->d, n, v->e);
		if (list->n > before)
			nodes[before] = n;
	}
	return 0;
}

char *host_pattern_format(const struct host_pattern *p, char out[HOST_PATTERN_TEXT_MAX])
{
	int n = snprintf(out, HOST_PATTERN_TEXT_MAX, "%s%s", p->below ? "*." : "", p->name);

	if (p->port != HOST_PATTERN_PORT)
		snprintf(out + n, HOST_PATTERN_TEXT_MAX - (size_t)n, ":%u", p->port);
	return out;
}

json_t *host_list_print_json(const struct host_list *list)
{
	char text[HOST_PATTERN_TEXT_MAX];
	json_t *array = json_array();

	for (size_t i = 0; array && i < list->n; i++)
		if (json_array_append_new(array,
					  json_string(host_pattern_format(&list->v[i], text)))) {
			json_decref(array);
			array = NULL;
		}
	return array;
}
