# SPDX-License-Identifier: Apache-2.0
"""A virtual machine's link without the machine: the frame socket of `sandgate vm-net`, spoken to by the
test, and a network namespace whose kernel is joined to it, as a guest's kernel is by its monitor.
"""

import fcntl
import os
import select
import socket
import struct
import threading
import time

from engines.engine import supervisor_of
from internet.netns import Place, View
from program import descendants, holds, ns_of, wait_until

OWN_MAC, GATE_MAC = bytes.fromhex("027367000002"), bytes.fromhex("027367000001")
OWN4, GATE4, PREFIX6, GATE6 = "192.0.0.2", "192.0.0.1", "fd73:616e:6467:1:", "fd73:616e:6467:1::1"
KINDS = ("stream", "dgram")

_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454CA, 2, 0x1000

# What DHCP clients write is theirs alone.
_VIEW = """
mount -t tmpfs -o mode=755 run /run
mkdir -p -m 700 /run/.etc; mkdir /run/.etc/upper /run/.etc/work
mount -t overlay etc -o lowerdir=/etc,upperdir=/run/.etc/upper,workdir=/run/.etc/work /etc
rm -f /etc/resolv.conf; : >/etc/resolv.conf
mkdir -p -m 700 /run/.lib; mkdir /run/.lib/upper /run/.lib/work
mount -t overlay lib -o lowerdir=/var/lib,upperdir=/run/.lib/upper,workdir=/run/.lib/work /var/lib
"""


class VmNet:
    """`sandgate vm-net` in the background, with a frame socket."""

    def __init__(self, sandgate, kind, *options):
        self.sandgate, self.kind = sandgate, kind
        self.machine = sandgate.world.machine
        self.name = sandgate.new_name()
        self.folder = self.machine.new_work(sandgate.person)
        self.path = f"{self.folder}/link"
        done = sandgate("vm-net", "--background", f"--{kind}", self.path, *options, self.name)
        assert done.ok, done

    def connect(self, name="monitor"):
        return FrameSocket(self.machine, self.kind, self.path, f"{self.folder}/{name}")

    @property
    def supervisor(self):
        return supervisor_of(self.machine, self.sandgate.person, self.name)

    @property
    def gate_pid(self):
        return gate_of(self.machine, self.sandgate.person, self.name)

    @property
    def frames_pid(self):
        for pid in descendants(self.supervisor):
            if _name_of(pid) == "sandgate-frames":
                return pid
        raise AssertionError("there is no process that carries frames")

    def egress(self):
        return self.sandgate.json("egress", self.name)

    def noise(self):
        return self.egress()["frames"]["noise"]

    def stop(self):
        self.sandgate("stop", self.name)


def gate_of(machine, person, name):
    """The process that holds the tun device and lives in the host's network."""
    supervisor = supervisor_of(machine, person, name)
    host = ns_of(supervisor, "net")
    for pid in descendants(supervisor):
        if pid != supervisor and ns_of(pid, "net") == host and holds(pid, "tun") and \
                _name_of(pid) != "sandgate-frames":
            return pid
    raise AssertionError("there is no gate")


def _name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return None


class FrameSocket:
    """What a monitor has: whole Ethernet frames, out and in."""

    def __init__(self, machine, kind, path, own_path):
        self.kind, self._octets = kind, b""

        def connected():
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if kind == "stream" else socket.SOCK_DGRAM)
            if kind == "dgram":
                if os.path.exists(own_path):
                    os.unlink(own_path)
                s.bind(own_path)
                os.chmod(own_path, 0o666)  # it is root's, and `sandgate` is a person's
            s.connect(path)
            return s
        self.socket = machine.place.call(connected)

    def fileno(self):
        return self.socket.fileno()

    def send(self, *frames):
        for frame in frames:
            self.socket.sendall((struct.pack("!I", len(frame)) if self.kind == "stream" else b"") + frame)

    def receive(self):
        """The next frames, waited for; none when the other side has closed."""
        if self.kind == "dgram":
            return [self.socket.recv(70000)]
        got = self.socket.recv(1 << 18)
        self._octets += got
        frames = []
        while len(self._octets) >= 4:
            n = struct.unpack_from("!I", self._octets)[0]
            if len(self._octets) < 4 + n:
                break
            frames.append(self._octets[4:4 + n])
            self._octets = self._octets[4 + n:]
        return frames

    def heard(self, seconds=0.3):
        """All that comes within a while."""
        end, frames = time.monotonic() + seconds, []
        while (left := end - time.monotonic()) > 0 and select.select([self], [], [], left)[0]:
            got = self.receive()
            frames += got
            if not got and not self._octets:
                break
        return frames

    def hear(self, wanted, timeout=15):
        """The first frame for which wanted(frame)."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            if select.select([self], [], [], left)[0]:
                for frame in self.receive():
                    if wanted(frame):
                        return frame
        raise AssertionError("no such frame came")

    def closed_by_peer(self, timeout=15):
        """Waits until the other side has closed or reset it; what it said before (its kernel speaks unasked) is read
        away."""
        self.socket.settimeout(timeout)
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass

    def close(self):
        self.socket.close()


class LinuxGuest:
    """A Linux kernel at the other end: `eth0` of a place of its own, relayed to a frame socket."""

    def __init__(self, wire, mtu=1500, ipv6=True):
        self.wire = wire
        self.view = View(_VIEW)
        self.place = Place(self.view)
        if not ipv6:
            self.place.sysctl(net__ipv6__conf__default__disable_ipv6=1)
        self._tap = self.place.call(self._open_tap)
        self._stopped, self._wake = False, os.pipe()
        self._thread = threading.Thread(target=self._relay, daemon=True)
        self._thread.start()
        self.place.ip("link set lo up",
                      f"link set eth0 address {OWN_MAC.hex(':')} mtu {mtu}", "link set eth0 up")

    @staticmethod
    def _open_tap():
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", b"eth0", _IFF_TAP | _IFF_NO_PI))
        return fd

    def _relay(self):
        while not self._stopped:
            try:
                ready = select.select([self._tap, self.wire, self._wake[0]], [], [])[0]
                if self._tap in ready:
                    self.wire.send(os.read(self._tap, 70000))
                if self.wire in ready:
                    for frame in self.wire.receive():
                        os.write(self._tap, frame)
            except (OSError, ValueError):  # the wire is being replaced
                time.sleep(0.01)

    def run(self, argv, timeout=60, **options):
        return self.place.run(argv, timeout=timeout, **options)

    def ok(self, argv, **options):
        done = self.run(argv, **options)
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def python(self, code, *arguments, **options):
        return self.ok(["python3", "-c", code, *map(str, arguments)], **options)

    def addresses(self, family):
        shown = self.ok(["ip", "-o", f"-{family}", "addr", "show", "dev", "eth0", "scope", "global"])
        return [line.split()[3] for line in shown.splitlines() if "tentative" not in line]

    def await_address6(self):
        wait_until(lambda: self.addresses(6), 30, "an address by a router advertisement")
        return self.addresses(6)[0].split("/")[0]

    def route(self, family):
        return self.ok(["ip", f"-{family}", "route", "show", "default"])

    def reconnect(self, wire):
        """As a monitor does whose connection was cut."""
        old, self.wire = self.wire, wire
        old.close()

    def close(self):
        self._stopped = True
        os.write(self._wake[1], b"x")
        self._thread.join(5)
        for fd in (self._tap, *self._wake):
            os.close(fd)
        self.wire.close()
        self.place.close()
        self.view.close()
