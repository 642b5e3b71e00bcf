/* SPDX-License-Identifier: Apache-2.0 */
/* A client of HTTP/2 says anything: the first octet is the step in which it comes, 0 for all at
 * once. */
#include "fuzz.h"

#include <stdlib.h>

#include "codec_relay.h"
#include "http2_wire.h"

static bool judge(void *ctx, struct message *request)
{
	return request->path.n < 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wire in, out, up;
	struct codec_relay relay;

	if (size < 1 || size > WIRE_MAX / 4)
		return 0;
	in.n = out.n = up.n = 0;
	memcpy(in.p, data + 1, size - 1);
	in.n = size - 1;
	relay_open(&relay, http2_server_new, http2_client_new);
	relay.server->tls = relay.client->tls = true;
	relay.judge = judge;
	wire_feed(relay.server, &in, data[0], &out);
	wire_collect(relay.client, &up);
	wire_collect(relay.server, &out);
	relay.server->ops->receive_end(relay.server);
	if (relay.exchanges)
		abort(); /* nobody was told that the client is gone */
	relay_close(&relay);
	return 0;
}
