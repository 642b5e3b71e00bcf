/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_control: what the supervisor asks of a recorder. docs/protocol.md lists the requests. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "capture/recorder_state.h"
#include "io/message_socket.h"

static json_t *answer_segment(void *ctx, const struct request *q)
{
	struct recorder *r = ctx;
	int fd = r->next_file < 0 ? fcntl(q->passed, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd < 0) {
		err_set(q->e, "a segment waits already, or there is no descriptor left");
		return NULL;
	}
	r->next_file = fd;
	return json_object();
}

static json_t *answer_follow(const struct request *q, struct recorder *r, const char *whose,
			     int (*to)(struct recorder *r, int fd))
{
	int fd = message_socket_keep(q->passed, whose, q->e);

	if (fd < 0)
		return NULL;
	if (to(r, fd) == 0)
		return json_object();
	close(fd);
	err_set(q->e, "%s end cannot be watched", whose);
	return NULL;
}

static json_t *answer_verdicts(void *ctx, const struct request *q)
{
	return answer_follow(q, ctx, "the gate's", recorder_follow_gate);
}

static json_t *answer_keys(void *ctx, const struct request *q)
{
	return answer_follow(q, ctx, "the broker's", recorder_follow_broker);
}

/* Its end is told when it has come: "stopped". */
static json_t *answer_stop(void *ctx, const struct request *q)
{
	recorder_stop(ctx);
	return json_object();
}

bool recorder_control_begin(struct recorder *r, int fd)
{
	static const struct request_kind kinds[] = {
		{"segment", answer_segment, true},
		{"verdicts", answer_verdicts, true},
		{"keys", answer_keys, true},
		{"stop", answer_stop, false},
	};

	r->control = requests_new(r->loop, fd, kinds, sg_array_len(kinds), r);
	return r->control != NULL;
}
