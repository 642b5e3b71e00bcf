/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_dials: connections that the broker wants for itself, to the token endpoints of credentials
 * (docs/protocol.md, "Gate and broker"). The name is looked up and judged here; broker_dials.h
 * dials.
 */
#ifndef SG_GATE_TOKEN_DIALS_H
#define SG_GATE_TOKEN_DIALS_H

#include "gate/broker_dials.h"
#include "io/gate_message.h"

enum { TOKEN_DIALS_MAX = 8 }; /* lookups at once */

struct token_dials;

/* `begun` is called when `dials` has another one. NULL: no memory. */
struct token_dials *token_dials_new(struct gate *g, struct broker_dials *dials,
				    void (*begun)(void *ctx), void *ctx);

/*
 * A message of the broker's, which is not trusted: what may not be dialled is answered with EACCES.
 */
void token_dials_begin(struct token_dials *t, const struct gate_message *m);

/* The broker is gone: what is looked up for it is for nobody. */
void token_dials_forget(struct token_dials *t);

#endif
