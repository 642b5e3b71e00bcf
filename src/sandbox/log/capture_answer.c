/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/log/capture_answer.h"

#include "sandbox/supervisor.h"

static bool read_request(const json_t *o, struct capture_request *r)
{
	const json_t *max = json_object_get(o, "max_mb"), *files = json_object_get(o, "files");

	*r = (struct capture_request){
		.file = json_string_value(json_object_get(o, "file")),
		.max_mb = (uint64_t)json_integer_value(max),
		.files = (uint64_t)json_integer_value(files),
		.keys = json_is_true(json_object_get(o, "keys")),
	};
	return r->file && *r->file == '/' && r->max_mb <= CAPTURE_MAX_MB_MOST &&
	       r->files <= CAPTURE_FILES_MOST;
}

/* Until the entry of its end is in the audit log. */
static bool is_under_way(const struct capture_link *c)
{
	return !capture_link_is_over(c) || c->segments.place.folder >= 0;
}

json_t *capture_answer_start(struct supervisor *s, const json_t *request, const struct ucred *who)
{
	struct capture_link *c = &s->capture;
	struct capture_request r;
	struct err e;

	if (!read_request(request, &r))
		return json_pack("{s:s}", "error", "that is no request for a capture");
	if (is_under_way(c))
		return json_pack("{s:s}", "error",
				 "a capture is under way; end it first, with --stop");
	if (capture_link_prepare(s, &r, who->uid, &e) == 0 && capture_link_begin_live(s, &e) == 0)
		return json_pack("{s:s, s:b}", "file", c->segments.now.path, "keys", c->keys);
	capture_link_forget(c);
	return json_pack("{s:s}", "error", e.text);
}

json_t *capture_answer_stop(struct supervisor *s)
{
	struct capture_link *c = &s->capture;

	if (capture_link_is_over(c))
		return json_pack("{s:s}", "error", "no capture is under way");
	if (capture_link_is_on(c))
		capture_link_stop(c, "asked", "");
	return json_object();
}

json_t *capture_answer_numbers(const struct supervisor *s)
{
	const struct capture_link *c = &s->capture;
	const struct capture_segments *l = &c->segments;
	const struct recorder_counters *n = c->recorder.counters;
	bool on = l->place.folder >= 0;

	if (!n)
		return NULL;
	return json_pack("{s:b, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "on", on, "file",
			 l->now.fd >= 0 ? l->now.path : NULL, "segments", (json_int_t)l->made,
			 "frames", capture_recorder_number(n->frames), "octets",
			 capture_recorder_number(n->octets), "dropped",
			 capture_recorder_number(n->dropped), "undecided",
			 capture_recorder_number(n->undecided), "verdicts_lost",
			 capture_recorder_number(n->notes_lost), "keys",
			 capture_recorder_number(n->keys), "ended", !on && *c->why ? c->why : NULL);
}
