/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parent_proxy: the proxy that the host itself has to use (`upstream_proxy`), and what goes without
 * it (`no_proxy`). Pure: names of proxies are looked up elsewhere, and its password is never here.
 */
#ifndef SG_POLICY_PARENT_PROXY_H
#define SG_POLICY_PARENT_PROXY_H

#include "base/addr.h"
#include "base/err.h"
#include "base/name.h"

enum { PARENT_ADDRESSES_MAX = 4, PARENT_EXCEPTIONS_MAX = 64, PARENT_USER_MAX = 255 };

/* A host of `no_proxy`: HOST, *.DOMAIN (also .DOMAIN), an address or a network. */
struct parent_exception {
	bool is_prefix;
	bool below; /* every name below it, and not itself */
	struct prefix prefix;
	struct name name;
};

struct parent_proxy {
	size_t n; /* 0: there is none */
	struct endpoint at[PARENT_ADDRESSES_MAX];
	size_t n_exceptions;
	struct parent_exception exception[PARENT_EXCEPTIONS_MAX];
};

/* 0, or -1 with a sentence piece that says what to write. */
int parent_exception_parse(const char *text, struct parent_exception *out,
			   struct err *e) sg_must_check;

/*
 * "http://[USER@]HOST[:PORT]", the port of `http` when none is written; a password in it is refused.
 * `host` is a canonical name or an address as text. 0, or -1 with a sentence piece.
 */
struct parent_url {
	char user[PARENT_USER_MAX + 1]; /* empty: none */
	char host[NAME_MAX_OCTETS + 1];
	bool is_address;
	struct endpoint at; /* the port; the address when it is one */
};
int parent_url_parse(const char *text, struct parent_url *out, struct err *e) sg_must_check;

/*
 * Does a connection to this destination have to go through it? `name` is NULL when only the address
 * is known. The host's own loopback never does.
 */
bool parent_proxy_carries(const struct parent_proxy *p, const struct name *name,
			  const struct addr *a);

#endif
