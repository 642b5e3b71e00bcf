/* SPDX-License-Identifier: Apache-2.0 */
#include "cni/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "audit/digest.h"
#include "base/clock.h"
#include "sandbox/state_dir.h"

enum { STEP_MS = 10 };

static const char file_name[] = "cni.lock";

/* By a digest: nobody finds a name that is in another's way. */
static off_t place_of(const char *name)
{
	const struct span text = span_of_string(name);
	struct digest d = digest_of(&text, 1);
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(n); i++)
		n = n << 8 | d.b[i];
	/* An end beyond the largest off_t is no range (fcntl(2), EOVERFLOW). */
	return (off_t)(n >> 2);
}

static int open_file(struct err *e)
{
	_cleanup_fd_ int folder = state_dir_open(true, e);
	int fd;

	if (folder < 0)
		return -1;
	fd = openat(folder, file_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
	return fd < 0 ? err_set(e, "%s: %s", file_name, err_why(errno)) : fd;
}

/* 0 or -errno: -EAGAIN when another has it. */
static int lock(int file, const char *name, int ms)
{
	struct flock one = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place_of(name), .l_len = 1};
	struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	mono_t end = mono_add_ms(mono_now(), ms);

	while (fcntl(file, F_OFD_SETLK, &one) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return -errno;
		if (!mono_before(mono_now(), end))
			return -EAGAIN;
		nanosleep(&step, NULL);
	}
	return 0;
}

enum cni_code cni_turn_take(const char *name, int ms, int *held, struct err *e)
{
	int rc;

	*held = open_file(e);
	if (*held < 0)
		return CNI_IO;
	rc = lock(*held, name, ms);
	if (rc == 0)
		return CNI_OK;
	close(*held);
	*held = -1;
	if (rc != -EAGAIN) {
		err_set(e, "%s: %s", file_name, err_why(-rc));
		return CNI_IO;
	}
	err_set(e, "another ADD or DEL of it is under way (sandbox %s); try again", name);
	return CNI_TRY_AGAIN;
}

void cni_turn_give(int held)
{
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	if (held < 0)
		return;
	fcntl(held, F_OFD_SETLK, &all);
	close(held);
}
