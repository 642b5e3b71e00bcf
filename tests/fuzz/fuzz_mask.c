/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first octet says how long the secret is, the second how the text is cut: whatever the cut,
 * the answer of the mask is the same, the secret is not in it, and what is no part of it is as it
 * was.
 */
#include <stdio.h>
#include <stdlib.h>

#include "broker/placeholder.h"
#include "broker/vault.h"
#include "fuzz.h"
#include "policy/policy.h"

static struct vault *make_vault(struct span secret)
{
	static const uint8_t seed[PLACEHOLDER_SEED];
	struct credential one = {.host = (char *)"a.example",
				 .port = 443,
				 .slot = SLOT_QUERY,
				 .name = (char *)"k",
				 .from = (char *)"env:T"};
	struct credential_list list = {&one, 1};
	struct err e;
	struct vault *v = vault_new(&list, seed, &e);

	if (!v)
		abort();
	if (vault_put(v, 0, PART_VALUE, secret, 0, &e) == 0)
		return v;
	vault_free(v);
	return NULL;
}

static void mask_in_steps(struct vault *v, uint8_t *text, size_t n, size_t step)
{
	struct message m, request = {.has_host = true, .port = 443};
	struct mask *mask;
	size_t done = 0, ready;

	message_init(&m);
	if (name_parse_ascii("a.example", 9, &request.host) != NAME_OK)
		abort();
	mask = mask_new(v, &request, &m);
	if (!mask)
		abort();
	for (size_t upto = 0; upto < n;) {
		upto = upto + step < n ? upto + step : n;
		mask_apply(mask, text + done, upto - done, &ready);
		if (ready > upto - done)
			abort();
		done += ready;
	}
	mask_free(mask);
}

static void check(struct vault *v, struct span secret, struct span text, size_t step)
{
	uint8_t *whole = malloc(text.n + 1), *cut = malloc(text.n + 1);

	memcpy(whole, text.p, text.n);
	memcpy(cut, text.p, text.n);
	mask_in_steps(v, whole, text.n, text.n + 1);
	mask_in_steps(v, cut, text.n, step);
	if (memmem(cut, text.n, secret.p, secret.n) || memmem(whole, text.n, secret.p, secret.n))
		abort();
	for (size_t i = 0; i < text.n; i++)
		if (whole[i] != cut[i] || (whole[i] != text.p[i] && whole[i] != '*'))
			abort();
	free(whole);
	free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size > 2 ? 8 + data[0] % 24 : 0;
	struct span secret, text;
	struct vault *v;

	if (size < n + 3)
		return 0;
	secret = span_of(data + 2, n);
	text = span_of(data + 2 + n, size - 2 - n);
	v = make_vault(secret);
	if (!v)
		return 0;
	if (memchr(secret.p, '*', n) == NULL)
		check(v, secret, text, 1 + data[1]);
	vault_free(v);
	return 0;
}
