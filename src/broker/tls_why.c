/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_why: reasons in plain words. Whatever of them the peer wrote is a date, a DNS name, or not
 * in them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include "base/compiler.h"
#include "broker/tls_link.h"

/* libssl's reason of an alert that came (SSL_AD_REASON_OFFSET, sslerr.h). */
enum { ALERT_REASON = 1000, ALERT_REASON_END = 1256 };

void tls_note(struct tls *t, const char *fmt, ...)
{
	va_list args;

	if (t->why[0])
		return;
	va_start(args, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, args);
	va_end(args);
}

/* "2026-01-31"; empty when it is no date. */
static void print_date(const ASN1_TIME *when, char out[16])
{
	struct tm tm;

	out[0] = '\0';
	if (ASN1_TIME_to_tm(when, &tm) == 1)
		strftime(out, 16, "%Y-%m-%d", &tm);
}

/* " (other.example)": the first DNS name of the certificate, when it is one. */
static void print_first_name(X509 *certificate, char out[NAME_MAX_OCTETS + 6])
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	struct name name;

	out[0] = '\0';
	for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *n = sk_GENERAL_NAME_value(names, i);
		const char *s;
		size_t length, star;

		if (n->type != GEN_DNS)
			continue;
		s = (const char *)ASN1_STRING_get0_data(n->d.dNSName);
		length = (size_t)ASN1_STRING_length(n->d.dNSName);
		star = length > 2 && memcmp(s, "*.", 2) == 0 ? 2 : 0;
		if (name_parse_ascii(s + star, length - star, &name) == NAME_OK)
			snprintf(out, NAME_MAX_OCTETS + 6, " (%s%s)", star ? "*." : "", name.s);
		break;
	}
	GENERAL_NAMES_free(names);
}

static void note_dated(struct tls *t, X509_STORE_CTX *v, const char *verb, bool end)
{
	X509 *certificate = X509_STORE_CTX_get_current_cert(v);
	const char *whose = X509_STORE_CTX_get_error_depth(v) == 0
				    ? "its certificate"
				    : "the authority of its certificate";
	char date[16] = "";

	if (certificate)
		print_date(end ? X509_get0_notAfter(certificate) : X509_get0_notBefore(certificate),
			   date);
	tls_note(t, "%s %s %s", whose, verb, date[0] ? date : "at a date that is none");
}

static void note_other_name(struct tls *t, X509_STORE_CTX *v)
{
	char first[NAME_MAX_OCTETS + 6] = "";
	X509 *certificate = X509_STORE_CTX_get0_cert(v);

	if (certificate)
		print_first_name(certificate, first);
	tls_note(t, "its certificate is for another name%s", first);
}

struct why {
	int code;
	const char *text;
};

static const char *find_text(const struct why *table, size_t n, int code)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].code == code)
			return table[i].text;
	return NULL;
}

static const char unknown_issuer[] =
	"its certificate is from an authority that this host does not trust";
static const char too_weak[] = "a key or signature of its certificate is too weak";
static const char constrained[] = "its authority may not make certificates for this name";

static const struct why verification[] = {
	{X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "its certificate is self-signed"},
	{X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, unknown_issuer},
	{X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, unknown_issuer},
	{X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, unknown_issuer},
	{X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, unknown_issuer},
	{X509_V_ERR_CERT_UNTRUSTED, unknown_issuer},
	{X509_V_ERR_CERT_SIGNATURE_FAILURE, "a signature of its certificate is wrong"},
	{X509_V_ERR_INVALID_PURPOSE, "its certificate is not one of a server"},
	{X509_V_ERR_INVALID_CA, "its certificate was signed by one that is no authority"},
	{X509_V_ERR_PATH_LENGTH_EXCEEDED, "its certificate was signed by one that is no authority"},
	{X509_V_ERR_KEYUSAGE_NO_CERTSIGN, "its certificate was signed by one that is no authority"},
	{X509_V_ERR_CERT_CHAIN_TOO_LONG, "the chain of its certificate is too long"},
	{X509_V_ERR_EE_KEY_TOO_SMALL, too_weak},
	{X509_V_ERR_CA_KEY_TOO_SMALL, too_weak},
	{X509_V_ERR_CA_MD_TOO_WEAK, too_weak},
	{X509_V_ERR_PERMITTED_VIOLATION, constrained},
	{X509_V_ERR_EXCLUDED_VIOLATION, constrained},
};

