/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document of GraphQL; the same octets are a body in JSON and a batch of LFS. Of a document that
 * only reads no part outside its strings and comments may spell another operation where one can
 * begin.
 */
#include <stdlib.h>
#include <string.h>

#include "broker/graphql.h"
#include "broker/graphql_token.h"
#include "broker/lfs.h"
#include "fuzz.h"

static int is_word(const struct graphql_token *t, const char *word)
{
	return t->kind == GRAPHQL_NAME && span_equal(t->text, span_of_string(word));
}

/* At the beginning, and behind the brace that ends one. */
static int begins_definition(const struct graphql_token *before)
{
	return before->text.n == 0 ||
	       (before->kind == GRAPHQL_PUNCTUATOR && before->text.p[0] == '}');
}

static void find_other_operation(struct span document)
{
	struct reader r = reader_of(document);
	struct graphql_token before = {0}, t;
	int depth = 0;

	for (;;) {
		t = graphql_token_next(&r);
		if (t.kind == GRAPHQL_BAD)
			abort();
		if (t.kind == GRAPHQL_END)
			break;
		if (depth == 0 && begins_definition(&before) &&
		    (is_word(&t, "mutation") || is_word(&t, "subscription")))
			abort();
		if (t.kind == GRAPHQL_PUNCTUATOR && strchr("{([", t.text.p[0]))
			depth++;
		if (t.kind == GRAPHQL_PUNCTUATOR && strchr("})]", t.text.p[0]))
			depth--;
		before = t;
	}
	if (depth != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span s = span_of(data, size);

	if (graphql_document_is_query(s))
		find_other_operation(s);
	graphql_body_is_query(s);
	/* it cannot be both */
	if (lfs_batch_is(s, "download") && lfs_batch_is(s, "upload"))
		abort();
	return 0;
}
