/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: one event of a sandbox's network, of fixed size, on its way from the gate or the broker
 * to the sealer; and the ring in shared memory that carries it (ring.c), one for each of the two.
 *
 * The one writes, the sealer reads; neither waits for the other. Gate and broker are the processes
 * that read the sandbox's octets, so the sealer copies a record out before it looks at it, and
 * checks every field. The totals in the shared memory count every event, whether its record found room or
 * not, and live as long as the file behind them: they are exact across the death of any of the
 * processes.
 */
#ifndef SG_AUDIT_RECORD_H
#define SG_AUDIT_RECORD_H

#include "base/addr.h"
#include "base/name.h"
#include "base/span.h"
#include "policy/decide.h"

enum record_kind {
	RECORD_ALLOW, /* admitted: a flow opened, a lookup answered, a request passed */
	RECORD_DENY,  /* refused */
	RECORD_END,   /* an admitted flow has ended: octets and duration are known */
	RECORD_KINDS,
};

enum record_proto { /* the `proto` word of the logs */
		    RECORD_TCP,
		    RECORD_UDP,
		    RECORD_ICMP,
		    RECORD_DNS,
		    RECORD_HTTP,
		    RECORD_CONNECT,
		    RECORD_SOCKS,
		    RECORD_QUIC,
		    RECORD_IP, /* any other protocol over IP */
		    RECORD_PROTOS,
};

enum {
	RECORD_METHOD_MAX = 24,
	RECORD_PATH_MAX = 256,
	RECORD_RULE_MAX = 160,
	RECORD_PERMISSION_MAX = 40,
	RECORD_CREDENTIAL_MAX = 160,
};

/* All text is NUL-terminated printable ASCII, cut when longer. */
struct record {
	int64_t time_ms; /* of the wall clock, since 1970 */
	uint64_t generation;
	uint64_t bytes_out,
		bytes_in; /* RECORD_END, and of a request that the broker carried; else 0 */
	uint64_t duration_ms;
	uint8_t kind, proto;
	uint8_t reason; /* enum reason */
	bool has_name, has_addr;
	uint16_t port;
	uint16_t status; /* of an HTTP answer; 0: not seen */
	struct addr addr;
	struct name name;
	char method[RECORD_METHOD_MAX];
	char path[RECORD_PATH_MAX]; /* without its query */
	char rule[RECORD_RULE_MAX]; /* empty: none */
	/* That the rule stands for; of a refused request the one that would admit it. */
	char permission[RECORD_PERMISSION_MAX];
	/* That the request was sent with: its place, "Authorization at api.example.com"; empty. */
	char credential[RECORD_CREDENTIAL_MAX];
};

/* Cumulative, of the sandbox's whole life; only ever grow. Written by the ring's writer alone. */
struct record_totals {
	uint64_t refused[REASONS]; /* by enum reason */
	uint64_t allowed;	   /* RECORD_ALLOW */
	uint64_t ended;		   /* RECORD_END */
	uint64_t missed;	   /* records that found no room in the ring, of any kind */
	uint64_t missed_refused[REASONS];
	uint64_t with_credential; /* of `allowed`, those that have one */
};

struct ring;

/* Octets of the file behind a ring. */
size_t ring_size(void);

/*
 * Maps the file `fd`, growing it to ring_size(). Of a file that an earlier version made the totals
 * go on, and records that were not taken are in them; with other contents, or of a later version,
 * it is an error, errno EBADMSG. Both ends call it. The mapping is shared, and survives fork.
 */
struct ring *ring_map(int fd, struct err *e);
void ring_unmap(struct ring *r);

/*
 * The writer's end. Never waits and makes no system call but a wake-up (eventfd write) when the
 * sealer sleeps. Counts in the totals first. `wake` is an eventfd, or -1. NULL r: nothing is kept.
 */
void ring_put(struct ring *r, int wake, const struct record *what);

/*
 * No writer lives and none is being started: a put that the last one was killed in is over. Before
 * every start of a writer.
 */
void ring_mend(struct ring *r);

/*
 * No writer lives: raises refusals, what was allowed, and of that what had a credential, to at
 * least these totals, which a log has. A file that was begun anew, or that a power cut set back,
 * counts on from there.
 */
void ring_raise(struct ring *r, const struct record_totals *least);

/* The sealer's end: copies out the next record; false when there is none. */
bool ring_take(struct ring *r, struct record *out);
/* How many were ever taken, over the life of the file. */
uint64_t ring_taken(const struct ring *r);
/* Announces that the sealer is about to sleep; false: there is something, do not. */
bool ring_may_sleep(struct ring *r);
void ring_read_totals(const struct ring *r, struct record_totals *out);
/*
 * The totals as of a moment between two puts, and how many records had ever been put by then: what
 * they count is among those, or found no room, or was lost with a writer. False: a put was under way.
 */
bool ring_read_settled(const struct ring *r, struct record_totals *out, uint64_t *put);

/* Into a text of a record: what is not printable ASCII becomes '?'; a path loses its query. */
void record_put_text(char *out, size_t size, struct span text);
void record_put_path(char *out, size_t size, struct span path);

/* Is every field within its bounds and all text printable? For what ring_take() gave. */
bool record_valid(const struct record *r);
const char *record_proto_word(enum record_proto p);

#endif
