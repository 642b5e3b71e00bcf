/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credential_control: how secrets come to the broker, and how it asks for them (docs/protocol.md,
 * "Supervisor and broker").
 *
 * A secret comes by a pipe: it is in no message, no file, and no memory that could be swapped, and
 * is gone from the pipe when it was read.
 */
#ifndef SG_BROKER_CREDENTIAL_CONTROL_H
#define SG_BROKER_CREDENTIAL_CONTROL_H

#include "broker/context.h"
#include "io/requests.h"

/*
 * The vault for the credentials of the policy at the start; none: there is no vault. 0 or -1 with
 * the message.
 */
int credential_control_begin(struct broker *b, struct err *e) sg_must_check;

/*
 * Another policy: what it does not have any more is not added to requests any more, which are
 * refused instead.
 */
void credential_control_follow(struct broker *b);

/* Answers. */
json_t *credential_control_list(void *ctx, const struct request *r);
json_t *credential_control_secret(void *ctx, const struct request *r);
json_t *credential_control_failed(void *ctx, const struct request *r);

extern const int credential_control_syscalls[];

#endif
