/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: the client and server programs of the bench, one binary with commands.
 *
 * A client command prints "ready", waits for a line on standard input, measures,
 * prints one JSON object on a line, and ends when standard input does: so the
 * bench reads the CPU time of the program in between right before and after.
 */
#ifndef SG_BENCH_LOAD_H
#define SG_BENCH_LOAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TCP and UDP ports of `load serve`. */
enum {
	PORT_DNS = 53,	      /* answers every A question with one address */
	PORT_HTTP = 80,	      /* one small answer, then the server closes */
	PORT_SINK = 9001,     /* reads to the end, then tells the count in 8 octets */
	PORT_SOURCE = 9002,   /* writes until the client closes */
	PORT_ECHO = 9003,     /* answers what it reads */
	PORT_DATAGRAMS = 9004 /* counts datagrams; see datagrams.c */
};

/* Ends with a message. */
void load_fail(const char *what) __attribute__((noreturn));

/* A number in the arguments, or the end. */
unsigned long load_number(const char *text, unsigned long max);

uint64_t load_now_ns(void);

/* An IPv4 address or a name, which is looked up. */
struct sockaddr_in load_address(const char *host, uint16_t port);

/* A connected socket, TCP without delay; or ends. */
int load_connect(const struct sockaddr_in *to);

/* A bound socket of this type, TCP listening. */
int load_bind(int type, const char *host, uint16_t port);

/* Writes all or ends. */
void load_write(int fd, const void *p, size_t n);

/* "ready" and the line that starts the measurement; the time then. */
uint64_t load_start(void);

/* Waits for the end of standard input. */
void load_wait(void);

/* Durations, for their percentiles. */
struct samples {
	uint32_t *ns;
	size_t n, cap;
};

void samples_add(struct samples *s, uint64_t ns);

/* Sorts. In microseconds; `share` 0..1. 0 when there are none. */
double samples_percentile(struct samples *s, double share);

/* The commands; argv begins after the command's word. */
void load_serve(char **argv);
void load_requests(char **argv);
void load_bulk(char **argv);
void load_round_trips(char **argv);
void load_connects(char **argv);
void load_datagrams(char **argv);
void load_questions(char **argv);
void load_flows(char **argv);
void load_beside(char **argv);
void load_refused(char **argv);

/* The servers for port 53 and PORT_DATAGRAMS; they do not return. */
void serve_dns(const char *host);
void serve_datagrams(const char *host);

#endif
