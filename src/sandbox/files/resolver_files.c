/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/resolver_files.h"

#include <errno.h>
#include <stdlib.h>

enum {
	DNS_PORT = 53,
	DEFAULT_TIMEOUT_S = 2, /* a dead server must leave time for the next one within 5 s */
	DEFAULT_TRIES = 2,
	TIMEOUT_MAX_S = 30, /* the caps of resolv.conf(5) */
	TRIES_MAX = 5,
};

/* The next line, without its end; false when there is none. */
static bool next_line(struct span *text, struct span *line)
{
	const uint8_t *end;

	if (!text->n)
		return false;
	end = memchr(text->p, '\n', text->n);
	*line = span_of(text->p, end ? (size_t)(end - text->p) : text->n);
	*text = end ? span_of(end + 1, text->n - line->n - 1) : span_of(text->p + text->n, 0);
	return true;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* The next word of a line; a comment ends the line. */
static bool next_word(struct span *line, struct span *word)
{
	size_t i = 0, n = 0;

	while (i < line->n && is_blank(line->p[i]))
		i++;
	while (i + n < line->n && !is_blank(line->p[i + n]) && line->p[i + n] != '#' &&
	       line->p[i + n] != ';')
		n++;
	*word = span_of(line->p + i, n);
	*line = span_of(line->p + i + n, line->n - i - n);
	return n > 0;
}

static bool word_is(struct span w, const char *s)
{
	return span_equal(w, span_of_string(s));
}

static void add_server(struct resolver_config *c, struct span word)
{
	struct endpoint *e;

	if (c->n_servers == RESOLVER_SERVERS_MAX)
		return;
	e = &c->servers[c->n_servers];
	if (!addr_parse((const char *)word.p, word.n, &e->addr))
		return;
	e->port = DNS_PORT;
	c->n_servers++;
}

/* "timeout:3" with the word "timeout:": the number, held to 1..max; 0 when it is another option. */
static uint32_t option_number(struct span w, const char *name, uint32_t max)
{
	size_t n = strlen(name);
	uint32_t v = 0;

	if (w.n <= n || memcmp(w.p, name, n) != 0)
		return 0;
	for (size_t i = n; i < w.n; i++) {
		if (w.p[i] < '0' || w.p[i] > '9')
			return 0;
		v = v * 10 + (uint32_t)(w.p[i] - '0');
		if (v > max)
			v = max;
	}
	return v ? v : 1;
}

static void read_options(struct resolver_config *c, struct span line)
{
	struct span w;

	while (next_word(&line, &w)) {
		uint32_t timeout = option_number(w, "timeout:", TIMEOUT_MAX_S);
		uint32_t tries = option_number(w, "attempts:", TRIES_MAX);

		if (timeout)
			c->timeout_ms = timeout * 1000;
		if (tries)
			c->tries = tries;
	}
}

void resolver_files_read_resolv(struct span text, struct resolver_config *c)
{
	static const uint8_t loopback[4] = {127, 0, 0, 1};
	struct span line, w;

	c->n_servers = 0;
	c->timeout_ms = DEFAULT_TIMEOUT_S * 1000;
	c->tries = DEFAULT_TRIES;
	while (next_line(&text, &line)) {
		if (!next_word(&line, &w))
			continue;
		if (word_is(w, "nameserver") && next_word(&line, &w))
			add_server(c, w);
		else if (word_is(w, "options"))
			read_options(c, line);
	}
	if (!c->n_servers)
		c->servers[c->n_servers++] =
			(struct endpoint){.addr = addr_from_v4(loopback), .port = DNS_PORT};
}

/* The names of one line into v; returns how many there are now. */
static size_t read_host_line(struct span line, struct host_name *v, size_t n)
{
	struct addr a;
	struct span w;

	if (!next_word(&line, &w) || !addr_parse((const char *)w.p, w.n, &a))
		return n;
	while (n < HOST_NAMES_MAX && next_word(&line, &w)) {
		if (name_parse_ascii((const char *)w.p, w.n, &v[n].name) != NAME_OK)
			continue;
		v[n++].addr = a;
	}
	return n;
}

int resolver_files_read_hosts(struct span text, struct resolver_config *c)
{
	struct host_name *v = calloc(HOST_NAMES_MAX, sizeof(*v)), *fit;
	struct span line;
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	while (n < HOST_NAMES_MAX && next_line(&text, &line))
		n = read_host_line(line, v, n);
	fit = realloc(v, (n ? n : 1) * sizeof(*v));
	free(c->hosts);
	c->hosts = fit ? fit : v;
	c->n_hosts = n;
	return 0;
}

static bool servers_equal(const struct resolver_config *a, const struct resolver_config *b)
{
	if (a->n_servers != b->n_servers)
		return false;
	for (size_t i = 0; i < a->n_servers; i++)
		if (!addr_equal(&a->servers[i].addr, &b->servers[i].addr) ||
		    a->servers[i].port != b->servers[i].port)
			return false;
	return true;
}

bool resolver_config_equal(const struct resolver_config *a, const struct resolver_config *b)
{
	if (!servers_equal(a, b) || a->timeout_ms != b->timeout_ms || a->tries != b->tries ||
	    a->n_hosts != b->n_hosts)
		return false;
	for (size_t i = 0; i < a->n_hosts; i++)
		if (!name_equal(&a->hosts[i].name, &b->hosts[i].name) ||
		    !addr_equal(&a->hosts[i].addr, &b->hosts[i].addr))
			return false;
	return true;
}
