/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graphql: does a request of GraphQL only read?
 *
 * Documents are those of the specification of October 2021, and only executable ones: operations
 * and fragments. What the specification does not have is no document here, so that a lenient server
 * cannot find an operation where this reader saw none.
 */
#ifndef SG_BROKER_GRAPHQL_H
#define SG_BROKER_GRAPHQL_H

#include "base/span.h"

enum { GRAPHQL_DEPTH_MAX = 64 /* of selections, lists and objects in one another */ };

/* A document with at least one operation, each of which is a query? */
bool graphql_document_is_query(struct span document);

/*
 * A body in JSON, one request or a list of them ("GraphQL over HTTP"): is each such a document? One
 * that names its document by a hash is not, since nothing shows what it would do.
 */
bool graphql_body_is_query(struct span body);

#endif
