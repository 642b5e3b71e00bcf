/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orderly end of a sandbox that its person asks for: SIGTERM to all that runs in it, and after
 * a time the end of the engine, which is SIGKILL to all. What has been sent by then is let out as
 * after any command's end (drain.c).
 */
#include "sandbox/supervisor.h"

void supervisor_stop(struct supervisor *s, int64_t ms)
{
	mono_t at = mono_add_ms(mono_now(), ms);

	/* A second wish can only bring the end nearer. */
	if (!s->stopping || mono_before(at, s->kill_at))
		s->kill_at = at;
	s->stopping = true;
	if (!s->let_go || s->engine.class->terminate(&s->engine))
		s->kill_at = mono_now();
}

json_t *supervisor_answer_stop(struct supervisor *s, const json_t *request)
{
	const json_t *ms = json_object_get(request, "ms");

	if (!json_is_integer(ms) || json_integer_value(ms) < 0 ||
	    json_integer_value(ms) > STOP_MS_MAX)
		return json_pack("{s:s}", "error",
				 "\"ms\" is not a number of milliseconds up to an hour");
	supervisor_stop(s, json_integer_value(ms));
	return json_pack("{s:b}", "ok", 1);
}

bool supervisor_next_kill(const struct supervisor *s, mono_t *at)
{
	if (!s->stopping || s->ended)
		return false;
	*at = s->kill_at;
	return true;
}

void supervisor_kill_when_due(struct supervisor *s, mono_t now)
{
	if (s->stopping && !s->ended && !mono_before(now, s->kill_at))
		s->engine.class->kill(&s->engine);
}
