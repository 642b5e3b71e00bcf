/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_edit: one key of config.yaml changed in its text.
 *
 * A key and its value are whole lines, which are replaced, added or taken out; the comments and the
 * order of all others stay. What comes out is parsed, and must mean what was there with that one
 * key changed. A file that is written in another way (a section in braces) fails that and is left
 * alone.
 */
#include <stdio.h>
#include <string.h>

#include "policy/rule.h"
#include "sandbox/settings/settings.h"

/* Lines are counted from 1; `end` is the one after the last. */
struct place {
	uint32_t section;    /* the line of the section's key; 0: there is none */
	uint32_t begin, end; /* of the key and its value; begin 0: it is not there */
	uint32_t indent;     /* columns before a key of the section */
	bool alone;	     /* the section has no other key */
};

static uint32_t last_line(const struct node *n)
{
	uint32_t last = n->line;

	for (size_t i = 0; i < n->n; i++) {
		uint32_t below = last_line(&n->items[i]);

		last = below > last ? below : last;
	}
	return last;
}

static const struct node *find_key(const struct node *map, const char *key, size_t n)
{
	for (size_t i = 0; map->kind == NODE_MAP && i + 1 < map->n; i += 2)
		if (map->items[i].text_n == n && memcmp(map->items[i].text, key, n) == 0)
			return &map->items[i];
	return NULL;
}

static struct place find_place(const struct document *d, const char *key)
{
	const char *dot = strchr(key, '.');
	const struct node *map = &d->root, *found;
	struct place p = {0};

	if (dot) {
		found = find_key(map, key, (size_t)(dot - key));
		if (!found)
			return (struct place){.indent = 2};
		p.section = found->line;
		map = found + 1;
		p.alone = map->n == 2;
		p.indent = map->n ? map->items[0].column - 1 : 2;
		key = dot + 1;
	}
	found = find_key(map, key, strlen(key));
	if (found) {
		p.begin = found->line;
		p.end = last_line(found + 1) + 1;
	}
	return p;
}

/* Words that YAML would not take as they are stand in quotes. */
static void put_word(FILE *to, const char *word, size_t n)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/";
	bool quoted = n == 0;

	for (size_t i = 0; i < n; i++)
		quoted = quoted || !strchr(plain, word[i]);
	if (!quoted) {
		fwrite(word, 1, n, to);
		return;
	}
	fputc('\'', to);
	for (size_t i = 0; i < n; i++)
		fputs((char[]){word[i], word[i] == '\'' ? '\'' : 0, 0}, to);
	fputc('\'', to);
}

static void put_value(FILE *to, const char *value, bool list)
{
	if (!list) {
		put_word(to, value, strlen(value));
		return;
	}
	fputc('[', to);
	for (const char *at = value; *at;) {
		size_t n = strcspn(at, ",");

		put_word(to, at, n);
		at += n + (at[n] == ',');
		if (*at)
			fputs(", ", to);
	}
	fputc(']', to);
}

struct edit {
	FILE *to;
	const char *key, *value; /* value NULL: take it out */
	bool list;
	struct place at;
};

static void put_line(const struct edit *x)
{
	const char *dot = strchr(x->key, '.');

	fprintf(x->to, "%*s%s: ", dot ? (int)x->at.indent : 0, "", dot ? dot + 1 : x->key);
	put_value(x->to, x->value, x->list);
	fputc('\n', x->to);
}

/* Is this line of the old text left out? */
static bool is_dropped(const struct edit *x, uint32_t line)
{
	if (!x->value && x->at.alone && x->at.begin && line == x->at.section)
		return true;
	return x->at.begin && line >= x->at.begin && line < x->at.end;
}

static void put_all(const struct edit *x, struct span text)
{
	const char *dot = strchr(x->key, '.');
	uint32_t line = 1;
	bool added = !x->value;

	for (size_t at = 0; at < text.n; line++) {
		const uint8_t *end = memchr(text.p + at, '\n', text.n - at);
		size_t n = end ? (size_t)(end - (text.p + at)) + 1 : text.n - at;

		if (!is_dropped(x, line)) {
			fwrite(text.p + at, 1, n, x->to);
			if (!end)
				fputc('\n', x->to);
		}
		at += n;
		if (!added &&
		    (x->at.begin ? line == x->at.begin : x->at.section && line == x->at.section)) {
			put_line(x);
			added = true;
		}
	}
	if (added)
		return;
	if (dot)
		fprintf(x->to, "%.*s:\n", (int)(dot - x->key), x->key);
	put_line(x);
}

static char *edited(const struct document *d, struct span text, const char *key, const char *value,
		    bool list)
{
	struct edit x = {.key = key, .value = value, .list = list, .at = find_place(d, key)};
	char *out = NULL;
	size_t n;

	x.to = open_memstream(&out, &n);
	if (!x.to)
		return NULL;
	put_all(&x, text);
	if (fclose(x.to) == 0)
		return out;
	free(out);
	return NULL;
}

static bool same_value(const struct settings *a, const struct settings *b, size_t key)
{
	_cleanup_free_ char *one = settings_value_text(a, key), *two = settings_value_text(b, key);

	return one && two && strcmp(one, two) == 0 && a->from[key] == b->from[key];
}

/* What the new text means is what the old one meant, but for the key. */
static bool means(const char *text, const struct settings *wanted)
{
	struct settings got;
	struct err e;
	bool same;

	settings_init(&got);
	same = settings_parse(span_of_string(text), "", SETTING_PERSON, &got, &e) == 0;
	for (size_t i = 0; same && i < settings_n_keys; i++)
		same = same_value(&got, wanted, i);
	settings_free(&got);
	return same;
}

/* The settings of the file with the key at its new value. */
static int wanted_settings(struct span text, const char *file, size_t key, const char *value,
			   struct settings *s, struct err *e)
{
	_cleanup_free_ char *usual = NULL;

	settings_init(s);
	usual = settings_value_text(s, key);
	if (!usual)
		return err_set(e, "out of memory");
	if (settings_parse(text, file, SETTING_PERSON, s, e) == 0 &&
	    settings_set(s, key, value ? value : usual, e) == 0) {
		s->from[key] = value ? SETTING_PERSON : SETTING_DEFAULT;
		return 0;
	}
	settings_free(s);
	return -1;
}

char *settings_edit(struct span text, const char *file, size_t key, const char *value,
		    struct err *e)
{
	struct document d;
	struct settings wanted;
	char *out;

	if (wanted_settings(text, file, key, value, &wanted, e))
		return NULL;
	if (document_parse(text, POLICY_YAML, file, &d, e)) {
		settings_free(&wanted);
		return NULL;
	}
	out = edited(&d, text, settings_key(key), value, settings_is_list(key));
	document_free(&d);
	if (out && !means(out, &wanted)) {
		err_set(e,
			"%s: %s cannot be changed there without taking the file apart; change it "
			"with an editor",
			file, settings_key(key));
		free(out);
		out = NULL;
	} else if (!out) {
		err_set(e, "out of memory");
	}
	settings_free(&wanted);
	return out;
}
