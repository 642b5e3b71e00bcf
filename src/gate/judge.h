/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge: from a packet's destination to a verdict and the addresses to dial.
 *
 * decide() judges one name and one address; here the names that the gate bound to
 * an address are found, the airlock's own addresses are told apart, and a
 * synthetic address becomes the name it stands for.
 *
 * What was asked for through the proxy port is judged as what was dialled by the sandbox itself
 * would be, after the lookup that it would have made.
 */
#ifndef SG_GATE_JUDGE_H
#define SG_GATE_JUDGE_H

#include "gate/context.h"

enum { DIAL_MAX = 4 };

enum judged_kind {
	JUDGED_REFUSED,
	JUDGED_FORWARD, /* dial[0..n_dial) in turn until one answers */
	JUDGED_DNS,	/* a question to whatever server: the gate answers */
	JUDGED_PROXY,	/* the proxy port: the gate asks where to */
};

struct judged {
	enum judged_kind kind;
	struct verdict verdict;
	bool has_name;
	struct name name; /* the bound name that decided, for the log and the remedy */
	uint8_t n_dial;
	struct endpoint dial[DIAL_MAX];
};

static inline const struct name *judged_name(const struct judged *j)
{
	return j->has_name ? &j->name : NULL;
}

/* A connection, datagram or echo to `dst` (port 0 for echo). */
void judge_destination(const struct gate *g, const struct endpoint *dst, enum proto proto,
		       struct judged *out);

/* The same through the proxy port, TCP: by an address that the client wrote. */
void judge_proxied_address(const struct gate *g, const struct endpoint *dst, struct judged *out);

/*
 * By a name that the client wrote, TCP. `addrs` are those of the answer to its lookup, which was
 * admitted; they are vetted again. With synthetic answers the one of the name is enough.
 */
void judge_proxied_name(const struct gate *g, const struct name *name, const struct addr *addrs,
			size_t n, uint16_t port, struct judged *out);

/* A flow that is open, and how it came to be. */
struct admitted {
	const struct endpoint *dst;
	const struct addr *dialled;
	enum proto proto;
	const struct name *name; /* that admitted it; NULL: its address did */
	bool inside;		 /* the name was read inside the connection */
	bool by_default;	 /* the base admitted its address */
	bool by_proxy;		 /* through the proxy port; `name` is the one it was asked for by */
	const char *method, *path; /* of the request that is under way; NULL: none, or not known */
};

/*
 * Would it be admitted now? Its name need not be bound any more: open flows outlive their answers.
 * Where the name inside would have to be looked at and was not, the answer is no.
 */
struct verdict judge_again(const struct gate *g, const struct admitted *a);

/* Is `dialled` among the addresses that are to be dialled now? */
bool judged_dials(const struct judged *j, const struct addr *dialled);

/*
 * The name that a client hello or a Host field gave, on a connection that was admitted to `dst`.
 * `method` and `path` are NULL for TLS; `proto` is UDP inside QUIC. Returns the verdict;
 * REASON_SNI_MISMATCH when the name was not looked up for that address.
 */
struct verdict judge_server_name(const struct gate *g, const struct endpoint *dst, enum proto proto,
				 const struct name *name, const char *method, const char *path);

/* The same on a connection that came through the proxy port. */
struct verdict judge_proxied_server_name(const struct gate *g, const struct endpoint *dst,
					 const struct name *name, const char *method,
					 const char *path);

#endif
