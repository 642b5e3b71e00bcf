/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: what both texts begin and end with is passed over; between, the longest common subsequence
 * of lines is found in a table. Texts whose middle is larger than the table are shown as replaced.
 */
#include "policy/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum { CONTEXT = 3, TABLE_MAX = 16 * 1024 * 1024 };

struct lines {
	const char **at; /* n + 1 of them, the last is the end */
	size_t n;
};

/* One line of the result: ' ', '-' or '+', and the line's number in its own text. */
struct edit {
	char kind;
	size_t line;
};

struct script {
	struct edit *v;
	size_t n;
};

static bool split(const char *text, struct lines *l)
{
	size_t n = 0;

	for (const char *s = text; *s; s++)
		n += *s == '\n';
	*l = (struct lines){.at = calloc(n + 1, sizeof(*l->at)), .n = n};
	if (!l->at)
		return false;
	l->at[0] = text;
	for (size_t i = 0; i < n; i++)
		l->at[i + 1] = strchr(l->at[i], '\n') + 1;
	return true;
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t k)
{
	size_t n = (size_t)(a->at[i + 1] - a->at[i]);

	return n == (size_t)(b->at[k + 1] - b->at[k]) && memcmp(a->at[i], b->at[k], n) == 0;
}

static void put(struct script *s, char kind, size_t line)
{
	s->v[s->n++] = (struct edit){kind, line};
}

/*
 * Lines [i, i_end) of a against [k, k_end) of b; t[][] has the length of what is common from there
 * on.
 */
static void walk(struct script *s, const struct lines *a, size_t i, size_t i_end,
		 const struct lines *b, size_t k, size_t k_end, const uint32_t *t)
{
	size_t row = k_end - k + 1, i0 = i, k0 = k;

	while (i < i_end || k < k_end) {
		const uint32_t *here = t ? t + (i - i0) * row + (k - k0) : NULL;

		if (here && i < i_end && k < k_end && same_line(a, i, b, k)) {
			put(s, ' ', i++);
			k++;
		} else if (i < i_end && (k == k_end || !here || here[row] >= here[1])) {
			put(s, '-', i++);
		} else {
			put(s, '+', k++);
		}
	}
}

static uint32_t *make_table(const struct lines *a, size_t i, size_t i_end, const struct lines *b,
			    size_t k, size_t k_end)
{
	size_t rows = i_end - i + 1, row = k_end - k + 1;
	uint32_t *t;

	if (rows > TABLE_MAX / row)
		return NULL;
	t = calloc(rows * row, sizeof(*t));
	for (size_t x = rows - 1; t && x-- > 0;)
		for (size_t y = row - 1; y-- > 0;) {
			uint32_t *here = t + x * row + y;

			if (same_line(a, i + x, b, k + y))
				here[0] = here[row + 1] + 1;
			else
				here[0] = here[row] > here[1] ? here[row] : here[1];
		}
	return t;
}

static void make_script(struct script *s, const struct lines *a, const struct lines *b)
{
	size_t from = 0, a_end = a->n, b_end = b->n;
	uint32_t *t;

	while (from < a_end && from < b_end && same_line(a, from, b, from))
		from++;
	while (a_end > from && b_end > from && same_line(a, a_end - 1, b, b_end - 1)) {
		a_end--;
		b_end--;
	}
	for (size_t i = 0; i < from; i++)
		put(s, ' ', i);
	t = make_table(a, from, a_end, b, from, b_end);
	walk(s, a, from, a_end, b, from, b_end, t);
	free(t);
	for (size_t i = a_end; i < a->n; i++)
		put(s, ' ', i);
}

/* --- hunks --- */

/* Where the hunk that begins at or after `at` begins and ends; false when there is none. */
static bool next_hunk(const struct script *s, size_t at, size_t *begin, size_t *end)
{
	size_t first = at, last;

	while (first < s->n && s->v[first].kind == ' ')
		first++;
	if (first == s->n)
		return false;
	last = first;
	for (size_t i = first; i < s->n && i <= last + 2 * CONTEXT; i++)
		if (s->v[i].kind != ' ')
			last = i;
	*begin = first > at + CONTEXT ? first - CONTEXT : at;
	*end = last + 1 + CONTEXT < s->n ? last + 1 + CONTEXT : s->n;
	return true;
}

static void put_range(FILE *to, char sign, size_t before, size_t n)
{
	/* An empty range is named by the line before it. */
	fprintf(to, "%c%zu,%zu", sign, n ? before + 1 : before, n);
}

static void put_hunk(FILE *to, const struct script *s, size_t begin, size_t end,
		     const struct lines *a, const struct lines *b)
{
	size_t a_before = 0, b_before = 0, a_n = 0, b_n = 0;

	for (size_t i = 0; i < end; i++) {
		size_t *a_count = i < begin ? &a_before : &a_n;
		size_t *b_count = i < begin ? &b_before : &b_n;

		*a_count += s->v[i].kind != '+';
		*b_count += s->v[i].kind != '-';
	}
	fputs("@@ ", to);
	put_range(to, '-', a_before, a_n);
	fputc(' ', to);
	put_range(to, '+', b_before, b_n);
	fputs(" @@\n", to);
	for (size_t i = begin; i < end; i++) {
		const struct lines *of = s->v[i].kind == '+' ? b : a;
		const char *line = of->at[s->v[i].line];

		fprintf(to, "%c%.*s", s->v[i].kind, (int)(of->at[s->v[i].line + 1] - line), line);
	}
}

static void put_hunks(FILE *to, const struct script *s, const struct lines *a,
		      const struct lines *b, const char *from_label, const char *to_label)
{
	size_t begin, end, at = 0;

	if (!next_hunk(s, 0, &begin, &end))
		return;
	fprintf(to, "--- %s\n+++ %s\n", from_label, to_label);
	while (next_hunk(s, at, &begin, &end)) {
		put_hunk(to, s, begin, end, a, b);
		at = end;
	}
}

char *diff_unified(const char *from, const char *to, const char *from_label, const char *to_label)
{
	struct lines a = {NULL, 0}, b = {NULL, 0};
	struct script s = {NULL, 0};
	char *text = NULL;
	size_t n = 0;
	FILE *out = split(from, &a) && split(to, &b) ? open_memstream(&text, &n) : NULL;

	s.v = out ? calloc(a.n + b.n + 1, sizeof(*s.v)) : NULL;
	if (s.v) {
		make_script(&s, &a, &b);
		put_hunks(out, &s, &a, &b, from_label, to_label);
	}
	if (out && (fclose(out) || !s.v)) {
		free(text);
		text = NULL;
	}
	free(s.v);
	free(a.at);
	free(b.at);
	return text;
}
