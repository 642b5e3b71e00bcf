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
 * The credentials of the policy at the start, or of another: vault_follow(). There is no vault
 * before the first. 0 or -1 with the message, and nothing has changed.
 */
int credential_control_follow(struct broker *b, const struct credential_list *list,
			      struct err *e) sg_must_check;

/* Asks for what will soon be over. */
void credential_control_renew(struct broker *b);
/* A token endpoint has answered, or failed: the vault knows. */
void credential_control_refreshed(struct broker *b, size_t i);

/* Answers. */
json_t *credential_control_list(void *ctx, const struct request *r);
json_t *credential_control_secret(void *ctx, const struct request *r);
json_t *credential_control_failed(void *ctx, const struct request *r);

extern const int credential_control_syscalls[];

#endif
