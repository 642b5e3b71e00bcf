/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a bundle holds, the store that is made of it is one that OpenSSL reads to its end. */
#include <stdlib.h>

#include <openssl/pkcs12.h>

#include "fuzz.h"
#include "sandbox/files/ca_store.h"
#include "sandbox/files/pem.h"

static size_t count(struct span text)
{
	static uint8_t room[PEM_CERTIFICATE_MAX];
	struct span der;
	size_t n = 0;

	while (pem_next_certificate(&text, room, &der))
		n++;
	return n;
}

static void check_store(const struct ca_store *s, size_t certificates)
{
	const uint8_t *p = s->p;
	PKCS12 *store = d2i_PKCS12(NULL, &p, (long)s->n);
	STACK_OF(PKCS7) *safes = store ? PKCS12_unpack_authsafes(store) : NULL;
	STACK_OF(PKCS12_SAFEBAG) * bags;

	if (!safes || p != s->p + s->n || sk_PKCS7_num(safes) != 2)
		abort();
	bags = PKCS12_unpack_p7data(sk_PKCS7_value(safes, 1));
	if (!bags || (size_t)sk_PKCS12_SAFEBAG_num(bags) != certificates)
		abort();
	sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
	sk_PKCS7_pop_free(safes, PKCS7_free);
	PKCS12_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t head[CA_STORE_HEAD];
	struct span text = span_of(data, size);
	size_t certificates = count(text);
	struct ca_store s;

	if (size && pem_is_certificates(text) && data[0] != '\n' && certificates == 0)
		abort();
	if (!ca_store_make(text, &s))
		return 0;
	check_store(&s, certificates);
	if (ca_store_head(text, head))
		memcpy(s.p + s.head, head, sizeof(head));
	check_store(&s, certificates);
	ca_store_free(&s);
	return 0;
}
