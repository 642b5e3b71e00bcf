/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_engines: what else than bubblewrap a sandbox can be made with here: containers, by whom, and
 * virtual machines. None is required; what is missing or too old is a hint with the package.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/doctor_program.h"
#include "sandbox/engine/kvm.h"

#if defined(__aarch64__)
#define QEMU	     "qemu-system-aarch64"
#define QEMU_PACKAGE "qemu-system-arm"
#else
#define QEMU	     "qemu-system-x86_64"
#define QEMU_PACKAGE "qemu-system-x86"
#endif

/* The oldest that it is tested with. */
struct engine_program {
	const char *program, *package;
	int major, minor;
};

static const struct engine_program podman = {"podman", "podman", 4, 3};
static const struct engine_program dockerd = {"dockerd", "docker.io", 20, 10};
static const struct engine_program containerd = {"containerd", "containerd", 1, 6};
static const struct engine_program qemu = {QEMU, QEMU_PACKAGE, 7, 2};

static void look_for(const struct engine_program *p, struct finding *f)
{
	char path[PROGRAM_PATH_MAX], fix[FINDING_TEXT_MAX];
	struct program_version v;

	snprintf(fix, sizeof(fix), "apt-get install %s", p->package);
	if (!doctor_find_program(p->program, path)) {
		finding_bad(f, FINDING_HINT, fix, "%s is not installed", p->program);
		return;
	}
	if (doctor_program_version(path, "--version", &v) &&
	    program_version_is_at_least(&v, p->major, p->minor)) {
		finding_ok(f, "%s", v.line);
		return;
	}
	snprintf(fix, sizeof(fix), "install %s %d.%d or later", p->package, p->major, p->minor);
	finding_bad(f, FINDING_HINT, fix, "%s; %d.%d or later is needed", *v.line ? v.line : path,
		    p->major, p->minor);
}

void doctor_podman(struct finding *f)
{
	look_for(&podman, f);
}

void doctor_docker(struct finding *f)
{
	look_for(&dockerd, f);
}

void doctor_containerd(struct finding *f)
{
	look_for(&containerd, f);
}

void doctor_qemu(struct finding *f)
{
	look_for(&qemu, f);
}

/* Whether a line "NAME:FIRST:COUNT" is this person's, by name or number (subuid(5)). */
static bool is_range_of(const char *line, const char *name, uid_t uid)
{
	char owner[128], number[16];
	unsigned long first, count;

	snprintf(number, sizeof(number), "%u", uid);
	return sscanf(line, "%127[^:]:%lu:%lu", owner, &first, &count) == 3 && count > 0 &&
	       (strcmp(owner, name) == 0 || strcmp(owner, number) == 0);
}

static bool has_range(const char *path, const char *name, uid_t uid)
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = is_range_of(line, name, uid);
	if (file)
		fclose(file);
	return found;
}

/* Without them a container has one user, root, and most images do not unpack. */
void doctor_podman_rootless(struct finding *f)
{
	const struct passwd *who = getpwuid(getuid());
	const char *name = who ? who->pw_name : "";
	char path[PROGRAM_PATH_MAX], fix[FINDING_TEXT_MAX];

	if (getuid() == 0) {
		finding_ok(f, "not needed: you are root");
		return;
	}
	if (!doctor_find_program("newuidmap", path) || !doctor_find_program("newgidmap", path)) {
		finding_bad(f, FINDING_HINT, "apt-get install uidmap",
			    "newuidmap or newgidmap is not installed");
		return;
	}
	if (has_range("/etc/subuid", name, getuid()) && has_range("/etc/subgid", name, getuid())) {
		finding_ok(f, "%s has users and groups of /etc/subuid and /etc/subgid", name);
		return;
	}
	snprintf(fix, sizeof(fix),
		 "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s", name);
	finding_bad(f, FINDING_HINT, fix, "%s has no range in /etc/subuid and /etc/subgid", name);
}

/* Whether anybody accepts at a UNIX socket: 0 or -errno. A file alone may be of a driver that died. */
static int try_socket(const char *path)
{
	_cleanup_fd_ int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	return s < 0 || connect(s, (struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
}

/* A person outside of root's group may not know; who may speak to dockerd may make networks. */
void doctor_docker_driver(struct finding *f)
{
	static const char path[] = "/run/docker/plugins/sandgate.sock";
	int failed = try_socket(path);

	if (failed == 0)
		finding_ok(f, "listens at %s", path);
	else if (failed == -EACCES)
		finding_ok(f, "%s is root's: ask as root whether somebody listens there", path);
	else
		finding_bad(f, FINDING_HINT, "start it, as root: sandgate docker-driver",
			    "nobody listens at %s (%s): Docker's networks cannot have the driver "
			    "sandgate",
			    path, strerror(-failed));
}

/* Where runtimes look for plugins: the folder of the specification's examples, and Debian's. */
void doctor_cni(struct finding *f)
{
	static const char *const folders[] = {"/opt/cni/bin", "/usr/lib/cni"};
	char path[PROGRAM_PATH_MAX];

	for (size_t i = 0; i < sg_array_len(folders); i++) {
		snprintf(path, sizeof(path), "%s/sandgate", folders[i]);
		if (access(path, X_OK) == 0) {
			finding_ok(f, "%s", path);
			return;
		}
	}
	finding_bad(
		f, FINDING_HINT,
		"ln -s \"$(command -v sandgate)\" /opt/cni/bin/sandgate, or where your runtime's "
		"bin_dir is",
		"no plugin \"sandgate\" in /opt/cni/bin or /usr/lib/cni");
}

void doctor_kvm(struct finding *f)
{
	struct err why;

	if (kvm_check(&why) == 0)
		finding_ok(f, KVM_DEVICE " gives guests a whole processor");
	else
		finding_bad(f, FINDING_HINT,
			    "hardware virtualisation, on in the firmware, and the group kvm; until "
			    "then QEMU emulates, many times slower",
			    "%s", why.text);
}
