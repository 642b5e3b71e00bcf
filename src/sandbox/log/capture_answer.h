/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_answer: what is answered to a person who asks for a capture of a sandbox that runs, for
 * its end, or for its numbers. Private to src/sandbox.
 */
#ifndef SG_SANDBOX_CAPTURE_ANSWER_H
#define SG_SANDBOX_CAPTURE_ANSWER_H

#include <jansson.h>
#include <sys/socket.h>

struct supervisor;

/* To {"op":"pcap",...} and {"op":"pcap-stop"}. */
json_t *capture_answer_start(struct supervisor *s, const json_t *request, const struct ucred *who);
json_t *capture_answer_stop(struct supervisor *s);

/* For `egress`: the numbers, or NULL where there never was one. */
json_t *capture_answer_numbers(const struct supervisor *s);

#endif
