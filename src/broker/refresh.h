/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refresh: access tokens of OAuth 2.0 from a refresh token that the sandbox never sees (RFC 6749,
 * 6). Pure: a request out, an answer in; who carries them verifies the server, as for any other
 * request.
 *
 * A client inside that refreshes by itself does it with placeholders. Such a request is answered
 * here with a placeholder as the new token, and goes nowhere.
 */
#ifndef SG_BROKER_REFRESH_H
#define SG_BROKER_REFRESH_H

#include "base/buf.h"
#include "broker/vault.h"

enum { REFRESH_ANSWER_MAX = 64 * 1024 };

/*
 * The request for a new access token. `body` is written into the caller's memory, which is as
 * secret as what is in it. 0, or -1 with a sentence piece, then there is nothing to free.
 */
int refresh_ask(const struct vault *v, size_t i, struct message *request, struct buf *body,
		struct err *e) sg_must_check;

/*
 * The whole answer. Its tokens are kept in the vault; a new refresh token takes the place of the
 * old one for the life of the vault. When there is none, the credential has failed, with why. 0 or
 * -1 with the same; no text of the answer is in it.
 */
int refresh_take(struct vault *v, size_t i, unsigned status, struct span body, int64_t now,
		 struct err *e) sg_must_check;

/* Is this request one to the token endpoint of a credential? Its place, or vault_count(). */
size_t refresh_find(const struct vault *v, const struct message *request);

/*
 * The answer to a client that refreshes with a placeholder, seconds until it shall again included.
 * False: `asked`, the whole body of its request, has none, or there is no room; nothing is answered
 * then.
 */
bool refresh_answer_client(const struct vault *v, size_t i, struct span asked,
			   struct message *answer, struct buf *body);

#endif
