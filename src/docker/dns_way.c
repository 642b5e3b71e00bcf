/* SPDX-License-Identifier: Apache-2.0 */
#include "docker/dns_way.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <string.h>

#include "base/addr.h"

static const char keyword[] = "nameserver";

/* The next piece up to the octet `end`, without it; false when there is none. */
static bool next_piece(struct span *text, uint8_t end, struct span *piece)
{
	const uint8_t *at;

	if (!text->n)
		return false;
	at = memchr(text->p, end, text->n);
	*piece = span_of(text->p, at ? (size_t)(at - text->p) : text->n);
	*text = at ? span_of(at + 1, text->n - piece->n - 1) : span_of(text->p + text->n, 0);
	return true;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct span trimmed(struct span s)
{
	while (s.n && is_blank(s.p[0]))
		s = span_of(s.p + 1, s.n - 1);
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool begins_with(struct span s, const char *word)
{
	size_t n = strlen(word);

	return s.n >= n && memcmp(s.p, word, n) == 0;
}

/*
 * The address of a line, empty when it names no server. libnetwork wants no blank after the
 * keyword, and has comments anywhere.
 */
static struct span server_of(struct span line)
{
	const uint8_t *comment = line.n ? memchr(line.p, '#', line.n) : NULL;

	if (comment)
		line.n = (size_t)(comment - line.p);
	line = trimmed(line);
	if (!begins_with(line, keyword))
		return span_of(line.p, 0);
	return trimmed(span_of(line.p + sizeof(keyword) - 1, line.n - sizeof(keyword) + 1));
}

static bool is_loopback(struct span address)
{
	char text[INET6_ADDRSTRLEN + 1];
	struct in6_addr v6;

	if (begins_with(address, "127."))
		return true;
	if (address.n >= sizeof(text))
		return false;
	memcpy(text, address.p, address.n);
	text[address.n] = '\0';
	/* A zone says nothing about where it is. */
	text[strcspn(text, "%")] = '\0';
	return inet_pton(AF_INET6, text, &v6) == 1 &&
	       (IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127));
}

bool dns_way_has_loopback(struct span text)
{
	struct span line;

	while (next_piece(&text, '\n', &line))
		if (is_loopback(server_of(line)))
			return true;
	return false;
}

bool dns_way_config_has_dns(struct span text)
{
	json_t *config = json_loadb((const char *)text.p, text.n, 0, NULL);
	bool has = json_array_size(json_object_get(config, "dns")) > 0;

	json_decref(config);
	return has;
}

/* The value of an option that is "--NAME=VALUE" or "--NAME" and the next word. */
static bool find_option(struct span words, const char *name, struct span *value)
{
	struct span word;

	while (next_piece(&words, '\0', &word)) {
		if (!begins_with(word, name))
			continue;
		word = span_of(word.p + strlen(name), word.n - strlen(name));
		if (word.n && word.p[0] == '=') {
			*value = span_of(word.p + 1, word.n - 1);
			return true;
		}
		if (!word.n)
			return next_piece(&words, '\0', value);
	}
	return false;
}

bool dns_way_words_have_dns(struct span words)
{
	struct span value;

	return find_option(words, "--dns", &value) && value.n > 0;
}

struct span dns_way_config_file(struct span words)
{
	struct span value = {0};

	return find_option(words, "--config-file", &value) ? value : span_of(words.p, 0);
}
