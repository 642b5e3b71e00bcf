/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operations: the operation of a permission that a request is (catalogue/operations.yaml).
 *
 * A permission without an operation for a host lets everything through there. One with operations
 * lets through what matches one of them: host, method, path in every reading of it, and the
 * check of the operation. Two rules keep a wide operation from taking in what a narrow one is
 * for. Within a permission, an operation with a check alone is for its paths. And an operation for
 * every path is not for a request that is, in some reading, an operation for writing that names its
 * path, of any permission.
 */
#ifndef SG_BROKER_OPERATIONS_H
#define SG_BROKER_OPERATIONS_H

#include "broker/judge_request.h"

struct asked {
	const struct request_judge *judge;
	const struct message *request;
	const struct destination *destination; /* with method and path */
	struct span body;
	bool body_whole;
};

enum admits {
	ADMITS_NOT,
	ADMITS_PERHAPS, /* the body decides, and is not there yet */
	ADMITS,
};

struct admission {
	enum admits what;
	const struct permission *permission; /* NULL: none */
	const struct operation *operation;   /* NULL: the permission has none for the host */
	const char *why; /* why the check of an operation failed that it would have been; or NULL */
};

/* What the permissions that are on say of the request. */
struct admission operations_admit(const struct asked *a);

/* The permission that is not on and would let it through, when there is one that may be offered. */
struct admission operations_covering(const struct asked *a);

#endif
