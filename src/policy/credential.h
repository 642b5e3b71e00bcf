/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential: where a secret of the person's may go, in which form, and where it comes from. Never
 * the secret itself: a policy is stored, printed and sent to the gate.
 */
#ifndef SG_POLICY_CREDENTIAL_H
#define SG_POLICY_CREDENTIAL_H

#include "base/err.h"
#include "base/name.h"

enum {
	CREDENTIALS_WRITTEN_MAX = 32, /* in a policy */
	CREDENTIALS_MAX = 48,	      /* with those of permissions */
	CREDENTIAL_PORT = 443,
};

enum credential_slot {
	SLOT_HEADER, /* `name`: the header; `value`: its template */
	SLOT_BASIC,  /* Authorization: Basic; `value`: user, or template of user:password */
	SLOT_QUERY,  /* `name`: the key in the query */
	SLOT_AWS,    /* the request is signed anew; `name`: region, `value`: service */
	CREDENTIAL_SLOTS,
};

/* What becomes of a credential that the sandbox brings itself. */
enum credential_pin { PIN_REPLACE, PIN_STRICT, PIN_KEEP, CREDENTIAL_PINS };

/* OAuth 2.0: `from` is the refresh token, and what is added is the access token (RFC 6749, 6). */
struct credential_refresh {
	char *url;	     /* of the token endpoint: https, a name, no query */
	char *client_id;     /* NULL: none is sent */
	char *client_secret; /* a source, as `from`; NULL: a public client */
	char *scope;	     /* NULL: that of the grant */
};

/* All strings are owned. */
struct credential {
	char *host; /* canonical and exact */
	uint16_t port;
	uint8_t slot; /* enum credential_slot */
	uint8_t pin;  /* enum credential_pin */
	char *name, *value;
	char **methods; /* NULL: every method */
	char **paths;	/* patterns; NULL: every path */
	char *from;	/* policy/secret_from.h */
	char *env;	/* the variable that is a placeholder in the sandbox; NULL: none */
	struct credential_refresh *refresh; /* NULL: `from` is what is added */
};

struct credential_list {
	struct credential *v;
	size_t n;
};

void credential_clear(struct credential *c);
void credential_list_free(struct credential_list *list);
/* 0 or -ENOMEM, then `to` is empty. */
int credential_list_copy(const struct credential_list *from,
			 struct credential_list *to) sg_must_check;

/* Are they the same in all that they say? */
bool credential_is_same(const struct credential *a, const struct credential *b);

/*
 * Appends those of `from` that are not in it. It is how credentials are numbered, by the supervisor
 * and the broker alike: a policy that is changed gives none of the numbers to another. 0 or
 * -ENOMEM, then what was there still is.
 */
int credential_list_grow(struct credential_list *list,
			 const struct credential_list *from) sg_must_check;

/* Do both put something into the same place of a request to the same server? */
bool credential_has_same_place(const struct credential *a, const struct credential *b);

/* The server of the token endpoint, over TLS on port 443. False: the URL has no name. */
bool credential_refresh_server(const struct credential_refresh *r, struct name *out);
/* Is it the server of a token endpoint of one of them? The broker may go there by itself. */
bool credential_list_refreshes_at(const struct credential_list *list, const struct name *name,
				  uint16_t port);

/* "Authorization at api.example.com", for the log and for messages. Returns out. */
enum { CREDENTIAL_TEXT_MAX = 400 };
char *credential_describe(const struct credential *c, char out[CREDENTIAL_TEXT_MAX]);

#endif
