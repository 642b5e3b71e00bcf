# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes of every light kind, and what the machine has before and after them.

Each kind is a class: made by its constructor, `answers()` proves that what is allowed is reached from
inside, `end()` takes it away.
"""

import contextlib
import hashlib
import json
import os
import re
import select
import struct
import subprocess
import threading

from engines.engine import supervisor_of
from internet.machine import RUNTIME
from internet.netns import Place
from machine_link import GATE_MAC, OWN4, OWN_MAC, VmNet
from program import descendants, holds, ns_of, read_proc, wait_until

KINDS_OF_NS = ("net", "mnt", "pid", "user", "ipc", "uts", "cgroup")


# The kinds.

def _say(address, port):
    """A shell's way of asking an echo server."""
    return f"exec 3<>/dev/tcp/{address}/{port} && echo ping >&3 && head -n 1 <&3"


class One:
    """One sandbox of any kind."""

    person = "dev"

    def __init__(self, many):
        self.many, self.machine = many, many.machine
        self.sandgate = many.sandgate.as_person(self.person)
        self.name = self.sandgate.new_name()
        self.only = ("--only", f"{many.address}:{many.port}")
        self.make()

    def supervisor(self):
        return supervisor_of(self.machine, self.person, self.name)

    def gate(self):
        """Waited for: what starts in the background of a command comes after it."""
        supervisor = self.supervisor()
        host, found = ns_of(supervisor, "net"), []

        def is_there():
            found[:] = [pid for pid in descendants(supervisor) if pid != supervisor and
                        ns_of(pid, "net") == host and holds(pid, "tun") and
                        "frames" not in read_proc(pid, "comm")]
            return found
        wait_until(is_there, 120, f"the gate of {self.name}")
        return found[0]

    def ok(self, *argv, **options):
        done = self.sandgate(*argv, **options)
        assert done.ok, done
        return done


