/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise: what of the sandbox's frames the airlock drops at its ingress hook, and why: the rules of
 * src/airlock/rules.c once more, in the same order; and what the gate drops as such. A test holds
 * the counters and the comments of a capture to one another. Pure.
 */
#ifndef SG_CAPTURE_NOISE_H
#define SG_CAPTURE_NOISE_H

#include "airlock/addresses.h"
#include "capture/frame.h"

enum noise {
	NOISE_NONE, /* it passes */
	NOISE_LINK_ADDRESS,
	NOISE_TAG,
	NOISE_ETHERTYPE,
	NOISE_TRUNCATED,
	NOISE_NOT_HERE,
	NOISE_SOURCE,
	NOISE_DESTINATION,
	NOISE_RESOLUTION,
	/* What reaches the gate and is noise there. */
	NOISE_NO_REQUEST,
	NOISES,
};

/* What the link is like. */
struct link_facts {
	struct airlock_addresses addresses;
	uint8_t mac[FRAME_ADDRESS]; /* of the sandbox's end */
	bool v6;
	bool guest;   /* a machine that configures itself: DHCP and router solicitations pass */
	bool inbound; /* others may open exchanges with the sandbox, past the gate */
};

/* `to_here`: the frame was addressed to this end of the link and to no other. */
enum noise noise_of(const struct link_facts *l, const struct frame *f, bool to_here);
/* Of a frame that passes so far: ICMP that asks nothing. */
enum noise noise_at_gate(const struct frame *f);
const char *noise_text(enum noise n);

/* A frame that passes and is not the gate's to judge: it is answered on the link. */
const char *noise_link_service(const struct link_facts *l, const struct frame *f);

#endif
