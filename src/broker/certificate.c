/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/certificate.h"

#include <stdio.h>
#include <string.h>

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

enum { SERIAL_OCTETS = 16, COMMON_NAME_MAX = 64 /* ub-common-name */ };

EVP_PKEY *certificate_new_key(void)
{
	return EVP_EC_gen("P-256");
}

/* Random, positive and of a fixed length: neither authorities nor leaves of two sandboxes are
 * ever taken for another. */
static bool set_serial(X509 *x)
{
	uint8_t octets[SERIAL_OCTETS];
	BIGNUM *n;
	bool done;

	if (RAND_bytes(octets, sizeof(octets)) != 1)
		return false;
	octets[0] = (uint8_t)((octets[0] & 0x7f) | 0x40);
	n = BN_bin2bn(octets, sizeof(octets), NULL);
	done = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
	BN_free(n);
	return done;
}

static bool set_validity(X509 *x, struct validity v)
{
	return ASN1_TIME_set(X509_getm_notBefore(x), v.from) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), v.to);
}

static X509 *begin(EVP_PKEY *key, struct validity validity)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
	    set_validity(x, validity) && X509_set_pubkey(x, key) == 1)
		return x;
	X509_free(x);
	return NULL;
}

static bool add_text(X509_NAME *name, const char *field, const char *text)
{
	return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const uint8_t *)text, -1, -1,
					  0) == 1;
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool done;

	X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
	extension = X509V3_EXT_nconf_nid(NULL, &context, nid, value);
	done = extension && X509_add_ext(x, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return done;
}

static GENERAL_NAME *dns_name(const struct name *name)
{
	GENERAL_NAME *g = GENERAL_NAME_new();
	ASN1_IA5STRING *s = ASN1_IA5STRING_new();

	if (!g || !s || ASN1_STRING_set(s, name->s, name->n) != 1) {
		GENERAL_NAME_free(g);
		ASN1_IA5STRING_free(s);
		return NULL;
	}
	GENERAL_NAME_set0_value(g, GEN_DNS, s);
	return g;
}

/* All addresses of a family: as many zero octets for the address and for the mask (RFC 5280,
 * 4.2.1.10). */
static GENERAL_NAME *all_addresses(int octets)
{
	static const uint8_t zeroes[32];
	GENERAL_NAME *g = GENERAL_NAME_new();
	ASN1_OCTET_STRING *s = ASN1_OCTET_STRING_new();

	if (!g || !s || ASN1_OCTET_STRING_set(s, zeroes, 2 * octets) != 1) {
		GENERAL_NAME_free(g);
		ASN1_OCTET_STRING_free(s);
		return NULL;
	}
	GENERAL_NAME_set0_value(g, GEN_IPADD, s);
	return g;
}

/* Takes over the base, which may be NULL. */
static bool add_subtree(STACK_OF(GENERAL_SUBTREE) * *list, GENERAL_NAME *base)
{
	GENERAL_SUBTREE *subtree = GENERAL_SUBTREE_new();

	if (!*list)
		*list = sk_GENERAL_SUBTREE_new_null();
	if (!base || !subtree || !*list) {
		GENERAL_NAME_free(base);
		GENERAL_SUBTREE_free(subtree);
		return false;
	}
	GENERAL_NAME_free(subtree->base);
	subtree->base = base;
	if (sk_GENERAL_SUBTREE_push(*list, subtree) > 0)
		return true;
	GENERAL_SUBTREE_free(subtree);
	return false;
}

/* A list of permitted DNS names says nothing about addresses, so those are excluded. */
static bool add_constraints(X509 *x, const struct name *names, size_t n_names)
{
	NAME_CONSTRAINTS *c = NAME_CONSTRAINTS_new();
	bool done = c != NULL;

	for (size_t i = 0; i < n_names && done; i++)
		done = add_subtree(&c->permittedSubtrees, dns_name(&names[i]));
	done = done && add_subtree(&c->excludedSubtrees, all_addresses(4)) &&
	       add_subtree(&c->excludedSubtrees, all_addresses(16)) &&
	       X509_add1_ext_i2d(x, NID_name_constraints, c, 1, X509V3_ADD_DEFAULT) == 1;
	NAME_CONSTRAINTS_free(c);
	return done;
}

static bool name_authority(X509 *x, const char *sandbox)
{
	X509_NAME *subject = X509_get_subject_name(x);
	char text[COMMON_NAME_MAX + 1];

	snprintf(text, sizeof(text), "sandgate, sandbox %s", sandbox);
	return add_text(subject, "O", "sandgate") && add_text(subject, "CN", text) &&
	       X509_set_issuer_name(x, subject) == 1;
}

X509 *certificate_new_authority(EVP_PKEY *key, const char *sandbox, const struct name *names,
				size_t n_names, struct validity validity)
{
	X509 *x = begin(key, validity);

	if (x && name_authority(x, sandbox) &&
	    add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    add_extension(x, x, NID_subject_key_identifier, "hash") &&
	    add_extension(x, x, NID_authority_key_identifier, "keyid:always") &&
	    (n_names == 0 || add_constraints(x, names, n_names)) &&
	    X509_sign(x, key, EVP_sha256()) > 0)
		return x;
	X509_free(x);
	return NULL;
}

/* Without a common name the subject is empty and the names critical (RFC 5280, 4.2.1.6); with
 * one, some clients show it. */
static bool name_leaf(X509 *x, const struct name *name, X509 *authority)
{
	GENERAL_NAMES *names = GENERAL_NAMES_new();
	GENERAL_NAME *g = dns_name(name);
	bool fits = name->n <= COMMON_NAME_MAX, done;

	if (!names || !g || sk_GENERAL_NAME_push(names, g) <= 0) {
		GENERAL_NAME_free(g);
		GENERAL_NAMES_free(names);
		return false;
	}
	done = X509_add1_ext_i2d(x, NID_subject_alt_name, names, !fits, X509V3_ADD_DEFAULT) == 1;
	GENERAL_NAMES_free(names);
	return done && (!fits || add_text(X509_get_subject_name(x), "CN", name->s)) &&
	       X509_set_issuer_name(x, X509_get_subject_name(authority)) == 1;
}

X509 *certificate_new_leaf(EVP_PKEY *leaf_key, const struct name *name, struct validity validity,
			   X509 *authority, EVP_PKEY *authority_key)
{
	X509 *x = begin(leaf_key, validity);

	if (x && name_leaf(x, name, authority) &&
	    add_extension(x, authority, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_extension(x, authority, NID_key_usage, "critical,digitalSignature") &&
	    add_extension(x, authority, NID_ext_key_usage, "serverAuth") &&
	    add_extension(x, authority, NID_subject_key_identifier, "hash") &&
	    add_extension(x, authority, NID_authority_key_identifier, "keyid:always") &&
	    X509_sign(x, authority_key, EVP_sha256()) > 0)
		return x;
	X509_free(x);
	return NULL;
}
