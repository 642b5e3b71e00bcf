/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/session_cache.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/ssl.h>

#include "broker/name_cache.h"

struct session_cache {
	struct name_cache *names; /* of struct sessions */
};

/* Of one name: `n` sessions, the oldest first. */
struct sessions {
	size_t n;
	SSL_SESSION *all[SESSION_CACHE_EACH];
};

static void sessions_free(void *kept)
{
	struct sessions *s = kept;

	for (size_t i = 0; i < s->n; i++)
		SSL_SESSION_free(s->all[i]);
	free(s);
}

struct session_cache *session_cache_new(void)
{
	struct session_cache *c = calloc(1, sizeof(*c));

	if (c)
		c->names = name_cache_new(SESSION_CACHE_NAMES, sessions_free);
	if (c && c->names)
		return c;
	free(c);
	return NULL;
}

void session_cache_free(struct session_cache *c)
{
	if (!c)
		return;
	name_cache_free(c->names);
	free(c);
}

static void drop_oldest(struct sessions *s)
{
	SSL_SESSION_free(s->all[0]);
	memmove(s->all, s->all + 1, (s->n - 1) * sizeof(SSL_SESSION *));
	s->n--;
}

void session_cache_put(struct session_cache *c, const struct name *name, SSL_SESSION *session)
{
	struct sessions *s = name_cache_find(c->names, name);

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s) {
			SSL_SESSION_free(session);
			return;
		}
		name_cache_put(c->names, name, s);
	}
	if (s->n == SESSION_CACHE_EACH)
		drop_oldest(s);
	s->all[s->n++] = session;
}

static bool may_be_resumed(const SSL_SESSION *session)
{
	X509 *certificate = SSL_SESSION_get0_peer((SSL_SESSION *)session);
	time_t now = time(NULL);

	return SSL_SESSION_is_resumable(session) == 1 && certificate &&
	       now - (time_t)SSL_SESSION_get_time(session) < SSL_SESSION_get_timeout(session) &&
	       X509_cmp_time(X509_get0_notAfter(certificate), &now) > 0;
}

SSL_SESSION *session_cache_take(struct session_cache *c, const struct name *name)
{
	struct sessions *s = name_cache_find(c->names, name);

	while (s && s->n) {
		SSL_SESSION *session = s->all[s->n - 1];

		if (!may_be_resumed(session)) {
			SSL_SESSION_free(session);
			s->n--;
			continue;
		}
		if (SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION)
			s->n--;
		else
			SSL_SESSION_up_ref(session);
		return session;
	}
	return NULL;
}
