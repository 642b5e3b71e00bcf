# SPDX-License-Identifier: Apache-2.0
"""Captures as a person has them: made by sandgate, read by tshark and capinfos."""

import hashlib
import os
import stat

from internet.machine import UID
from program import wait_until

# `udp.payload` and not `data.data`: one datagram in a thousand comes from a port of a protocol that
# tshark knows.
FIELDS = ("frame.number", "frame.time_epoch", "frame.packet_flags_direction", "frame.len",
          "frame.cap_len", "eth.src", "ip.src", "ip.dst", "tcp.flags.syn", "tcp.flags.ack", "udp.srcport",
          "udp.dstport", "icmp.type", "tcp.dstport", "dns.qry.name", "ip.checksum.status", "tcp.checksum.status",
          "udp.checksum.status", "udp.payload", "http.request.uri", "http2.headers.path", "frame.comment")
INBOUND, OUTBOUND = "0x00000001", "0x00000002"
CHECKED = [option for protocol in ("ip", "tcp", "udp")
           for option in ("-o", f"{protocol}.check_checksum:TRUE")]


class Frame(dict):
    @property
    def comment(self):
        return self["frame.comment"]

    @property
    def from_sandbox(self):
        """The interface is the gate's end: what the sandbox sends comes in there."""
        return self["frame.packet_flags_direction"] == INBOUND


class Captures:
    """A folder that no sandbox sees."""

    def __init__(self, sandgate):
        self.sandgate, self.machine = sandgate, sandgate.world.machine
        self.folder = self.machine.new_work(sandgate.person)

    def path(self, name="all.pcapng"):
        return f"{self.folder}/{name}"

    def names(self):
        return self.machine.listdir(self.folder)

    def stat(self, path):
        return self.machine.place.call(lambda: os.stat(path))

    def sha256(self, path):
        def read():
            with open(path, "rb") as f:
                return hashlib.sha256(f.read()).hexdigest()
        return self.machine.place.call(read)

    def tool(self, *argv):
        done = self.machine.run(list(argv), self.sandgate.person, timeout=60)
        assert done.returncode == 0, done
        return done.stdout

    def frames(self, path, *options, where=None):
        """All that tshark reads of it; a block that is not whole is an error."""
        argv = ["tshark", "-n", "-r", path, *CHECKED, *options, "-T", "fields", "-E", "separator=/t",
                "-E", "occurrence=f"]
        for field in FIELDS:
            argv += ["-e", field]
        if where:
            argv += ["-Y", where]
        return [Frame(zip(FIELDS, line.split("\t"))) for line in self.tool(*argv).splitlines()]

    def comments(self, path, **more):
        return [frame.comment for frame in self.frames(path, **more)]

    def info(self, path):
        rows = (line.split(":", 1) for line in self.tool("capinfos", "-M", path).splitlines() if ":" in line)
        return {key.strip(): value.strip() for key, value in rows}

    def assert_private(self, path):
        found = self.stat(path)
        assert stat.S_IMODE(found.st_mode) == 0o600 and found.st_uid == UID[self.sandgate.person]


def entries(sandgate, name, kind="sandgate.pcap.*"):
    shown = sandgate("audit", "show", "--action", kind, "--json", name)
    assert shown.ok, shown
    return shown.lines


def await_entries(sandgate, name, kind, n=1):
    wait_until(lambda: len(entries(sandgate, name, kind)) >= n, what=kind)
    return entries(sandgate, name, kind)


def echo(box, address, port, *words):
    """Each word by a datagram of its own, from one socket: it comes back."""
    got = box.python("""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(30)
s.connect((sys.argv[1], int(sys.argv[2])))
for word in sys.argv[3:]:
    s.send(word.encode())
    assert s.recv(100) == word.encode()
report(done=True)
""", address, port, *words)
    assert got.ok, got