void tls_note_certificate(struct tls *t, X509_STORE_CTX *v)
{
	int error = X509_STORE_CTX_get_error(v);
	const char *text = find_text(verification, sg_array_len(verification), error);

	if (text)
		tls_note(t, "%s", text);
	else if (error == X509_V_ERR_CERT_HAS_EXPIRED)
		note_dated(t, v, "expired on", true);
	else if (error == X509_V_ERR_CERT_NOT_YET_VALID)
		note_dated(t, v, "is not valid before", false);
	else if (error == X509_V_ERR_HOSTNAME_MISMATCH)
		note_other_name(t, v);
	else
		tls_note(t, "its certificate cannot be verified: %s",
			 X509_verify_cert_error_string(error));
}

static const char too_old[] = "speaks no version of TLS newer than 1.1";
static const char not_tls[] = "says something that is not TLS";
static const char closed[] = "closed the connection in the TLS handshake";

/* Verbs; the subject is the server, or the client. */
static const struct why of_server[] = {
	{SSL_R_UNSUPPORTED_PROTOCOL, too_old},
	{SSL_R_VERSION_TOO_LOW, too_old},
	{SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, too_old},
	{SSL_R_WRONG_VERSION_NUMBER, not_tls},
	{SSL_R_UNEXPECTED_EOF_WHILE_READING, closed},
	{SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, "refused the TLS handshake"},
	{SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY, "refused the TLS handshake"},
	{SSL_R_TLSV1_UNRECOGNIZED_NAME, "does not serve this name"},
	{SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, "serves no HTTP here"},
	{SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, "asks for a certificate of the client"},
	{SSL_R_UNSAFE_LEGACY_RENEGOTIATION_DISABLED, "lacks secure renegotiation (RFC 5746)"},
	{SSL_R_DH_KEY_TOO_SMALL, "uses a key that is too weak"},
};

static const char distrusts[] = "does not trust the sandbox's authority";
static const char no_ecdsa[] = "has no cipher, curve or signature that goes with ECDSA P-256";

static const struct why of_client[] = {
	{SSL_R_UNSUPPORTED_PROTOCOL, too_old},
	{SSL_R_VERSION_TOO_LOW, too_old},
	{SSL_R_WRONG_VERSION_NUMBER, not_tls},
	{SSL_R_HTTP_REQUEST, not_tls},
	{SSL_R_HTTPS_PROXY_REQUEST, not_tls},
	{SSL_R_UNEXPECTED_EOF_WHILE_READING, closed},
	{SSL_R_TLSV1_ALERT_UNKNOWN_CA, distrusts},
	{SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, distrusts},
	{SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, distrusts},
	{SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, distrusts},
	{SSL_R_TLSV1_ALERT_ACCESS_DENIED, distrusts},
	{SSL_R_NO_SHARED_CIPHER, no_ecdsa},
	{SSL_R_NO_SUITABLE_KEY_SHARE, no_ecdsa},
	{SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, no_ecdsa},
	{SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, no_ecdsa},
	{SSL_R_NO_SHARED_GROUPS, no_ecdsa},
	{SSL_R_NO_APPLICATION_PROTOCOL, "does not offer the protocol that the server speaks"},
};

static void note_socket(struct tls *t, int error)
{
	const char *where = t->established ? "" : " in the TLS handshake";

	if (error == ECONNRESET || error == EPIPE)
		tls_note(t, "%s reset the connection%s", tls_peer(t), where);
	else if (error)
		tls_note(t, "the connection failed%s: %s", where, strerror(error));
	else
		tls_note(t, "%s closed the connection%s", tls_peer(t), where);
}

static void note_reason(struct tls *t, int reason, const char *text)
{
	const char *what = t->established ? "the TLS connection" : "the TLS handshake";

	if (reason >= ALERT_REASON && reason < ALERT_REASON_END)
		tls_note(t, "%s refused %s: %s", tls_peer(t), what,
			 SSL_alert_desc_string_long(reason - ALERT_REASON));
	else
		tls_note(t, "%s failed: %s", what, text ? text : "out of memory");
}

void tls_note_failure(struct tls *t, int ssl_error, int error)
{
	unsigned long code = ERR_peek_error();
	int reason = ERR_GET_REASON(code);
	const char *text = NULL;

	if (ssl_error == SSL_ERROR_SYSCALL) {
		note_socket(t, error);
		return;
	}
	if (t->established && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
		tls_note(t, "%s cut the connection: it ended without the end of TLS", tls_peer(t));
		return;
	}
	/* In TLS 1.3 a server refuses a client's certificate when the client is done. */
	if ((!t->established || reason >= ALERT_REASON) && ERR_GET_LIB(code) == ERR_LIB_SSL)
		text = t->role == TLS_TO_SERVER
			       ? find_text(of_server, sg_array_len(of_server), reason)
			       : find_text(of_client, sg_array_len(of_client), reason);
	if (text)
		tls_note(t, "%s %s", tls_peer(t), text);
	else
		note_reason(t, reason, ERR_reason_error_string(code));
}
