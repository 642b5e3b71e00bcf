/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_host: what the host has beside its kernel: packages, folders, limits, resolver. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "cli/doctor.h"
#include "cli/doctor_program.h"
#include "cli/proc_file.h"
#include "sandbox/engine/bwrap.h"
#include "sandbox/runtime_dir.h"

enum {
	FLOWS = 4096,	     /* the default of limits.flows */
	FILES_A_FLOW = 2,    /* the sandbox's side and the host's */
	FILES_BESIDE = 1792, /* datagrams, pipes in flight, lookups, listeners */
	PIPE_SIZE = 256 * 1024,
	BWRAP_MAJOR = 0,
	BWRAP_MINOR = 8, /* --disable-userns */
};

void doctor_bwrap(struct finding *f)
{
	const char *bwrap = bwrap_find();
	struct program_version v;

	if (!bwrap)
		finding_bad(f, FINDING_MISSING, "apt-get install bubblewrap",
			    "no bwrap that runs is in /usr/bin");
	else if (!doctor_program_version(bwrap, "--version", &v) ||
		 !program_version_is_at_least(&v, BWRAP_MAJOR, BWRAP_MINOR))
		finding_bad(f, FINDING_MISSING, "install bubblewrap 0.8 or later",
			    "%s; 0.8 or later is needed", *v.line ? v.line : bwrap);
	else
		finding_ok(f, "%s", v.line);
}

void doctor_runtime_folder(struct finding *f)
{
	struct registry r;
	struct err e;

	if (registry_open(&r, true, &e)) {
		finding_bad(f, FINDING_MISSING, "a XDG_RUNTIME_DIR that is yours alone", "%s",
			    e.text);
		return;
	}
	finding_ok(f, "%s", r.path);
	registry_close(&r);
}

/* Appends the server of a "nameserver ADDRESS" line, with a space before. */
static void add_server(const char *line, char *out, size_t n)
{
	char server[INET6_ADDRSTRLEN + 16];
	size_t used = strlen(out);

	if (sscanf(line, "nameserver %61s", server) == 1)
		snprintf(out + used, n - used, "%s%s", used ? " " : "", server);
}

void doctor_resolver(struct finding *f)
{
	FILE *file = fopen("/etc/resolv.conf", "re");
	char line[256], servers[256] = "";

	while (file && fgets(line, sizeof(line), file))
		add_server(line, servers, sizeof(servers));
	if (file)
		fclose(file);
	if (*servers)
		finding_ok(f, "/etc/resolv.conf: %s", servers);
	else
		finding_bad(f, FINDING_HINT, "a line \"nameserver ADDRESS\" in /etc/resolv.conf",
			    "/etc/resolv.conf names no server; only names of /etc/hosts resolve");
}

void doctor_ipv6(struct finding *f)
{
	_cleanup_fd_ int s = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		finding_bad(f, FINDING_HINT, "a kernel booted without ipv6.disable=1",
			    "off: IPv6 destinations are unreachable");
	else if (proc_file_is("/proc/sys/net/ipv6/conf/all/disable_ipv6", 1))
		finding_bad(f, FINDING_HINT, "sysctl -w net.ipv6.conf.all.disable_ipv6=0",
			    "disabled on the host's links: IPv6 destinations are unreachable");
	else
		finding_ok(f, "on");
}

void doctor_ping(struct finding *f)
{
	_cleanup_fd_ int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);

	if (s >= 0)
		finding_ok(f, "echo requests can be relayed");
	else
		finding_bad(f, FINDING_HINT, "sysctl -w net.ipv4.ping_group_range='0 2147483647'",
			    "net.ipv4.ping_group_range leaves your group out: no echo is relayed");
}

void doctor_open_files(struct finding *f)
{
	rlim_t need = FLOWS * FILES_A_FLOW + FILES_BESIDE;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		files.rlim_max = 0;
	if (files.rlim_max >= need)
		finding_ok(f, "%llu at most", (unsigned long long)files.rlim_max);
	else
		finding_bad(f, FINDING_HINT, "raise the hard limit \"nofile\", see limits.conf(5)",
			    "%llu at most; %d connections at once take %llu",
			    (unsigned long long)files.rlim_max, FLOWS, (unsigned long long)need);
}

void doctor_pipes(struct finding *f)
{
	long long size = 0, pages = 0, page = sysconf(_SC_PAGESIZE);

	proc_file_numbers("/proc/sys/fs/pipe-max-size", &size, 1);
	proc_file_numbers("/proc/sys/fs/pipe-user-pages-soft", &pages, 1);
	if (size < PIPE_SIZE)
		finding_bad(f, FINDING_HINT, "sysctl -w fs.pipe-max-size=1048576",
			    "pipes hold %lld octets at most: bulk transfers are slower", size);
	else if (pages)
		finding_ok(f, "256 KiB each, %lld of them at once", pages * page / PIPE_SIZE);
	else
		finding_ok(f, "256 KiB each, no limit on all of them");
}
