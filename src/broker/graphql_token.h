/* SPDX-License-Identifier: Apache-2.0 */
/* graphql_token: the tokens of a GraphQL document (October 2021, 2.1). */
#ifndef SG_BROKER_GRAPHQL_TOKEN_H
#define SG_BROKER_GRAPHQL_TOKEN_H

#include "base/span.h"

enum graphql_kind {
	GRAPHQL_END,
	GRAPHQL_PUNCTUATOR, /* one octet; "..." is its first one */
	GRAPHQL_NAME,
	GRAPHQL_NUMBER,
	GRAPHQL_STRING,
	GRAPHQL_BAD, /* nothing that the specification has; the reader stays there */
};

struct graphql_token {
	enum graphql_kind kind;
	struct span text; /* as it stands in the document */
};

/* The next token of the document; what is ignored between tokens is passed. */
struct graphql_token graphql_token_next(struct reader *document);

#endif
