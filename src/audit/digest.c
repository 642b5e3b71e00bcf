/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/digest.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct digest digest_of(const struct span *parts, size_t n)
{
	/* One for the process: to look for the algorithm each time costs more than a short hash. */
	static EVP_MD_CTX *ctx;
	static EVP_MD *sha256;
	struct digest d;
	bool good;

	if (!ctx) {
		ctx = EVP_MD_CTX_new();
		sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	}
	good = ctx && sha256 && EVP_DigestInit_ex(ctx, sha256, NULL) == 1;
	for (size_t i = 0; good && i < n; i++)
		good = EVP_DigestUpdate(ctx, parts[i].p, parts[i].n) == 1;
	if (!good || EVP_DigestFinal_ex(ctx, d.b, NULL) != 1)
		abort();
	return d;
}

void digest_print(const struct digest *d, char out[DIGEST_TEXT + 1])
{
	base64_print(span_of(d->b, DIGEST_OCTETS), out);
}

bool digest_parse(struct span text, struct digest *out)
{
	size_t n;

	return text.n == DIGEST_TEXT && base64_parse(text, out->b, DIGEST_OCTETS, &n) &&
	       n == DIGEST_OCTETS;
}
