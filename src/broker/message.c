/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message's memory is taken whole at the first octet that is stored, so that spans into it never
 * move; pages of it that nothing was written to cost nothing. It is wiped when freed: a credential
 * may have been put into a field.
 */
#include "broker/message.h"

#include <stdlib.h>

#include "http/text.h"

void message_init(struct message *m)
{
	memset(m, 0, offsetof(struct message, fields)); /* of the fields none is there */
	m->memory = NULL;
	m->memory_n = m->memory_cap = 0;
}

void message_free(struct message *m)
{
	if (m->memory)
		explicit_bzero(m->memory, m->memory_n);
	free(m->memory);
	message_init(m);
}

static bool has_room(struct message *m, size_t n)
{
	if (!m->memory) {
		m->memory = malloc(MESSAGE_HEAD_MAX);
		m->memory_cap = m->memory ? MESSAGE_HEAD_MAX : 0;
	}
	return n <= m->memory_cap - m->memory_n;
}

bool message_store(struct message *m, struct span octets, struct span *out)
{
	uint8_t *p;

	if (!has_room(m, octets.n))
		return false;
	p = m->memory + m->memory_n;
	if (octets.n)
		memcpy(p, octets.p, octets.n);
	m->memory_n += octets.n;
	*out = span_of(p, octets.n);
	return true;
}

static bool is_name(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!http_is_token_octet(s.p[i]) || (s.p[i] >= 'A' && s.p[i] <= 'Z'))
			return false;
	return s.n > 0;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t';
}

static bool is_value(struct span s)
{
	if (s.n && (is_space(s.p[0]) || is_space(s.p[s.n - 1])))
		return false;
	return http_is_text(s);
}

bool message_add(struct message *m, struct span name, struct span value)
{
	struct field f = {0};

	if (m->n_fields == MESSAGE_FIELDS_MAX || !is_name(name) || !is_value(value))
		return false;
	if (!has_room(m, name.n + value.n) || !message_store(m, name, &f.name) ||
	    !message_store(m, value, &f.value))
		return false;
	m->fields[m->n_fields++] = f;
	return true;
}

static bool is_named(const struct field *f, struct span name)
{
	return span_equal(f->name, name);
}

const struct field *message_find(const struct message *m, const char *name,
				 const struct field *after)
{
	const struct field *end = m->fields + m->n_fields;

	for (const struct field *f = after ? after + 1 : m->fields; f < end; f++)
		if (is_named(f, span_of_string(name)))
			return f;
	return NULL;
}

size_t message_remove(struct message *m, const char *name)
{
	size_t kept = 0, n = m->n_fields;

	for (size_t i = 0; i < n; i++)
		if (!is_named(&m->fields[i], span_of_string(name)))
			m->fields[kept++] = m->fields[i];
	m->n_fields = kept;
	return n - kept;
}

static bool copy_fields(const struct message *from, struct message *to)
{
	for (size_t i = 0; i < from->n_fields; i++) {
		if (!message_add(to, from->fields[i].name, from->fields[i].value))
			return false;
		to->fields[i].sensitive = from->fields[i].sensitive;
	}
	return true;
}

static bool copy_spans(const struct message *from, struct message *to)
{
	return message_store(to, from->method, &to->method) &&
	       message_store(to, from->scheme, &to->scheme) &&
	       message_store(to, from->authority, &to->authority) &&
	       message_store(to, from->path, &to->path) &&
	       message_store(to, from->protocol, &to->protocol) &&
	       message_store(to, from->phrase, &to->phrase);
}

static void copy_plain(const struct message *from, struct message *to)
{
	to->path_sensitive = from->path_sensitive;
	to->has_host = from->has_host;
	to->host = from->host;
	to->address = from->address;
	to->port = from->port;
	to->status = from->status;
	to->body = from->body;
	to->length = from->length;
	to->expects_continue = from->expects_continue;
}

bool message_copy(const struct message *from, struct message *to)
{
	message_init(to);
	copy_plain(from, to);
	if (copy_spans(from, to) && copy_fields(from, to))
		return true;
	message_free(to);
	return false;
}
