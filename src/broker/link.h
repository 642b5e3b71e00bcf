/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: one socket of a connection, with its TLS when it has one, its codec, and the octets that
 * are on their way between the two.
 */
#ifndef SG_BROKER_LINK_H
#define SG_BROKER_LINK_H

#include "broker/codec.h"
#include "broker/tls.h"
#include "io/loop.h"

/* Octets that one side could not take yet. Memory is there only while some are. */
struct link_kept {
	uint8_t *p;
	size_t at, n; /* n octets from `at` on */
};

struct link {
	struct watch watch;  /* fd is -1 when there is no socket */
	struct tls *tls;     /* NULL: plain */
	struct codec *codec; /* NULL: the handshake is not done, or the link is to be closed */
	struct link_kept in, out;
	bool readable, writable; /* as far as is known: no call has said otherwise */
	bool read_over;		 /* the peer's end was seen */
	bool write_over;	 /* ours was said, or nothing can be sent any more */
	bool broken;		 /* in no good order: nothing more comes of it */
	bool deaf;		 /* what comes is thrown away */
	uint64_t octets;	 /* that were moved, both ways */
	uint64_t received;	 /* of those, that came from the peer */
	uint64_t may_receive;	 /* in all; UINT64_MAX: whatever comes */
	mono_t sent_at;		 /* when the peer last took something */
};

/*
 * Watches the socket, which is the link's from here on, non-blocking. Whatever ends the process or
 * the link before an orderly end resets the connection. 0 or -errno: the socket is closed then.
 */
int link_open(struct link *l, struct loop *loop, int fd, watch_fn *ready) sg_must_check;
/* Notes what the loop said. */
void link_note(struct link *l, uint32_t events);

/* TLS_DONE also without TLS; TLS_WANT_* and TLS_FAILED. */
enum tls_result link_handshake(struct link *l);

/* Octets from the socket into the codec, as many as it takes now. True: something happened. */
bool link_receive(struct link *l);
/*
 * Octets from the codec into the socket; its end when the codec has said all. True: something
 * happened.
 */
bool link_send(struct link *l);

/* There is, or may be, more to receive, and `may_receive` is reached. */
bool link_is_held(const struct link *l);

/* Both ends were seen, or it is broken: it can be closed. */
bool link_is_over(const struct link *l);

/* Frees all of it. The socket is reset unless its orderly end was sent. */
void link_close(struct link *l, struct loop *loop);

/* Closes a socket that became no link, in no good order. */
void link_reset_socket(int fd);

extern const int link_syscalls[];

#endif
