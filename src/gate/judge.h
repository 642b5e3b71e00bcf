/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge: from a packet's destination to a verdict and the addresses to dial.
 *
 * decide() judges one name and one address; here the names that the gate bound to
 * an address are found, the airlock's own addresses are told apart, and a
 * synthetic address becomes the name it stands for.
 */
#ifndef SG_GATE_JUDGE_H
#define SG_GATE_JUDGE_H

#include "gate/context.h"

enum { DIAL_MAX = 4 };

enum judged_kind {
	JUDGED_REFUSED,
	JUDGED_FORWARD, /* dial[0..n_dial) in turn until one answers */
	JUDGED_DNS,	/* a question to whatever server: the gate answers */
};

struct judged {
	enum judged_kind kind;
	struct verdict verdict;
	bool has_name;
	struct name name; /* the bound name that decided, for the log and the remedy */
	uint8_t n_dial;
	struct endpoint dial[DIAL_MAX];
};

/* A connection, datagram or echo to `dst` (port 0 for echo). */
void judge_destination(const struct gate *g, const struct endpoint *dst, enum proto proto,
		       struct judged *out);

/*
 * Would a flow to `dst` that was admitted by `name` (NULL: by its address) and dialled to `dialled` be
 * admitted now? Its name need not be bound any more: open flows outlive their answers.
 */
bool judge_still_admits(const struct gate *g, const struct endpoint *dst,
			const struct addr *dialled, enum proto proto, const struct name *name);

/*
 * The name that a client hello or a Host field gave, on a connection that was admitted to `dst`.
 * `method` and `path` are NULL for TLS. Returns the verdict; REASON_SNI_MISMATCH when the name
 * was not looked up for that address.
 */
struct verdict judge_server_name(const struct gate *g, const struct endpoint *dst,
				 const struct name *name, const char *method, const char *path);

#endif