class Bwrap(One):
    """`sandgate run`; the shell inside asks when it is told to, and ends when its input does."""

    def make(self):
        script = f"read go; {_say(self.many.address, self.many.port)}; read end"
        self.process = self.machine.popen(
            [self.sandgate.path, "run", "--quiet", *self.only, *self.words(), "--", "bash", "-c", script],
            self.person, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.machine.new_work(self.person), start_new_session=True)

    def words(self):
        return ()

    def answers(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        ready = select.select([self.process.stdout], [], [], 120)[0]
        return bool(ready) and self.process.stdout.readline() == "ping\n"

    def supervisor(self):
        return self.process.pid

    def end(self):
        _, err = self.process.communicate(timeout=120)
        assert self.process.returncode in (0, 1), err


class KeptOne(Bwrap):
    """One that is kept, and taken away at the end."""

    def words(self):
        return "--name", self.name

    def end(self):
        super().end()
        self.ok("rm", self.name)


class Attached(One):
    """A namespace that was there already."""

    person = "root"

    def make(self):
        self.place = Place()
        self.place.ip("link set lo up")
        self.attach()

    def attach(self):
        self.ok("attach", "--yes", "--netns", self.place.path, "--name", self.name, *self.only)

    def answers(self):
        done = self.place.run(["bash", "-c", _say(self.many.address, self.many.port)], timeout=60)
        return done.stdout == "ping\n"

    def detach(self):
        self.ok("detach", self.name)

    def end(self):
        self.detach()
        self.place.close()


class Cni(Attached):
    """The same by the plugin of container networks."""

    def attach(self):
        identity = hashlib.sha256(self.name.encode()).hexdigest()
        self.name = f"cni-{identity[:12]}"
        self._env = {**self.machine.environment("root"), "CNI_CONTAINERID": identity, "CNI_IFNAME": "eth0",
                     "CNI_NETNS": self.place.path}
        self._network = json.dumps({"cniVersion": "1.0.0", "name": "agents", "type": "sandgate",
                                    "only": [self.only[1]]})
        self._call("ADD")

    def _call(self, command):
        done = self.sandgate(input=self._network, env={**self._env, "CNI_COMMAND": command})
        assert done.ok, done

    def detach(self):
        self._call("DEL")


class _Frames(One):
    """A machine's frame socket without a machine: the test is the monitor, and its guest's kernel."""

    kind = None

    def make(self):
        self.net = VmNet(self.sandgate, self.kind, *self.only)
        self.name = self.net.name
        self.link = self.net.connect()

    def answers(self):
        import frames as f
        syn = f.ip4(OWN4, self.many.address, f.TCP, f.tcp(OWN4, self.many.address, self.many.port))
        self.link.send(GATE_MAC + OWN_MAC + struct.pack("!H", f.IPV4) + syn)
        answer = self.link.hear(lambda frame: frame[12:14] == b"\x08\0" and frame[23] == f.TCP, 60)
        return answer[26:30] == f.packed(self.many.address) and answer[47] == f.SYN | f.ACK

    def end(self):
        self.link.close()
        self.ok("stop", self.name)


class Stream(_Frames):
    kind = "stream"


class Dgram(_Frames):
    kind = "dgram"


class Tap(One):
    """A tap device that waits for a monitor."""

    person = "root"

    def make(self):
        self.ok("vm-net", "--background", *self.only, self.name)

    def answers(self):
        return self.sandgate.json("egress", self.name)["flows"]["open"] == 0

    def end(self):
        self.ok("stop", self.name)


class _Container(Bwrap):
    """podman run, with annotations. The shell inside ends when its input does."""

    def make(self):
        policy = f"{self.machine.new_work(self.person)}/policy.yaml"
        self.machine.write(policy, f"network: deny\nallow: ['{self.only[1]}']\n", self.person)
        script = f"read go; {_say(self.many.address, self.many.port)}; read end"
        self.process = self.many.podman[self.person].popen(
            "run", "--rm", "--interactive", "--name", self.name, "--network", "none",
            f"--annotation=sandgate.policy={policy}", f"--annotation=sandgate.name={self.name}", "guest",
            "bash", "-c", script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True)

    def supervisor(self):
        wait_until(lambda: self.machine.exists(f"{self.registry}/{self.name}/control"), 120, "the sandbox")
        return supervisor_of(self.machine, self.person, self.name)

    @property
    def registry(self):
        return f"{RUNTIME[self.person] if self.person != 'root' else '/run'}/sandgate"


class PodmanRootless(_Container):
    person = "dev"


class PodmanRootful(_Container):
    person = "root"


class DockerOne(_Container):
    """A network and a container in it. One at a time: docker's pools of addresses are the machine's."""

    person = "root"
    _turn = threading.Lock()

    def make(self):
        self._turn.acquire()
        docker = self.many.docker.docker
        policy = f"{self.machine.new_work('root')}/policy.yaml"
        self.machine.write(policy, f"network: deny\nallow: ['{self.only[1]}']\n")
        docker.ok("network", "create", "-d", "sandgate", "-o", f"policy={policy}", "--subnet",
                  "192.0.0.0/29", "--gateway", "192.0.0.1", self.name)
        script = f"read go; {_say(self.many.address, self.many.port)}; read end"
        self.process = docker.popen(
            "run", "--rm", "-i", "--name", self.name, "--network", self.name, "guest", "bash", "-c", script,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)

    def end(self):
        try:
            super().end()
            self.many.docker.docker.ok("network", "rm", self.name)
        finally:
            self._turn.release()


# The machine, before and after.

class Many:
    """What sandboxes of one test share, and what was seen of them while they were there."""

    def __init__(self, world, sandgate, address, port, podman=None, docker=None):
        self.world, self.machine, self.sandgate = world, world.machine, sandgate
        self.address, self.port = address, port
        self.podman, self.docker = podman or {}, docker
        self._lock = threading.Lock()
        self._device = self.machine.place.call(lambda: os.stat(sandgate.path).st_dev)
        self.begin()

    def begin(self):
        """What there is now was there before: an engine's own processes and namespaces."""
        self._there = {ns_of(pid, kind) for pid in all_pids() for kind in KINDS_OF_NS}
        self._processes, self._namespaces = {}, set()

    def note(self, one):
        """Its processes and namespaces, which must not be there after it."""
        pids = descendants(one.supervisor())
        seen = {pid: began(pid) for pid in pids}
        held = {ns_of(pid, kind) for pid in pids for kind in KINDS_OF_NS} - self._there - {None}
        with self._lock:
            self._processes.update({pid: start for pid, start in seen.items() if start})
            self._namespaces |= held

    def cycle(self, kind):
        """One of a kind, from its making to its end."""
        one = kind(self)
        try:
            assert one.answers(), f"{kind.__name__} {one.name} does not reach what it may"
            self.note(one)
        finally:
            one.end()

    @property
    def seen(self):
        return len(self._processes), len(self._namespaces)

    def left(self):
        """What is still there of what was seen."""
        alive = {f"{pid} {read_proc(pid, 'cmdline')[:80]}" for pid, start in self._processes.items()
                 if began(pid) == start}
        held = {f"{ns_of(pid, kind)} of {pid} {read_proc(pid, 'cmdline')[:80]}" for pid in all_pids()
                for kind in KINDS_OF_NS if ns_of(pid, kind) in self._namespaces and self._is_of_ours(pid)}
        return alive | held

    def _is_of_ours(self, pid):
        """A number of a namespace is given again, perhaps to somebody else on this computer: it counts with
        a process that was seen, or that is the program of this world."""
        if began(pid) in (None, self._processes.get(pid)):
            return began(pid) is not None
        try:
            return os.stat(f"/proc/{pid}/exe").st_dev == self._device
        except OSError:
            return False


def all_pids():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def began(pid):
    """When a process was started, which tells it from a later one of the same number."""
    fields = read_proc(pid, "stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None


_COMMANDS = {
    "devices": "ip -o link", "addresses": "ip -o addr", "routes": "ip route show table all",
    "routes of IPv6": "ip -6 route show table all", "rules": "ip rule; ip -6 rule",
    "nft": "nft list ruleset", "listeners": "ss -Hltun", "unix sockets": "ss -Hlx",
    "mounts": "cut -d' ' -f4- /proc/self/mountinfo",
    # What engines keep for themselves is theirs to take away.
    "files": "find /run /tmp /etc /opt /home /root /var/lib/sandgate /var/lib/cni -path /tmp/dockerd -prune -o "
             "-path /run/docker -prune -o -path '*/containers/storage' -prune -o -path '*/libpod' -prune -o "
             "-path '*/work/*' -prune -o -printf '%y %p\\n' 2>/dev/null",
}


def inventory(machine):
    """Everything of the machine by its kind, as sets of lines; numbers that only count up are left out."""
    found = {}
    for what, command in _COMMANDS.items():
        text = machine.run(["sh", "-c", command], "root", timeout=60).stdout
        found[what] = {re.sub(r"\b(expires|valid_lft|preferred_lft|packets|bytes) \S+|\b\d+sec\b|users:.*| +", " ", line).strip()
                       for line in text.splitlines()}
    found["processes"] = {f"{pid} {read_proc(pid, 'cmdline')[:60]}" for pid in all_pids()
                          if ns_of(pid, "net") == f"net:[{os.fstat(machine.place.fd).st_ino}]"
                          and pid != os.getpid()}
    return found


def more_than(before, after):
    """What came and did not go."""
    return {what: sorted(after[what] - before[what]) for what in after if after[what] - before[what]}


def pss_kib(pid):
    """The proportional share of a process in memory."""
    for line in read_proc(pid, "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


@contextlib.contextmanager
def at_once(many, kinds, pool):
    """One of each kind, all there together; all of them end, also when one could not be made."""
    making = [pool.submit(kind, many) for kind in kinds]
    try:
        yield [one.result() for one in making]
    finally:
        for one in making:
            if not one.exception():
                one.result().end()
