/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_offer: a container that waits to be let go, handed from the hook of its engine to the
 * supervisor that had it started.
 *
 *	hook → supervisor	struct offer_hello, with the network namespace and a pidfd of the
 *				container's first process
 *	hook → supervisor	one octet: all is said (so that the supervisor may look when it likes)
 *	supervisor → hook	struct offer_answer, when the gate is ready
 *
 * Over the socket "hook" of the sandbox's folder in the registry (SOCK_SEQPACKET). Where the
 * connection ends without an answer, the container is refused. The token is in an annotation of that
 * container alone, so that no other one, by an annotation of its image, comes in its place.
 */
#ifndef SG_SANDBOX_CONTAINER_OFFER_H
#define SG_SANDBOX_CONTAINER_OFFER_H

#include <stdbool.h>

#include "base/err.h"
#include "sandbox/sandbox_name.h"

enum { OFFER_TOKEN_OCTETS = 16, OFFER_TOKEN_SIZE = 2 * OFFER_TOKEN_OCTETS + 1 };

/* Room for NAME/TOKEN, which is what the annotation sandgate.sandbox holds. */
enum { OFFER_TICKET_SIZE = SANDBOX_NAME_SIZE + OFFER_TOKEN_SIZE };

/* A new ticket for the sandbox `name`. 0 or -1 with the message. */
int container_offer_ticket(const char *name, char out[OFFER_TICKET_SIZE],
			   struct err *e) sg_must_check;

/* Pure: takes one apart. False when it is none. */
bool container_offer_parse(const char *ticket, char name[SANDBOX_NAME_SIZE],
			   char token[OFFER_TOKEN_SIZE]);

/*
 * The hook's side: offers, and returns 0 when the container may go on; -1 with the message when it
 * may not. The descriptors stay the caller's.
 */
int container_offer_make(const char *ticket, int netns, int process, struct err *e) sg_must_check;

/* ---- the supervisor's side ---- */

struct container_offer {
	int connection; /* readable when the hook waits for the answer */
	int netns;
	int process; /* pidfd of the container's first process */
};

#define CONTAINER_OFFER_NONE ((struct container_offer){-1, -1, -1})

/* A listening socket in the folder `dir`, or -1 with the message. */
int container_offer_listen(int dir, struct err *e);

/*
 * Takes who knocks. 1: `out` is the container of the ticket; 0: it was somebody else, wait on.
 */
int container_offer_take(int listener, const char *ticket, struct container_offer *out);

/* Lets it go on, or with a message refuses it. 0 or -errno. */
int container_offer_answer(const struct container_offer *o, const struct err *refusal);

void container_offer_close(struct container_offer *o);

#endif
