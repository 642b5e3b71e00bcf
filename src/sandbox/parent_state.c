/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/parent_state.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

static void add_address(struct parent_proxy *p, const struct addrinfo *a, uint16_t port)
{
	struct sockaddr_storage ss = {0};

	memcpy(&ss, a->ai_addr, a->ai_addrlen);
	if (endpoint_from_sockaddr(&ss, &p->at[p->n]))
		p->at[p->n++].port = port;
}

static int look_up(struct parent_state *p, struct err *e)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	int rc = getaddrinfo(p->url.host, NULL, &hints, &list);

	if (rc)
		return err_set(e, "upstream_proxy: %s cannot be looked up: %s", p->url.host,
			       gai_strerror(rc));
	for (const struct addrinfo *a = list; a && p->proxy.n < PARENT_ADDRESSES_MAX;
	     a = a->ai_next)
		add_address(&p->proxy, a, p->url.at.port);
	freeaddrinfo(list);
	return p->proxy.n ? 0 : err_set(e, "upstream_proxy: %s has no address", p->url.host);
}

static int take_exceptions(struct parent_proxy *p, char *const *list, struct err *e)
{
	for (; list && *list && p->n_exceptions < PARENT_EXCEPTIONS_MAX; list++)
		if (parent_exception_parse(*list, &p->exception[p->n_exceptions++], e))
			return err_prefix(e, "no_proxy");
	return 0;
}

int parent_state_read(struct parent_state *p, const struct settings *s, struct err *e)
{
	*p = (struct parent_state){.url = {.host = ""}};
	if (!s->upstream_proxy)
		return 0;
	if (parent_url_parse(s->upstream_proxy, &p->url, e))
		return err_prefix(e, "upstream_proxy");
	p->broker = (struct broker_parent){.is_there = true,
					   .has_password = s->upstream_proxy_from != NULL,
					   .user = p->url.user[0] ? p->url.user : NULL};
	if (p->url.is_address) {
		p->proxy.at[0] = p->url.at;
		p->proxy.n = 1;
	} else if (look_up(p, e)) {
		return -1;
	}
	memcpy(p->broker.at, p->proxy.at, sizeof(p->broker.at));
	p->broker.n = p->proxy.n;
	return take_exceptions(&p->proxy, s->no_proxy, e);
}
