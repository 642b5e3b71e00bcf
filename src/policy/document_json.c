/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_json: JSON (RFC 8259) to the tree, strictly.
 *
 * jansson, which prints policies, gives no positions of the values it has read;
 * an error that only shows later (an unknown key, a wrong rule) needs them.
 */
#include "policy/document.h"
#include "policy/utf8.h"

struct json {
	struct document *d;
	struct err *e;
	const uint8_t *p;
	size_t n, at;
	uint32_t line, column; /* of `at` */
	unsigned depth;
};

static int fail(const struct json *j, const char *what)
{
	return document_error(j->d, j->line, j->column, j->e, "%s", what);
}

static int peek(const struct json *j)
{
	return j->at < j->n ? j->p[j->at] : -1;
}

/* Passes one octet. Columns count characters: continuation octets of UTF-8 do not. */
static void pass(struct json *j)
{
	uint8_t c = j->p[j->at++];

	if (c == '\n') {
		j->line++;
		j->column = 1;
	} else if ((c & 0xc0) != 0x80) {
		j->column++;
	}
}

static void pass_space(struct json *j)
{
	while (j->at < j->n && memchr(" \t\r\n", j->p[j->at], 4))
		pass(j);
}

static int expect(struct json *j, char c, const char *what)
{
	if (peek(j) != c)
		return fail(j, what);
	pass(j);
	return 0;
}

/* ---- Strings ---- */

struct string {
	char *text;
	size_t n, cap;
};

static int add_octets(struct json *j, struct string *s, const void *p, size_t n)
{
	if (s->cap - s->n < n + 1) {
		size_t cap = 2 * s->cap + n + 16;
		char *more = realloc(s->text, cap);

		if (!more)
			return fail(j, "out of memory");
		s->text = more;
		s->cap = cap;
	}
	memcpy(s->text + s->n, p, n);
	s->n += n;
	s->text[s->n] = 0;
	return 0;
}

static int read_hex4(struct json *j, uint32_t *out)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < 4; i++) {
		int c = peek(j);
		bool digit = c >= '0' && c <= '9';

		if (!digit && !((c | 0x20) >= 'a' && (c | 0x20) <= 'f'))
			return fail(j, "`\\u` needs four hexadecimal digits");
		v = v << 4 | (uint32_t)(digit ? c - '0' : (c | 0x20) - 'a' + 10);
		pass(j);
	}
	*out = v;
	return 0;
}

/* After `\u`: a code point, two escapes when it lies beyond U+FFFF. */
static int read_code(struct json *j, uint32_t *code)
{
	uint32_t low;

	if (read_hex4(j, code))
		return -1;
	if (*code < 0xd800 || *code > 0xdfff)
		return 0;
	if (*code > 0xdbff || expect(j, '\\', "half of a surrogate pair") ||
	    expect(j, 'u', "half of a surrogate pair") || read_hex4(j, &low))
		return fail(j, "half of a surrogate pair");
	if (low < 0xdc00 || low > 0xdfff)
		return fail(j, "half of a surrogate pair");
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

static int read_escape(struct json *j, struct string *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint32_t code;
	char utf8[4];
	int c;

	pass(j);
	c = peek(j);
	if (c == 'u') {
		pass(j);
		if (read_code(j, &code))
			return -1;
		return add_octets(j, s, utf8, utf8_encode(code, utf8));
	}
	found = c > 0 ? strchr(from, c) : NULL;
	if (!found)
		return fail(j, "not an escape of JSON");
	pass(j);
	return add_octets(j, s, &to[found - from], 1);
}

static int read_character(struct json *j, struct string *s)
{
	uint32_t code;
	size_t n = utf8_decode(j->p + j->at, j->n - j->at, &code);

	if (n == 0)
		return fail(j, "not UTF-8");
	if (code < 0x20)
		return fail(j, "a control character in a string; write it as an escape");
	if (add_octets(j, s, j->p + j->at, n))
		return -1;
	while (n--)
		pass(j);
	return 0;
}

static int read_string(struct json *j, struct node *node)
{
	struct string s = {0};
	int rc = add_octets(j, &s, "", 0);

	pass(j);
	while (rc == 0 && peek(j) != '"') {
		if (j->at == j->n)
			rc = fail(j, "the string does not end");
		else
			rc = peek(j) == '\\' ? read_escape(j, &s) : read_character(j, &s);
	}
	node->kind = NODE_SCALAR;
	node->text = s.text;
	node->text_n = s.n;
	if (rc == 0)
		pass(j);
	return rc;
}

/* ---- Numbers and words ---- */

static bool is_word_octet(int c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
	       c == '+' || c == '.';
}

static size_t count_digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* RFC 8259, section 6. */
static bool is_number(const char *s)
{
	size_t n;

	s += *s == '-';
	n = count_digits(s);
	if (n == 0 || (n > 1 && *s == '0'))
		return false;
	s += n;
	if (*s == '.') {
		n = count_digits(++s);
		if (n == 0)
			return false;
		s += n;
	}
	if ((*s | 0x20) == 'e') {
		s++;
		s += *s == '+' || *s == '-';
		n = count_digits(s);
		if (n == 0)
			return false;
		s += n;
	}
	return *s == 0;
}

static int read_word(struct json *j, struct node *node)
{
	struct json start = *j;

	while (is_word_octet(peek(j)))
		pass(j);
	if (j->at == start.at)
		return fail(j, j->at == j->n ? "the file ends where a value should stand"
					     : "a value should stand here; write it, or leave "
					       "out the comma or colon before it");
	node->kind = NODE_SCALAR;
	node->plain = true;
	node->text_n = j->at - start.at;
	node->text = strndup((const char *)j->p + start.at, node->text_n);
	if (!node->text)
		return fail(j, "out of memory");
	if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0 ||
	    strcmp(node->text, "null") == 0 || is_number(node->text))
		return 0;
	return fail(&start, "not a value of JSON; strings stand in double quotes");
}

