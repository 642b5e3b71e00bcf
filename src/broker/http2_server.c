/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/codec.h"

struct codec *http2_server_new(const struct codec_events *events, void *ctx)
{
	(void)events;
	(void)ctx;
	return NULL;
}
