/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process of frames carries: between a socket and a tap device of a namespace of its own, in
 * which nothing listens, frames of 1,514 octets, each way. `bench_frames stream|dgram`.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "frames/frames.h"

enum { MTU = 1500, FRAME = MTU + 14, FRAMES = 400000, LENGTH = 4, BATCH = 40 };

static const char path[] = "/tmp/sandgate-bench-frames", peer[] = "/tmp/sandgate-bench-monitor";

static int open_tap(void)
{
	struct ifreq r = {.ifr_name = "link0", .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int s, fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		die(1, "no user namespaces");
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &r) < 0)
		die(1, "no tap device");
	r.ifr_flags = IFF_UP;
	if (ioctl(s, SIOCSIFFLAGS, &r) < 0)
		die(1, "the device cannot be set up");
	close(s);
	return fd;
}

static struct sockaddr_un address(const char *p)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strcpy(a.sun_path, p);
	return a;
}

static int bound(int type, const char *p)
{
	struct sockaddr_un a = address(p);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	unlink(p);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die(1, "no socket");
	return fd;
}

static pid_t start(const struct frames_setup *s, int control[2])
{
	pid_t self = getpid(), pid;
	char ready[64];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		die(1, "no socket pair");
	pid = fork();
	if (pid == 0)
		frames_main(s, control[1], self);
	close(control[1]);
	if (recv(control[0], ready, sizeof(ready), 0) <= 0)
		die(1, "it did not start");
	return pid;
}

static int join(enum frames_kind kind)
{
	struct sockaddr_un to = address(path);
	int fd = kind == FRAMES_STREAM ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)
				       : bound(SOCK_DGRAM, peer);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die(1, "it cannot be connected to");
	return fd;
}

static double seconds_since(mono_t t)
{
	return (double)(mono_now().ns - t.ns) / 1e9;
}

static void report(const char *what, uint64_t frames, double seconds)
{
	printf("%-8s %7.0f frames/s  %5.0f MB/s\n", what, (double)frames / seconds,
	       (double)frames * FRAME / seconds / 1e6);
}

/* Of a machine with other work the only number that says something. */
static void report_cost(const struct rusage *used, uint64_t frames)
{
	const struct timeval *u = &used->ru_utime, *s = &used->ru_stime;
	double seconds = (double)(u->tv_sec + s->tv_sec) + (double)(u->tv_usec + s->tv_usec) / 1e6;

	report("by CPU", frames, seconds);
	printf("%-8s %ld KiB at the most\n", "memory", used->ru_maxrss);
}

/* Frames as one monitor writes them: several in a call on a stream, one a datagram. */
static void measure_out(int fd, enum frames_kind kind, const volatile struct frames_counters *c)
{
	static uint8_t octets[BATCH * (LENGTH + FRAME)];
	size_t n = kind == FRAMES_STREAM ? sizeof(octets) : FRAME;
	uint64_t wanted = c->out + FRAMES;
	mono_t begun = mono_now();

	for (size_t i = 0; kind == FRAMES_STREAM && i < BATCH; i++) {
		uint32_t length = htonl(FRAME);

		memcpy(octets + i * (LENGTH + FRAME), &length, LENGTH);
	}
	for (int i = 0; i < FRAMES; i += kind == FRAMES_STREAM ? BATCH : 1)
		if (send(fd, octets, n, 0) != (ssize_t)n)
			die(1, "it takes no more");
	while (c->out < wanted)
		usleep(100);
	report("out", FRAMES, seconds_since(begun));
}

static void send_to_device(void)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_ifindex = (int)if_nametoindex("link0")};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	uint8_t frame[FRAME] = {0};

	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die(1, "no packet socket");
	for (;;)
		(void)!send(fd, frame, sizeof(frame), 0);
}

/* As many as get through while somebody sends as fast as he can. */
static void measure_in(int fd, enum frames_kind kind, const volatile struct frames_counters *c)
{
	static uint8_t octets[256 * 1024];
	uint64_t before = c->in, wanted = before + FRAMES;
	pid_t sender = fork();
	mono_t begun = mono_now();

	if (sender == 0)
		send_to_device();
	while (c->in < wanted)
		if (recv(fd, octets, sizeof(octets), 0) <= 0)
			die(1, "it has gone");
	report("in", c->in - before, seconds_since(begun));
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
}

int main(int argc, char **argv)
{
	enum frames_kind kind =
		argc > 1 && strcmp(argv[1], "dgram") == 0 ? FRAMES_DGRAM : FRAMES_STREAM;
	struct frames_setup s = {.kind = kind, .tap = open_tap(), .mtu = MTU};
	struct rusage used;
	int control[2], fd;
	pid_t pid;

	s.counters = mmap(NULL, sizeof(*s.counters), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s.socket = bound(kind == FRAMES_STREAM ? SOCK_STREAM : SOCK_DGRAM, path);
	if (kind == FRAMES_STREAM && listen(s.socket, 1) < 0)
		die(1, "it cannot listen");
	pid = start(&s, control);
	fd = join(kind);
	measure_out(fd, kind, s.counters);
	measure_in(fd, kind, s.counters);
	close(control[0]);
	if (wait4(pid, NULL, 0, &used) == pid)
		report_cost(&used, s.counters->out + s.counters->in);
	unlink(path);
	unlink(peer);
	return 0;
}
