/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls: one connection, whichever its role.
 *
 *	handshake → established → the peer's side ended (`end`), in order or cut; ours by tls_close
 *	     any step that fails: `end` is TLS_FAILED, and OpenSSL is not called again
 *
 * OpenSSL keeps its errors in a queue of the thread: each step begins with an empty one.
 */
#include "broker/tls.h"

#include <errno.h>
#include <stdlib.h>

#include <openssl/err.h>

#include "broker/tls_link.h"

struct tls *tls_of(const SSL *ssl)
{
	return SSL_get_app_data(ssl);
}

struct tls *tls_new(SSL_CTX *context, int fd, enum tls_role role, const struct name *name,
		    struct err *e)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (t)
		t->ssl = SSL_new(context);
	if (!t || !t->ssl || SSL_set_fd(t->ssl, fd) != 1) {
		tls_free(t);
		tls_err_set(e, "a connection");
		return NULL;
	}
	t->role = role;
	t->name = *name;
	SSL_set_app_data(t->ssl, t);
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	/* Else OpenSSL gives up the session of a connection that ended without close_notify, which
	 * TLS asks for no more (RFC 5246, 7.2.1). */
	if (t->established && t->end != TLS_FAILED)
		SSL_set_shutdown(t->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(t->ssl);
	free(t);
}

static enum tls_result fail(struct tls *t)
{
	t->end = TLS_FAILED;
	return TLS_FAILED;
}

/* What a step that returned `r` below 1 came to. */
static enum tls_result result_of(struct tls *t, int r)
{
	int error = errno, ssl_error = SSL_get_error(t->ssl, r);

	switch (ssl_error) {
	case SSL_ERROR_WANT_READ:
		return TLS_WANT_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANT_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		t->orderly = true;
		t->end = TLS_CLOSED;
		return TLS_CLOSED;
	}
	tls_note_failure(t, ssl_error, error);
	if (t->established && ssl_error == SSL_ERROR_SSL &&
	    ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		t->end = TLS_CLOSED;
	else
		t->end = TLS_FAILED;
	return t->end;
}

static bool span_is(struct span s, const char *text)
{
	return span_equal(s, span_of_string(text));
}

/* OpenSSL looks whether what a server chose was offered to it (RFC 7301, 3.1) from 3.0.15 on
 * only. */
static enum tls_result read_alpn(struct tls *t)
{
	const uint8_t *p = NULL;
	unsigned n = 0;

	SSL_get0_alpn_selected(t->ssl, &p, &n);
	if (n == 0)
		t->alpn = TLS_ALPN_NONE;
	else if (span_is(span_of(p, n), "http/1.1"))
		t->alpn = TLS_ALPN_HTTP1;
	else if (span_is(span_of(p, n), "h2") && t->alpn == TLS_ALPN_HTTP2)
		t->alpn = TLS_ALPN_HTTP2;
	else {
		tls_note(t, "it chose a protocol that was not offered to it");
		return fail(t);
	}
	return TLS_DONE;
}

enum tls_result tls_handshake(struct tls *t)
{
	int r;

	if (t->established || t->end == TLS_FAILED)
		return t->end;
	ERR_clear_error();
	errno = 0;
	r = SSL_do_handshake(t->ssl);
	if (r != 1) {
		enum tls_result result = result_of(t, r);

		if (result != TLS_CLOSED)
			return result;
		tls_note(t, "%s closed the connection in the TLS handshake", tls_peer(t));
		return fail(t);
	}
	t->established = true;
	return read_alpn(t);
}

/* Reads what OpenSSL has, and from the socket only when it has nothing. */
enum tls_result tls_read(struct tls *t, struct buf *into)
{
	size_t before = into->n;
	enum tls_result result = TLS_DONE;

	if (!t->established || t->end != TLS_DONE)
		return t->end != TLS_DONE ? t->end : TLS_FAILED;
	/* OpenSSL takes a read of nothing for an error. */
	if (into->n == into->cap)
		return TLS_DONE;
	do {
		size_t n = 0;

		ERR_clear_error();
		errno = 0;
		if (SSL_read_ex(t->ssl, into->p + into->n, into->cap - into->n, &n) != 1) {
			result = result_of(t, 0);
			break;
		}
		into->n += n;
	} while (into->n < into->cap && SSL_has_pending(t->ssl));
	return into->n > before ? TLS_DONE : result;
}

bool tls_has_more(const struct tls *t)
{
	return t->end == TLS_DONE && SSL_has_pending(t->ssl) == 1;
}

/* After a cut OpenSSL takes the whole connection for failed. */
static bool can_send(const struct tls *t)
{
	return t->established && (t->end == TLS_DONE || t->orderly) && t->end != TLS_FAILED;
}

enum tls_result tls_write(struct tls *t, struct span octets, size_t *written)
{
	*written = 0;
	if (!can_send(t) || t->closed)
		return TLS_FAILED;
	while (*written < octets.n) {
		size_t n = 0;

		ERR_clear_error();
		errno = 0;
		if (SSL_write_ex(t->ssl, octets.p + *written, octets.n - *written, &n) != 1) {
			enum tls_result result = result_of(t, 0);

			t->writing = result == TLS_WANT_WRITE || result == TLS_WANT_READ;
			return result == TLS_CLOSED ? fail(t) : result;
		}
		t->writing = false;
		*written += n;
	}
	return TLS_DONE;
}

enum tls_result tls_close(struct tls *t)
{
	int r;

	if (t->closed)
		return TLS_DONE;
	if (!can_send(t) || t->writing)
		return TLS_FAILED;
	ERR_clear_error();
	errno = 0;
	r = SSL_shutdown(t->ssl);
	if (r < 0)
		return result_of(t, r);
	/* A second call would read, and drop, what the peer still says. */
	t->closed = true;
	return TLS_DONE;
}

enum tls_alpn tls_alpn(const struct tls *t)
{
	return t->alpn;
}

bool tls_resumed(const struct tls *t)
{
	return SSL_session_reused(t->ssl) == 1;
}

const char *tls_why(const struct tls *t)
{
	return t->why;
}

void tls_give_up(struct tls *t)
{
	tls_note(t, "%s did not finish the TLS handshake in time", tls_peer(t));
	t->end = TLS_FAILED;
}

bool tls_ended_orderly(const struct tls *t)
{
	return t->orderly;
}

bool tls_is_distrusted(const struct tls *t)
{
	return t->role == TLS_TO_SERVER && SSL_get_verify_result(t->ssl) != X509_V_OK;
}
