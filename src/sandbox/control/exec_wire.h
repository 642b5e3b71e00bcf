/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_wire: what is said to `start`, the program that stays within a sandbox and starts commands
 * there.
 *
 * Two kinds of SOCK_SEQPACKET connections end in it. Both are in the octet order of the machine,
 * since both ends are; a message of another size than its struct is no message.
 *
 *	supervisor → start	struct exec_word; EXEC_CLIENT carries one descriptor,
 *				EXEC_HAND and EXEC_GO some
 *	start → supervisor	once, one octet and a pidfd of itself; once, struct exec_news
 *				EXEC_OUTLIVED, when the first command's end is not that of `start`
 *	client → start		struct exec_hello with descriptors, then struct exec_word EXEC_SIGNAL
 *	start → client		struct exec_news; EXEC_PTY carries one descriptor
 *
 * The descriptors of a hello: first a file that holds the texts, `size` octets: the folder to start
 * in (empty: that of the sandbox), the arguments, the variables, each ended by a NUL; then those of
 * standard input, output and error whose bit is set in `passed`. Those whose bit is not set are a
 * new terminal of the sandbox's own, whose other end comes with EXEC_PTY.
 *
 * Linked into `start` as well, which has nothing but a C library.
 */
#ifndef SG_SANDBOX_EXEC_WIRE_H
#define SG_SANDBOX_EXEC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Grows when any struct here changes: client and supervisor may be of two versions of sandgate. */
#define EXEC_MAGIC UINT64_C(0x7367657865630002)

enum { EXEC_TEXT_MAX = 4 << 20, EXEC_WORDS_MAX = 1 << 16, EXEC_STANDARD = 3, EXEC_ALL_PASSED = 7 };

enum exec_word_kind {
	EXEC_GO = 1, /* run the first command, if there is one; `mask` are its blocked signals, the
			descriptors are filters of system calls to load before */
	EXEC_SIGNAL, /* `signo` to the command */
	EXEC_CLIENT, /* the descriptor is a connection of a client */
	EXEC_TERMINATE, /* SIGTERM to all; `start` ends when nothing else runs */
	EXEC_HAND, /* before EXEC_GO: the descriptors are the first command's, from number `signo` on */
};

struct exec_word {
	uint32_t kind;
	int32_t signo;
	uint64_t mask;
};

struct exec_hello {
	uint64_t magic;
	uint32_t size;		/* octets of the texts */
	uint32_t n_args, n_env; /* n_args at least 1 */
	uint32_t passed;	/* bits 0 to 2: that descriptor is among those that came */
	uint32_t holds; /* 1: the sandbox does not end with its first command before this one */
	uint16_t rows, columns; /* of the terminal, where there is one */
};

enum exec_news_kind {
	EXEC_PTY = 1,  /* the command's terminal; before all else */
	EXEC_FAILED,   /* the command could not be run; EXEC_ENDED follows */
	EXEC_ENDED,    /* `value` is a wait status; the last */
	EXEC_REFUSED,  /* `value` is an errno: the hello was not taken; the last */
	EXEC_BEGUN,    /* before the command is forked: without it nothing has been run */
	EXEC_OUTLIVED, /* to the supervisor: `value` is the wait status of the first command */
};

enum exec_step { EXEC_CHDIR = 1, EXEC_RUN, EXEC_TERMINAL, EXEC_INTERPRETER };

struct exec_news {
	uint32_t kind;
	int32_t value; /* EXEC_FAILED: an errno */
	uint32_t step; /* EXEC_FAILED: what failed */
};

enum { EXEC_FDS_MAX = 1 + EXEC_STANDARD };

/* One message with its descriptors. Does not wait. 0 or -errno. */
int exec_send(int to, const void *message, size_t n, const int *fds, int n_fds);

/*
 * One message and the descriptors that came with it, which the caller closes. Its size as recvmsg()
 * has it, or -errno; one that was cut, or whose descriptors were, has the size 0.
 */
ssize_t exec_receive(int from, void *message, size_t n, int fds[EXEC_FDS_MAX], int *n_fds);
void exec_close_all(const int *fds, int n);

struct exec_request {
	const char *cwd; /* "" : the sandbox's own */
	char **argv;	 /* NULL-terminated; both borrow the text */
	char **env;
};

/*
 * Takes the texts of a hello apart; `text` is changed by nobody afterwards. False when they are not
 * what the hello says (or without memory): then nothing is to be freed.
 */
bool exec_request_parse(const struct exec_hello *h, char *text, size_t n, struct exec_request *out);
void exec_request_free(struct exec_request *r);

#endif
