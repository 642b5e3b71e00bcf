# SPDX-License-Identifier: Apache-2.0
"""Root of a container that has CAP_NET_ADMIN over the host's user namespace reaches the devices of its
airlock: the kernel gives the far end's namespace a number in its own, and lets whoever is privileged
over the owner's user namespace make and delete devices there by that number (IFLA_IF_NETNSID in rtnetlink). It can disturb its own network so. It must not get out: the capture is the judge."""

import pytest

from internet.netns import Place
from internet.services import echo_tcp, echo_udp
from program import read_proc, wait_until
from test_attach import Attached, Pod

pytestmark = pytest.mark.parametrize("person", ["root"])

DENIED4, DENIED6 = "93.184.250.9", "2a00:1::fa09"

# A request by rtnetlink for a device of the namespace with the number 0, the airlock.
REQUESTS = """
import os, socket, struct, subprocess
NEW, DELETE, GET = 16, 17, 18
CREATE, EXCLUSIVE, ACK, REQUEST = 0x400, 0x200, 4, 1
IFNAME, LINKINFO, NET_NS_PID, IF_NETNSID = 3, 18, 19, 46
TUN0, LINK0 = 101, 100
def attr(kind, octets): return struct.pack("HH", 4 + len(octets), kind) + octets + bytes(-len(octets) % 4)
def name(text): return attr(IFNAME, text.encode() + b"\\0")
def ask(kind, index, attributes=b"", flags=0, up=None, far=True):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.bind((0, 0))
        body = struct.pack("BxHiII", 0, 0, index, int(bool(up)), int(up is not None))
        body += (attr(IF_NETNSID, struct.pack("i", 0)) if far else b"") + attributes
        s.send(struct.pack("IHHII", 16 + len(body), kind, flags | REQUEST | ACK, 1, 0) + body)
        answer = s.recv(65536)
    return -struct.unpack_from("i", answer, 16)[0] if struct.unpack_from("H", answer, 4)[0] == 2 else 0
def pair(far, near):
    # A veth pair with one end there, and the other here, up.
    peer = struct.pack("BxHiII", 0, 0, 0, 0, 0) + name(near) + attr(NET_NS_PID, struct.pack("I", os.getpid()))
    info = attr(LINKINFO, attr(1, b"veth\\0") + attr(2, attr(1, peer)))
    result = ask(NEW, 0, name(far) + info, CREATE | EXCLUSIVE, up=True)
    subprocess.run(["ip", "link", "set", near, "up"])
    return result
def try_all():
    for family, place in ((socket.AF_INET, "93.184.250.9"), (socket.AF_INET6, "2a00:1::fa09")):
        for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
            with socket.socket(family, kind) as s:
                s.settimeout(0.3)
                try: s.connect((place, 7070)); s.send(b"escape"); s.recv(10)
                except OSError: pass
def try_by(device):
    for family, to in (("-4", "default"), ("-6", "default")):
        subprocess.run(["ip", family, "route", "replace", to, "dev", device], stderr=subprocess.DEVNULL)
    for kind in "0.0.0.0", "192.0.0.2":
        subprocess.run(["ip", "addr", "add", kind + "/32", "dev", device], stderr=subprocess.DEVNULL)
    try_all()
"""

ATTACKS = {
    "tun0 deleted": "got = [ask(DELETE, TUN0)]; try_all()",
    "a tun0 of one's own": """
got = [ask(DELETE, TUN0)]
for _ in range(3):  # a new gate's is there a moment later
    if pair("tun0", "evil0"): ask(DELETE, TUN0)
try_by("evil0"); try_all()""",
    "a link0 of one's own": """
got = [ask(DELETE, LINK0)]
pair("link0", "evil0")  # where the airlock is there still: without its link the sandbox ends
try_by("evil0"); try_all()""",
    "a third device": 'got = [pair("evil1", "evil0")]; try_by("evil0"); try_all()',
    "a bridge": """
got = [ask(NEW, 0, name("br0") + attr(LINKINFO, attr(1, b"bridge\\0")), CREATE | EXCLUSIVE, up=True),
       pair("evil1", "evil0")]
try_by("evil0"); try_all()""",
}


class Bare(Pod):
    """A namespace that never had a link: what engines make with `--network none`, or for a driver."""

    def __init__(self, world):
        self.world, self.place = world, Place()
        self.place.ip("link set lo up")
        world.on_reset(self.place.close)


@pytest.fixture
def pod(world):
    return Bare(world)


@pytest.mark.parametrize("attack", ATTACKS)
def test_devices_of_the_airlock(world, sandgate, pod, attack):
    listed = world.address()
    for address in listed, DENIED4, DENIED6:
        echo_tcp(world, address, 7070)
        echo_udp(world, address, 7070)
    box = Attached(sandgate, "--netns", pod.place.path, "--only", f"{listed}:7070")
    assert box.done.ok, box.done.err
    try:
        assert pod.dials(listed, 7070) == "connected"
        world.start_watching()
        got = pod.python(REQUESTS + ATTACKS[attack] + "\nreport(got=got)", timeout=120)["got"]
        assert got == [0] * len(got), "the kernel does not let it: this test asserts nothing"
        left = [p for p in world.left_the_host(dns=True) if p.destination != listed]
        assert left == []
        # Whatever was done: nothing but what is listed can be reached, or there is no link at all.
        assert pod.dials(DENIED4, 7070) != "connected" != pod.dials(DENIED6, 7070)
        assert [p for p in world.left_the_host(dns=True) if p.destination != listed] == []
    finally:
        box.detach()


# A pair with one end on a bridge of the machine, which forwards: a way out that takes one request.
BRIDGED = """
peer = struct.pack("BxHiII", 0, 0, 0, 0, 0) + name("way0") + attr(NET_NS_PID, struct.pack("I", os.getpid()))
info = attr(LINKINFO, attr(1, b"veth\\0") + attr(2, attr(1, peer)))
report(got=ask(NEW, 0, name("host0") + info, CREATE | EXCLUSIVE, up=True))
"""


def test_what_is_told_of_a_namespace_that_knows_the_host(world, sandgate):
    """Without a process to look at it is said; a process that has the capability is refused, and one
    that cannot get it is no risk."""
    pod = Pod(world)
    box = Attached(sandgate, "--netns", pod.place.path, "--net", "deny")
    assert box.done.ok and "has had a link to the host" in box.done.err, box.done.err
    assert pod.python(REQUESTS + BRIDGED)["got"] == 0, "the kernel does not let it: nothing to tell"
    box.detach()
    world.machine.place.run(["ip", "link", "del", "host0"])
    held = pod.place.popen(["sleep", "600"], view=world.machine.view)
    refused = Attached(sandgate, "--pid", str(held.pid), "--net", "deny")
    assert not refused.done.ok and "could make devices on the host" in refused.done.err, refused.done.err
    held.kill()
    held.wait()
    plain = pod.place.popen(["setpriv", "--bounding-set", "-net_admin", "sleep", "600"],
                            view=world.machine.view)
    wait_until(lambda: read_proc(plain.pid, "comm").strip() == "sleep")
    box = Attached(sandgate, "--pid", str(plain.pid), "--net", "deny")
    assert box.done.ok and "link to the host" not in box.done.err, box.done.err
    plain.kill()
    plain.wait()
    wait_until(lambda: box.row() is None)


def test_a_namespace_without_a_link_does_not_know_the_host(sandgate, pod):
    box = Attached(sandgate, "--netns", pod.place.path, "--net", "deny")
    assert box.done.ok and "link to the host" not in box.done.err, box.done.err
    box.detach()
