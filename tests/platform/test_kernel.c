/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the kernel that sandgate relies on and no other test shows by itself: one test a
 * fact, so that a kernel that changes one fails by its name.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lock.h"
#include "toy_gate.h"

/* A connected pair over the loopback of the test's own namespace. */
static void tcp_pair(int out[2])
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(9)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	rig_sh("ip link set lo up");
	CHECK(bind(listener, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(listener, 1) == 0);
	out[0] = rig_connect("127.0.0.1", 9);
	out[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(out[0] >= 0 && out[1] >= 0);
	close(listener);
}

/* When the gate dies, a cut upload must not look like a finished one. */
static void linger_zero_resets_at_death(void)
{
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	int pair[2];
	pid_t owner;
	char c;

	tcp_pair(pair);
	owner = rig_fork();
	if (owner == 0) {
		close(pair[0]);
		CHECK(setsockopt(pair[1], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0);
		CHECK(write(pair[1], "x", 1) == 1);
		pause();
	}
	close(pair[1]);
	CHECK(read(pair[0], &c, 1) == 1);
	rig_kill(owner);
	CHECK(read(pair[0], &c, 1) == -1 && errno == ECONNRESET);
}

/* Peeking leaves the data; MSG_TRUNC without a buffer throws it away, which recv(2) says of TCP. */
static void tcp_peeks_and_discards(void)
{
	int pair[2];
	char got[8];

	tcp_pair(pair);
	CHECK(send(pair[0], "abcdef", 6, 0) == 6);
	CHECK(recv(pair[1], got, sizeof(got), MSG_PEEK) == 6);
	CHECK(recv(pair[1], NULL, 4, MSG_TRUNC) == 4);
	CHECK(recv(pair[1], got, sizeof(got), 0) == 2 && memcmp(got, "ef", 2) == 0);
}

/* The pool of pipes: 64 of 256 KiB each stay below what an ordinary user may have in all. */
static void pipes_of_256_kib(void)
{
	int ends[2];

	for (int i = 0; i < 64; i++) {
		CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
		CHECK(fcntl(ends[0], F_SETPIPE_SZ, 256 * 1024) == 256 * 1024);
	}
}

/* Bytes go from socket to pipe to socket without a copy, and half-closed is the end of file. */
static void tcp_splices(void)
{
	int from[2], ends[2], fd;
	char got[8];

	tcp_pair(from);
	CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
	CHECK(send(from[0], "abc", 3, 0) == 3 && shutdown(from[0], SHUT_WR) == 0);
	/* All of it has come over. */
	CHECK(poll(&(struct pollfd){from[1], POLLRDHUP, 0}, 1, RIG_PATIENT_MS) == 1);
	CHECK(splice(from[1], NULL, ends[1], NULL, 4096, SPLICE_F_NONBLOCK) == 3);
	CHECK(splice(ends[0], NULL, from[1], NULL, 3, SPLICE_F_NONBLOCK) == 3);
	CHECK(splice(from[1], NULL, ends[1], NULL, 4096, SPLICE_F_NONBLOCK) == 0);
	CHECK(recv(from[0], got, sizeof(got), 0) == 3);
	fd = from[0];
	close(fd);
}

/* Landlock, where it is, takes files away from an ordinary process for good. */
static void landlock_takes_files_away(void)
{
	const uint64_t handled = (1 << 13) - 1;
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1), ruleset;

	if (abi < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return;
	CHECK(abi >= 1);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	CHECK(ruleset >= 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0);
	CHECK(open("/proc/version", O_RDONLY) == -1 && errno == EACCES);
}

/*
 * The gate's descriptors name their namespace to its owner, but to enter it takes a privilege that
 * an ordinary process has not. (It could get it by entering the user namespace first, as the owner
 * may: that is what the gate's list of system calls is for.)
 */
static void descriptors_do_not_lead_back(void)
{
	int netns;

	lock_open(false);
	netns = ioctl(lock.gate.listen_v4, SIOCGSKNS);
	CHECK(netns >= 0);
	CHECK(setns(netns, CLONE_NEWNET) == -1 && errno == EPERM);
	CHECK(setns(lock.sandbox_netns, CLONE_NEWNET) == -1 && errno == EPERM);
	airlock_close(&lock);
}

/* From inside, as its root: no way to the keeper but a signal, which a PID namespace stops. */
static void try_the_keeper(void)
{
	char path[64];
	int fd;

	CHECK(ptrace(PTRACE_SEIZE, lock.keeper, NULL, NULL) == -1 && errno == EPERM);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", lock.keeper, i ? "net" : "user");
		fd = open(path, O_RDONLY);
		CHECK(fd == -1 || setns(fd, 0) == -1);
	}
	CHECK(setns(lock.keeper_pidfd, CLONE_NEWUSER) == -1);
	CHECK(setns(lock.keeper_pidfd, CLONE_NEWNET) == -1);
	CHECK(kill(lock.keeper, 0) == 0);
}

static void nested_userns_keeps_ptrace_out(void)
{
	lock_open(false);
	CHECK(lock_inside(try_the_keeper) == 0);
	airlock_close(&lock);
}

/* Keep-alives of the sandbox are answered in the airlock, so the gate needs its own outside. */
static void idle_with_keepalives(void)
{
	int fd = rig_connect(WORLD_V4, 443), one = 1;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	CHECK(fd >= 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) == 0);
	CHECK(setsockopt(fd, SOL_TCP, TCP_KEEPIDLE, &one, sizeof(one)) == 0);
	CHECK(setsockopt(fd, SOL_TCP, TCP_KEEPINTVL, &one, sizeof(one)) == 0);
	CHECK(setsockopt(fd, SOL_TCP, TCP_KEEPCNT, &one, sizeof(one)) == 0);
	CHECK(write(STDOUT_FILENO, "x", 1) == 1);
	CHECK(poll(&p, 1, 3500) == 0);
}

