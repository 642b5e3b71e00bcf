/* SPDX-License-Identifier: Apache-2.0 */
/* A server of HTTP/2 says anything to three requests: the first octet is the step in which it
 * comes. */
#include "fuzz.h"

#include <stdlib.h>

#include "codec_relay.h"
#include "http2_wire.h"

static void ask(struct codec_relay *relay, struct wire *out)
{
	static struct wire in;
	const char *const head[] = {":method",	 "HEAD",  ":scheme", "https", ":authority",
				    "a.example", ":path", "/",	     NULL};

	in.n = 0;
	wire_preface(&in);
	wire_get(&in, 1);
	wire_post(&in, 3);
	wire_frame(&in, DATA, 0, 3, span_of("abc", 3));
	wire_headers(&in, 5, END_STREAM, head);
	wire_feed(relay->server, &in, 0, out);
	wire_collect(relay->client, out);
	if (relay->requests != 3)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wire in, out, down;
	struct codec_relay relay;

	if (size < 1 || size > WIRE_MAX / 4)
		return 0;
	out.n = down.n = 0;
	memcpy(in.p, data + 1, size - 1);
	in.n = size - 1;
	relay_open(&relay, http2_server_new, http2_client_new);
	relay.server->tls = relay.client->tls = true;
	ask(&relay, &out);
	wire_feed(relay.client, &in, data[0], &out);
	wire_collect(relay.server, &down);
	wire_collect(relay.client, &out);
	relay.client->ops->receive_end(relay.client);
	wire_collect(relay.server, &down);
	relay_close(&relay);
	return 0;
}
