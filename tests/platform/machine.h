/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: a virtual machine as its link sees it: a socket that frames go through, and nothing
 * behind it but the test. With a whole airlock, gate and process of frames on the other side.
 */
#ifndef SG_TESTS_PLATFORM_MACHINE_H
#define SG_TESTS_PLATFORM_MACHINE_H

#include "base/addr.h"
#include "base/span.h"
#include "sandbox/frames_link.h"
#include "sandbox/frames_socket.h"
#include "sandbox/gate_link.h"

enum { MACHINE_FRAME = 70000, MACHINE_MS = 20000 };

struct machine {
	struct gate_link gate;
	struct frames_link frames;
	struct frames_setup setup;
	struct frames_socket socket;
	char folder[32], path[64];
	int wire; /* the machine's end; -1: not connected */
};

extern const uint8_t machine_mac[6], machine_gate_mac[6], machine_everybody[6];

/* An airlock with a tap of this MTU (0: the usual), a gate that admits nothing, and frames. */
void machine_begin(struct machine *m, enum frames_kind kind, uint32_t mtu);
void machine_end(struct machine *m);

/* A monitor: connected, or bound to a path of its own ("peer" in the folder). */
int machine_connect(const struct machine *m);

void machine_send(struct machine *m, const void *frame, size_t n);
/* Octets as they are, on a stream. */
void machine_send_raw(const struct machine *m, const void *p, size_t n);
/* The next frame, or 0 when there is none in time. */
size_t machine_hear(struct machine *m, uint8_t *frame, int ms);

/* An Ethernet, IP and UDP header before the payload; all of it into `frame`. Its length. */
size_t machine_udp(uint8_t *frame, const uint8_t *to, const struct endpoint *src,
		   const struct endpoint *dst, struct span payload);
size_t machine_icmp6(uint8_t *frame, const uint8_t *to, const char *src, const char *dst,
		     struct span message);

/* A counter of the process of frames is this within MACHINE_MS. */
void machine_await(const volatile uint64_t *counter, uint64_t value);

#endif
