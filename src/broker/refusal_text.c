/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/refusal_text.h"

#include "base/buf.h"

enum { PATH_SHOWN = 160 };

/* What the sandbox sent must not move a terminal, nor look like more than one line. */
static void put_printable(struct buf *b, struct span s, size_t max)
{
	for (size_t i = 0; i < s.n && i < max; i++)
		buf_put_u8(b, s.p[i] > 0x20 && s.p[i] < 0x7f ? s.p[i] : '?');
	if (s.n > max)
		buf_put_text(b, "...");
}

static void put_host(struct buf *b, const struct message *request)
{
	char text[ADDR_TEXT_MAX];

	buf_put_text(b, request->has_host ? request->host.s : addr_format(&request->address, text));
}

/* Without its query, in which secrets stand. */
static struct span path_of(const struct message *request)
{
	struct span path = request->path;
	const uint8_t *mark = path.n ? memchr(path.p, '?', path.n) : NULL;

	return mark ? span_of(path.p, (size_t)(mark - path.p)) : path;
}

/* "permission `github:push` is for that (push)". */
static void put_permission(struct buf *b, const struct request_verdict *v)
{
	if (!v->permission) {
		if (v->reason == REASON_OPERATION_NOT_ALLOWED)
			buf_put_text(b, "; no permission is for it");
		return;
	}
	buf_put_text(b, "; permission ");
	buf_put_text(b, v->permission);
	buf_put_text(b, " is for it");
	if (v->operation) {
		buf_put_text(b, " (");
		buf_put_text(b, v->operation);
		buf_put_text(b, ")");
	}
}

char *refusal_text(const struct message *request, const struct request_verdict *v,
		   char out[REFUSAL_TEXT_MAX])
{
	struct buf b = buf_of(out, REFUSAL_TEXT_MAX - 1);

	buf_put_text(&b, "sandgate: ");
	put_printable(&b, request->method, PATH_SHOWN);
	buf_put_text(&b, " ");
	put_host(&b, request);
	put_printable(&b, path_of(request), PATH_SHOWN);
	buf_put_text(&b, ": ");
	buf_put_text(&b, reason_sentence(v->reason));
	if (v->why) {
		buf_put_text(&b, ": ");
		buf_put_text(&b, v->why);
	}
	put_permission(&b, v);
	if (v->remedy[0]) {
		buf_put_text(&b, "; to allow it: ");
		buf_put_text(&b, v->remedy);
	}
	out[b.n] = 0;
	return out;
}