/* ---- Lists and maps ---- */

static int read_value(struct json *j, struct node *node);

static int read_new_value(struct json *j, struct node *parent)
{
	struct node *node = node_add(parent);

	pass_space(j);
	return node ? read_value(j, node) : fail(j, "out of memory");
}

static int read_pair(struct json *j, struct node *map)
{
	pass_space(j);
	if (peek(j) != '"')
		return fail(j, "a key in double quotes should stand here");
	if (read_new_value(j, map))
		return -1;
	pass_space(j);
	if (expect(j, ':', "a colon should stand after the key"))
		return -1;
	return read_new_value(j, map);
}

/* After the opening bracket, up to and with the closing one. */
static int read_members(struct json *j, struct node *node, char close)
{
	pass_space(j);
	if (peek(j) == close) {
		pass(j);
		return 0;
	}
	for (;;) {
		if (node->kind == NODE_MAP ? read_pair(j, node) : read_new_value(j, node))
			return -1;
		pass_space(j);
		if (peek(j) == close)
			break;
		if (expect(j, ',',
			   node->kind == NODE_MAP ? "a comma or `}` should stand here"
						  : "a comma or `]` should stand here"))
			return -1;
	}
	pass(j);
	return 0;
}

static int read_collection(struct json *j, struct node *node, enum node_kind kind, char close)
{
	int rc;

	if (j->depth == DOCUMENT_DEPTH_MAX)
		return fail(j, "lists and maps are nested too deep");
	node->kind = (uint8_t)kind;
	j->depth++;
	pass(j);
	rc = read_members(j, node, close);
	j->depth--;
	return rc;
}

static int read_value(struct json *j, struct node *node)
{
	node->line = j->line;
	node->column = j->column;
	switch (peek(j)) {
	case '{':
		return read_collection(j, node, NODE_MAP, '}');
	case '[':
		return read_collection(j, node, NODE_LIST, ']');
	case '"':
		return read_string(j, node);
	default:
		return read_word(j, node);
	}
}

int document_parse_json(struct span text, struct document *d, struct err *e)
{
	struct json j = {.d = d, .e = e, .p = text.p, .n = text.n, .line = 1, .column = 1};

	pass_space(&j);
	if (j.at == j.n) {
		d->empty = true;
		return 0;
	}
	if (read_value(&j, &d->root))
		return -1;
	pass_space(&j);
	return j.at == j.n ? 0 : fail(&j, "something follows the policy; a file holds one");
}
