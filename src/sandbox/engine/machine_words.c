/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/machine_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 32 };

struct filler {
	const struct machine_link *link;
	struct err *e;
};

void machine_mac_print(const uint8_t mac[6], char out[MAC_TEXT])
{
	snprintf(out, MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | (c >= 'A' ? 0x20 : 0)) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool machine_mac_parse(const char *text, uint8_t out[6])
{
	static const uint8_t zeroes[6];

	if (strlen(text) != MAC_TEXT - 1)
		return false;
	for (size_t i = 0; i < 6; i++) {
		int high = hex_digit(text[3 * i]), low = hex_digit(text[3 * i + 1]);

		if (high < 0 || low < 0 || text[3 * i + 2] != (i < 5 ? ':' : 0))
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return !(out[0] & 1) && memcmp(out, zeroes, sizeof(zeroes)) != 0;
}

/* --- one placeholder --- */

static bool print_fd(const struct machine_link *l, char out[VALUE_MAX])
{
	snprintf(out, VALUE_MAX, "%d", l->fd);
	return l->fd >= 0;
}

static bool print_tap(const struct machine_link *l, char out[VALUE_MAX])
{
	snprintf(out, VALUE_MAX, "%s", l->tap ? l->tap : "");
	return l->tap != NULL;
}

static bool print_mac(const struct machine_link *l, char out[VALUE_MAX])
{
	machine_mac_print(l->mac, out);
	return true;
}

static bool print_mtu(const struct machine_link *l, char out[VALUE_MAX])
{
	snprintf(out, VALUE_MAX, "%u", l->mtu);
	return true;
}

static const struct placeholder {
	const char *text;
	bool (*print)(const struct machine_link *l, char out[VALUE_MAX]);
	const char *absent;
} placeholders[] = {
	{"{fd}", print_fd, "with --by-name the device is opened by its name, {tap}"},
	{"{tap}", print_tap, "the device is handed in as a descriptor, {fd}; add --by-name"},
	{"{mac}", print_mac, NULL},
	{"{mtu}", print_mtu, NULL},
};

static const struct placeholder *placeholder_at(const char *text)
{
	for (size_t i = 0; i < sg_array_len(placeholders); i++)
		if (strncmp(text, placeholders[i].text, strlen(placeholders[i].text)) == 0)
			return &placeholders[i];
	return NULL;
}

/* --- one word --- */

static int fill_to(const struct filler *f, const char *word, FILE *to)
{
	while (*word) {
		const struct placeholder *p = placeholder_at(word);
		char value[VALUE_MAX];

		if (!p) {
			fputc(*word++, to);
			continue;
		}
		if (!p->print(f->link, value))
			return err_set(f->e, "%s: %s", p->text, p->absent);
		fputs(value, to);
		word += strlen(p->text);
	}
	return 0;
}

static char *fill(const struct filler *f, const char *word)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	int rc;

	if (!to) {
		err_set(f->e, "out of memory");
		return NULL;
	}
	rc = fill_to(f, word, to);
	if (fclose(to) != 0 && rc == 0)
		rc = err_set(f->e, "out of memory");
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

char **machine_words_fill(char *const *words, const struct machine_link *l, struct err *e)
{
	const struct filler f = {l, e};
	size_t n = 0;
	char **out;

	while (words[n])
		n++;
	out = calloc(n + 1, sizeof(*out));
	if (!out) {
		err_set(e, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		out[i] = fill(&f, words[i]);
		if (!out[i]) {
			machine_words_free(out);
			return NULL;
		}
	}
	return out;
}

void machine_words_free(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}