static void keepalives_end_at_the_airlock(void)
{
	int ready[2];
	pid_t gate, inside;
	char c;

	lock_open(false);
	gate = toy_gate_start(&lock.gate, -1);
	CHECK(pipe(ready) == 0);
	inside = rig_fork();
	if (inside == 0) {
		CHECK(dup2(ready[1], STDOUT_FILENO) >= 0);
		_exit(lock_inside(idle_with_keepalives));
	}
	CHECK(read(ready[0], &c, 1) == 1);
	CHECK(kill(gate, SIGSTOP) == 0);
	CHECK(rig_wait(inside) == 0);
	airlock_close(&lock);
}

static void run_in_netns(void **state)
{
	assert_int_equal(rig_run_in_netns((rig_body *)*state), 0);
}

/*
 * What the gate reads a policy from: sealed, nobody who has the file can change or cut it, so that
 * a mapping of it stays as it is; and seals tell a memory file from anything else.
 */
static void sealed_memory_stays_as_it_is(void)
{
	const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING), other[2];
	char *p;

	CHECK(write(fd, "policy", 6) == 6);
	CHECK(fcntl(fd, F_ADD_SEALS, seals) == 0 && fcntl(fd, F_GET_SEALS) == seals);
	p = mmap(NULL, 6, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM);
	CHECK(ftruncate(fd, 0) < 0 && errno == EPERM);
	CHECK(ftruncate(fd, 100) < 0 && errno == EPERM);
	CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 6) < 0);
	CHECK(mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
	CHECK(memcmp(p, "policy", 6) == 0 && lseek(fd, 0, SEEK_END) == 6);
	CHECK(pipe(other) == 0 && fcntl(other[0], F_GET_SEALS) < 0 && errno == EINVAL);
	CHECK(fcntl(open("/dev/null", O_RDONLY | O_CLOEXEC), F_GET_SEALS) < 0 && errno == EINVAL);
}

/* What a gate counts: written by one that is killed, read by the next. */
static void shared_memory_outlives_its_writer(void)
{
	uint64_t *n =
		mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(n != MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		pid_t writer = rig_fork();

		if (writer == 0) {
			*n += 20;
			raise(SIGKILL);
		}
		CHECK(waitpid(writer, NULL, 0) == writer);
	}
	CHECK(*n == 40);
}

AS_USER(sealed_memory_stays_as_it_is)
AS_USER(shared_memory_outlives_its_writer)
AS_USER(pipes_of_256_kib)
AS_USER(landlock_takes_files_away)
AS_USER(descriptors_do_not_lead_back)
AS_USER(nested_userns_keeps_ptrace_out)
AS_USER(keepalives_end_at_the_airlock)

#define IN_NETNS(body)                                                                    \
	{                                                                                 \
		.name = #body, .test_func = run_in_netns, .initial_state = (void *)(body) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_NETNS(linger_zero_resets_at_death),
		IN_NETNS(tcp_peeks_and_discards),
		IN_NETNS(tcp_splices),
		cmocka_unit_test(sealed_memory_stays_as_it_is_as_user),
		cmocka_unit_test(shared_memory_outlives_its_writer_as_user),
		cmocka_unit_test(pipes_of_256_kib_as_user),
		cmocka_unit_test(landlock_takes_files_away_as_user),
		cmocka_unit_test(descriptors_do_not_lead_back_as_user),
		cmocka_unit_test(nested_userns_keeps_ptrace_out_as_user),
		cmocka_unit_test(keepalives_end_at_the_airlock_as_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
