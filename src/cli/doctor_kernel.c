/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_kernel: what the kernel gives, each tried once. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "airlock/airlock.h"
#include "cli/doctor.h"
#include "cli/proc_file.h"

enum { KERNEL_MAJOR = 5, KERNEL_MINOR = 15 };

void doctor_kernel(struct finding *f)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		finding_ok(f, "Linux %s", u.release);
	else
		finding_bad(f, FINDING_MISSING, "install a newer kernel",
			    "Linux %s; 5.15 or later is needed", u.release);
}

/* The settings that forbid user namespaces to a person, by distribution. */
static const struct knob {
	const char *path;
	long long forbids; /* the value that does */
	const char *name, *fix;
} knobs[] = {
	{"/proc/sys/user/max_user_namespaces", 0, "user.max_user_namespaces is 0",
	 "sysctl -w user.max_user_namespaces=10000"},
	{"/proc/sys/user/max_net_namespaces", 0, "user.max_net_namespaces is 0",
	 "sysctl -w user.max_net_namespaces=10000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", 0, "kernel.unprivileged_userns_clone is 0",
	 "sysctl -w kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
	 "kernel.apparmor_restrict_unprivileged_userns is 1",
	 "give sandgate an AppArmor profile with \"userns,\", or sysctl -w "
	 "kernel.apparmor_restrict_unprivileged_userns=0"},
};

/*
 * In a child: namespaces as the airlock's, and one act that needs a capability there. AppArmor may
 * grant the namespace and withhold the capability.
 */
static int try_namespaces(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int s;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return errno;
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &lo))
		return errno;
	return 0;
}

/* 0, or the errno of what was refused. */
static int try_in_child(int (*what)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(what());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

void doctor_user_namespaces(struct finding *f)
{
	int failed = try_in_child(try_namespaces);

	if (!failed) {
		finding_ok(f, "a user and a network namespace can be made");
		return;
	}
	for (size_t i = 0; i < sg_array_len(knobs); i++)
		if (proc_file_is(knobs[i].path, knobs[i].forbids)) {
			finding_bad(f, FINDING_MISSING, knobs[i].fix, "%s (%s)", knobs[i].name,
				    strerror(failed));
			return;
		}
	finding_bad(
		f, FINDING_MISSING,
		"in a container: start it with seccomp and AppArmor profiles that allow unshare; "
		"in a chroot the kernel allows none",
		"the kernel refuses user namespaces (%s)", strerror(failed));
}

void doctor_tun(struct finding *f)
{
	_cleanup_fd_ int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		finding_ok(f, "/dev/net/tun opens");
	else if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
		finding_bad(f, FINDING_MISSING,
			    "modprobe tun; in a container: --device /dev/net/tun",
			    "/dev/net/tun is not there (%s)", strerror(errno));
	else
		finding_bad(f, FINDING_MISSING, "chmod 0666 /dev/net/tun, as udev does by itself",
			    "/dev/net/tun does not open (%s)", strerror(errno));
}

/* A message is "what: why; what to do". */
static void split_message(const char *text, struct finding *f)
{
	const char *fix = strstr(text, "; ");
	int n = fix ? (int)(fix - text) : (int)strlen(text);

	finding_bad(f, FINDING_MISSING, fix ? fix + 2 : "", "%.*s", n, text);
}

void doctor_airlock(struct finding *f)
{
	struct airlock_config c = {.uid = getuid(), .gid = getgid()};
	struct airlock a;
	struct err e;

	if (airlock_open(&c, &a, &e)) {
		split_message(e.text, f);
		return;
	}
	airlock_close(&a);
	finding_ok(f, "one was made: namespaces, link, tun, nft rules with tproxy, listeners");
}

void doctor_seccomp(struct finding *f)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		finding_ok(f, "filters can be set");
	else
		finding_bad(f, FINDING_MISSING, "a kernel with CONFIG_SECCOMP_FILTER",
			    "no filter can be set (%s)", strerror(errno));
}

void doctor_landlock(struct finding *f)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi > 0)
		finding_ok(f, "version %ld", abi);
	else
		finding_bad(f, FINDING_HINT,
			    "a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in the boot "
			    "parameter lsm=",
			    "off (%s): the gate is confined by seccomp alone", strerror(errno));
}
