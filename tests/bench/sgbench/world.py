# SPDX-License-Identifier: Apache-2.0
"""The namespaces of the bench and its far side.

    sgbench-host     where sandgate, pasta, slirp4netns and the proxies run, as on a person's machine
    sgbench-internet the far side: one public-looking address with all servers
    sgbench-nat      a router that masquerades: the kernel's own way, the practical limit
    sgbench-client   behind the router; linked to the host as well, to use the proxies there

The host has no NAT of its own, so that connection tracking costs none of the programs anything.
What sandgate keeps of its sandboxes is kept in folders of the bench's own: those of the machine may
have sandboxes of the same names, and a log to which nothing must be added.
"""
import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

SERVER = "93.184.216.34"
SERVER_NAME = "bench.example"
PROXY_HOST = "10.78.0.1"

HOST, INTERNET, NAT, CLIENT = (f"sgbench-{n}" for n in ("host", "internet", "nat", "client"))

# Each link: two ends of (namespace, device, address).
LINKS = (
    ((HOST, "wan", "93.184.10.1/24"), (INTERNET, "host", "93.184.10.2/24")),
    ((NAT, "wan", "93.184.20.1/24"), (INTERNET, "nat", "93.184.20.2/24")),
    ((NAT, "lan", "10.77.0.1/24"), (CLIENT, "nat", "10.77.0.2/24")),
    ((HOST, "lan", PROXY_HOST + "/24"), (CLIENT, "host", "10.78.0.2/24")),
)
ROUTES = ((HOST, "93.184.10.2"), (NAT, "93.184.20.2"), (CLIENT, "10.77.0.1"))

# A client that opens connections as fast as it can must not run out of ports.
SYSCTLS = ("net.ipv4.ip_local_port_range=1024 65535", "net.ipv4.tcp_tw_reuse=1")

CLONE_NEWNS = 0x20000
KEPT_BY_ROOT = ("/etc/sandgate", "/run/sandgate", "/var/lib/sandgate")

MASQUERADE = """
table ip sgbench {
    chain out { type nat hook postrouting priority srcnat; oifname "wan" masquerade; }
}
"""


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def in_namespace(namespace, *command):
    return ["ip", "netns", "exec", namespace, *map(str, command)]


class OwnFolders:
    """In the place of those that the machine has, for this process and what it starts."""

    def __init__(self, under):
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "a mount namespace of the bench's own")
        run("mount", "--make-rprivate", "/")
        self.made = [folder for folder in KEPT_BY_ROOT if not os.path.isdir(folder)]
        for folder in KEPT_BY_ROOT:
            # What a bench that was killed leaves keeps nobody from reading settings.
            os.makedirs(folder, mode=0o755 if folder.startswith("/etc") else 0o700, exist_ok=True)
            own = under / folder.replace("/", "-")
            own.mkdir(mode=0o700)
            run("mount", "--bind", own, folder)
        run("mount", "-t", "tmpfs", "shm", "/dev/shm")  # a squid that was killed leaves files there

    def close(self):
        run("umount", "--lazy", "/dev/shm")
        for folder in KEPT_BY_ROOT:
            run("umount", "--lazy", folder)
        for folder in self.made:
            os.rmdir(folder)


class World:
    """Made on entry, gone on exit."""

    def __init__(self, build):
        self.sandgate = build / "sandgate"
        self.load = build / "tests/bench/load"
        self.build = build
        self.folder = None
        self.own_folders = None
        self.server = None

    def __enter__(self):
        self.remove_namespaces()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sgbench-"))
        try:
            self.own_folders = OwnFolders(self.folder)
            self.make_namespaces()
            self.start_server()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.stdin.close()
            self.server.wait()
        self.remove_namespaces()
        if self.own_folders:
            self.own_folders.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def make_namespaces(self):
        for namespace in (HOST, INTERNET, NAT, CLIENT):
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
            for setting in SYSCTLS:
                run(*in_namespace(namespace, "sysctl", "-qw", setting))
        for (a, a_device, a_address), (b, b_device, b_address) in LINKS:
            run("ip", "link", "add", a_device, "netns", a, "type", "veth",
                "peer", "name", b_device, "netns", b)
            for namespace, device, address in ((a, a_device, a_address), (b, b_device, b_address)):
                run("ip", "-n", namespace, "address", "add", address, "dev", device)
                run("ip", "-n", namespace, "link", "set", device, "up")
        run("ip", "-n", INTERNET, "address", "add", SERVER + "/32", "dev", "lo")
        for namespace, gateway in ROUTES:
            run("ip", "-n", namespace, "route", "add", "default", "via", gateway)
        run(*in_namespace(NAT, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        run(*in_namespace(NAT, "nft", "-f", "-"), input=MASQUERADE, text=True)
        resolver = pathlib.Path("/etc/netns") / HOST / "resolv.conf"
        resolver.parent.mkdir(parents=True, exist_ok=True)
        resolver.write_text(f"nameserver {SERVER}\n")

    def remove_namespaces(self):
        for namespace in (HOST, INTERNET, NAT, CLIENT):
            subprocess.run(["ip", "netns", "delete", namespace], stderr=subprocess.DEVNULL)
        resolvers = pathlib.Path("/etc/netns")
        shutil.rmtree(resolvers / HOST, ignore_errors=True)
        with contextlib.suppress(OSError):
            resolvers.rmdir()

    def start_server(self):
        self.server = subprocess.Popen(in_namespace(INTERNET, self.load, "serve", SERVER),
                                       stdin=subprocess.PIPE)
        time.sleep(0.3)
        if self.server.poll() is not None:
            raise RuntimeError("the server did not start")

    def pin(self, cpus):
        """Everything that runs or will run: the servers, and what this process starts."""
        for pid in (0, self.server.pid, *children_of(self.server.pid)):
            os.sched_setaffinity(pid, cpus)


def children_of(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def cpu_seconds(pid):
    """Time on a CPU of all threads, to the nanosecond."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def memory_kib(pid):
    """The proportional share of memory (PSS)."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise RuntimeError(f"no PSS of {pid}")
