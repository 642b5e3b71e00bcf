/* SPDX-License-Identifier: Apache-2.0 */
#include "frames/carrier.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames/framing.h"
#include "frames/tap.h"

enum { TELL_MS = 1000 };

void carrier_put_out(const struct carrier *c, const uint8_t *frame, size_t n)
{
	const struct frames_setup *s = c->setup;

	if (frame_fits(n, s->mtu) && tap_write(s->tap, span_of(frame, n)))
		s->counters->out++;
	else
		s->counters->refused++;
}

size_t carrier_take_in(const struct carrier *c, uint8_t *out, size_t cap)
{
	const struct frames_setup *s = c->setup;
	size_t room = s->mtu + FRAME_SHORTEST + FRAME_TAG, n;

	for (int i = 0; i < CARRIER_FRAMES; i++) {
		switch (tap_read(s->tap, out, cap < room ? cap : room, &n)) {
		case TAP_FRAME:
			if (frame_fits(n, s->mtu))
				return n;
			s->counters->lost++;
			break;
		case TAP_BAD:
			s->counters->lost++;
			break;
		case TAP_EMPTY:
			return 0;
		case TAP_GONE:
			_exit(EXIT_SUCCESS);
		}
	}
	return 0;
}

void carrier_forget_waiting(const struct carrier *c)
{
	c->setup->counters->lost += tap_discard(c->setup->tap);
}

/* One that does not read has its own trouble. */
static void tell(struct carrier *c, const char *op, uint32_t number)
{
	mono_t now = mono_now();
	char text[64];
	int n;

	if (mono_before(now, mono_add_ms(c->told, TELL_MS)))
		return;
	c->told = now;
	n = snprintf(text, sizeof(text), "{\"op\":\"%s\",\"number\":%u}", op, (unsigned)number);
	(void)!send(c->control, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void carrier_tell_lie(struct carrier *c, uint32_t length)
{
	tell(c, "length", length);
}

void carrier_tell_stranger(struct carrier *c, uid_t uid)
{
	tell(c, "stranger", uid);
}

void carrier_tell_unanswerable(struct carrier *c, int error)
{
	tell(c, "unanswerable", (uint32_t)error);
}

bool carrier_is_own(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}
