/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rig: what the platform tests have in common.
 *
 * A test's body runs in a process of its own, in namespaces of its own, and says what is wrong
 * by CHECK; the cmocka test is that the body ends with 0. Nothing outlives the body: its
 * children die with it.
 */
#ifndef SG_TESTS_PLATFORM_RIG_H
#define SG_TESTS_PLATFORM_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"

/* Ends the process with the place and errno when the condition does not hold. */
#define CHECK(condition)                                          \
	do {                                                      \
		if (!(condition))                                 \
			rig_fail(__FILE__, __LINE__, #condition); \
	} while (0)

void rig_fail(const char *file, int line, const char *what) sg_noreturn;

/* How long is waited for what has to come: nothing for a machine that does other things too. */
enum { RIG_PATIENT_MS = 20000 };

/* A test's body. */
typedef void rig_body(void);

/* Runs the body in a child; 0 when it passed. A body that takes longer than 60 s has failed. */
int rig_run(rig_body *body);
/* The same in new user and network namespaces, as their root. */
int rig_run_in_netns(rig_body *body);
/* The same as an ordinary user: 1000, with /dev/net/tun for everyone, or who runs the test. */
int rig_run_as_user(rig_body *body);

/* A child that dies with its parent; 0 in the child. */
pid_t rig_fork(void);
/* Waits for it; its exit status, or 128 + the signal. */
int rig_wait(pid_t pid);
void rig_kill(pid_t pid);

/* Into new namespaces (CLONE_NEW*), as root of a new user namespace that owns them. */
void rig_enter_userns(int flags);
/* Root gets a /dev/net of its own, with the tun device in this mode. */
void rig_own_tun(unsigned mode);
/* Root becomes the ordinary user, for good. */
void rig_become_ordinary(void);

void rig_write(const char *path, const char *text);
/* Of a folder, "." and ".." included. */
int rig_count_entries(const char *path);
/* Runs a command by sh; CHECKs that it succeeds. */
void rig_sh(const char *command);

/* RFC 1071 over n octets, with `sum` to begin with; in network order, ready to store. */
uint16_t rig_checksum(const void *p, size_t n, uint32_t sum);

/* A blocking TCP socket connected to text:port; -1 with errno. Waits at most 3 s. */
int rig_connect(const char *text, uint16_t port);
int rig_connect_from(const char *text, uint16_t port, uint16_t source_port);
/* How often a segment of this connection had to be sent again: after the connect, the SYN's count.
 */
unsigned rig_sent_again(int fd);
/* True when what is sent comes back within 3 s. Makes the socket blocking. */
bool rig_echoes(int fd, size_t n);

int64_t rig_ms(void);

#endif
