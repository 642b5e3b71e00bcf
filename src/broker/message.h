/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: the head of one HTTP request or answer, whatever version carried it.
 *
 * What stands in it has been judged well-formed by the codec that read it: names of fields are
 * tokens in lower case, values hold no CR, LF or NUL and no white space at their ends, nothing
 * frames the message but `body` and `length`, and no field is one of a hop (RFC 9110, 7.6.1). So
 * whatever a codec writes from it is well-formed in any version, and cannot be read in two ways.
 */
#ifndef SG_BROKER_MESSAGE_H
#define SG_BROKER_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/name.h"
#include "base/span.h"

enum { MESSAGE_FIELDS_MAX = 128, MESSAGE_HEAD_MAX = 65536 /* octets of names and values */ };

struct field {
	struct span name, value; /* in the message's own memory */
	bool sensitive;		 /* never put into a compression table (RFC 7541, 7.1.3) */
};

enum message_body {
	MESSAGE_BODY_NONE,
	MESSAGE_BODY_LENGTH, /* `length` octets */
	MESSAGE_BODY_STREAM, /* until its end is told */
};

struct message {
	/* a request */
	struct span method;    /* as sent: methods have case */
	struct span scheme;    /* "https" or "http" */
	struct span authority; /* as sent, for the wire */
	struct span path;      /* with its query, as sent; "*" of OPTIONS */
	bool path_sensitive;   /* as of a field: a secret may stand in the query */
	struct span protocol;  /* of an extended CONNECT (RFC 8441), or of an upgrade to WebSocket;
				  else empty */
	bool has_host;
	struct name host;    /* canonical; not when the authority is an address */
	struct addr address; /* when !has_host */
	uint16_t port;	     /* written, or that of the scheme */
	/* an answer */
	uint16_t status;    /* 0: this is a request */
	struct span phrase; /* for a person, where HTTP/1.1 has one; empty: the usual one */
	/* both */
	enum message_body body;
	uint64_t length; /* of an answer to HEAD and a 304: what GET would have; no body comes */
	bool expects_continue; /* the client waits for 100 before it sends the body */
	size_t n_fields;
	struct field fields[MESSAGE_FIELDS_MAX];
	uint8_t *memory; /* owned; MESSAGE_HEAD_MAX at most */
	size_t memory_n, memory_cap;
};

void message_init(struct message *m);
void message_free(struct message *m);

/* Copies the octets into the message's memory. False: it does not fit. */
bool message_store(struct message *m, struct span octets, struct span *out);
/*
 * Appends a field. False: too many, it does not fit, or the name or value would not be well-formed.
 */
bool message_add(struct message *m, struct span name, struct span value);
/* The first field of that name (lower case), or NULL; `after` NULL or the one to go on behind. */
const struct field *message_find(const struct message *m, const char *name,
				 const struct field *after);
/* Takes out every field of that name; how many there were. */
size_t message_remove(struct message *m, const char *name);
/* `to` is made anew. False: no memory; `to` is empty then. */
bool message_copy(const struct message *from, struct message *to);

#endif
