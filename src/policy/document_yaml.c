/* SPDX-License-Identifier: Apache-2.0 */
/* document_yaml: from libyaml's events to the tree. */
#include <yaml.h>

#include "policy/document.h"

/*
 * The path from the root to the list or map that is open. Nodes move when their parent grows,
 * but only the last item of each open node is open itself, so a path is found again by depth.
 */
struct builder {
	struct document *d;
	struct err *e;
	unsigned depth; /* open lists and maps */
	bool done;	/* the root is complete */
};

static int error_at(const struct builder *b, yaml_mark_t mark, const char *what)
{
	return document_error(b->d, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1, b->e, "%s",
			      what);
}

static struct node *open_node(struct builder *b)
{
	struct node *n = &b->d->root;

	for (unsigned i = 1; i < b->depth; i++)
		n = &n->items[n->n - 1];
	return n;
}

/* The node that the next event fills: the root, or a new item of what is open. */
static struct node *next_node(struct builder *b, const yaml_event_t *event)
{
	struct node *n = b->depth ? node_add(open_node(b)) : &b->d->root;

	if (!n) {
		error_at(b, event->start_mark, "out of memory");
		return NULL;
	}
	n->line = (uint32_t)event->start_mark.line + 1;
	n->column = (uint32_t)event->start_mark.column + 1;
	return n;
}

static bool is_key_next(struct builder *b)
{
	const struct node *n = b->depth ? open_node(b) : NULL;

	return n && n->kind == NODE_MAP && n->n % 2 == 0;
}

static int add_scalar(struct builder *b, const yaml_event_t *event)
{
	struct node *n = next_node(b, event);
	size_t size = event->data.scalar.length;

	if (!n)
		return -1;
	if (event->data.scalar.anchor)
		return error_at(b, event->start_mark, "an anchor (`&`); write the value out");
	if (event->data.scalar.tag)
		return error_at(b, event->start_mark, "a tag (`!`); leave it out");
	n->kind = NODE_SCALAR;
	n->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	n->text = malloc(size + 1);
	if (!n->text)
		return error_at(b, event->start_mark, "out of memory");
	memcpy(n->text, event->data.scalar.value, size);
	n->text[size] = 0;
	n->text_n = size;
	b->done = b->depth == 0;
	return 0;
}

static int open_collection(struct builder *b, const yaml_event_t *event, enum node_kind kind,
			   const void *anchor, const void *tag)
{
	struct node *n;

	if (is_key_next(b))
		return error_at(b, event->start_mark, "a key is one word, not a list or a map");
	if (b->depth == DOCUMENT_DEPTH_MAX)
		return error_at(b, event->start_mark, "lists and maps are nested too deep");
	if (anchor)
		return error_at(b, event->start_mark, "an anchor (`&`); write the value out");
	if (tag)
		return error_at(b, event->start_mark, "a tag (`!`); leave it out");
	n = next_node(b, event);
	if (!n)
		return -1;
	n->kind = (uint8_t)kind;
	b->depth++;
	return 0;
}

static int start_document(struct builder *b, const yaml_event_t *event)
{
	if (event->data.document_start.version_directive ||
	    event->data.document_start.tag_directives.start !=
		    event->data.document_start.tag_directives.end)
		return error_at(b, event->start_mark, "a directive (`%`); leave it out");
	if (b->done)
		return error_at(b, event->start_mark, "a second document; a file holds one policy");
	return 0;
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		return start_document(b, event);
	case YAML_ALIAS_EVENT:
		return error_at(b, event->start_mark,
				"an alias (`*`); write the value out, in "
				"quotes when it begins with `*`");
	case YAML_SCALAR_EVENT:
		return add_scalar(b, event);
	case YAML_SEQUENCE_START_EVENT:
		return open_collection(b, event, NODE_LIST, event->data.sequence_start.anchor,
				       event->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return open_collection(b, event, NODE_MAP, event->data.mapping_start.anchor,
				       event->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b->depth--;
		b->done = b->depth == 0;
		return 0;
	default:
		return 0;
	}
}

static int syntax_error(const struct builder *b, const yaml_parser_t *parser)
{
	const char *what = parser->problem ? parser->problem : "it cannot be read";

	/* An encoding error has an offset and no mark. */
	if (parser->error == YAML_READER_ERROR)
		return document_error(b->d, (uint32_t)parser->mark.line + 1,
				      (uint32_t)parser->mark.column + 1, b->e,
				      "not YAML: %s, at octet %zu of the file", what,
				      parser->problem_offset + 1);
	return document_error(b->d, (uint32_t)parser->problem_mark.line + 1,
			      (uint32_t)parser->problem_mark.column + 1, b->e, "not YAML: %s%s%s%s",
			      what, parser->context ? ", " : "",
			      parser->context ? parser->context : "",
			      strstr(what, "cannot start any token")
				      ? "; indent with spaces, and quote what begins with a sign"
				      : "");
}

static int take_events(struct builder *b, yaml_parser_t *parser)
{
	yaml_event_t event;
	bool end;
	int rc;

	do {
		if (!yaml_parser_parse(parser, &event))
			return syntax_error(b, parser);
		end = event.type == YAML_STREAM_END_EVENT;
		rc = take_event(b, &event);
		yaml_event_delete(&event);
	} while (rc == 0 && !end);
	return rc;
}

/* A file of comments only has no document: libyaml then gives an empty plain scalar or none. */
static void note_empty(struct document *d)
{
	d->empty = d->root.kind == NODE_SCALAR && d->root.text_n == 0 &&
		   (d->root.plain || !d->root.text);
}

int document_parse_yaml(struct span text, struct document *d, struct err *e)
{
	struct builder b = {.d = d, .e = e};
	yaml_parser_t parser;
	int rc;

	if (!yaml_parser_initialize(&parser))
		return document_error(d, 1, 1, e, "out of memory");
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, text.n ? text.p : (const uint8_t *)"", text.n);
	rc = take_events(&b, &parser);
	yaml_parser_delete(&parser);
	if (rc == 0)
		note_empty(d);
	return rc;
}
