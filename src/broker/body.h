/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body: a bounded run of octets on its way from one codec to another, and how it ends.
 *
 * The codec that reads puts octets in while there is room, and stops reading when there is none;
 * the codec that writes takes them out. So a body of any size passes in BODY_ROOM octets.
 */
#ifndef SG_BROKER_BODY_H
#define SG_BROKER_BODY_H

#include "broker/message.h"

enum { BODY_ROOM = 64 * 1024 };

struct body {
	uint8_t *ring; /* BODY_ROOM octets, there only while octets are in it */
	size_t at, n;
	size_t held;		  /* the last of them: not to be seen yet */
	uint64_t passed;	  /* taken out in all */
	bool ended;		  /* no more will be put in; trailers, if any, are whole */
	bool secret;		  /* wiped before its memory is given back */
	bool failed;		  /* cut: must never look whole to the other side */
	struct message *trailers; /* owned; NULL: none */
};

void body_free(struct body *b);
size_t body_room(const struct body *b);
bool body_put(struct body *b,
	      struct span octets); /* false: no room, or no memory; then nothing was put */
struct span body_peek(const struct body *b); /* the longest run that lies in one piece */
void body_take(struct body *b, size_t n);
static inline bool body_is_done(const struct body *b) /* all of it was taken out */
{
	return b->ended && b->n == 0;
}

#endif
