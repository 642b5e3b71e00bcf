# SPDX-License-Identifier: Apache-2.0
"""Frames that come on to the link by ways that few programs know: rings of packet sockets, AF_XDP, and programs of
BPF that hand a frame to the far end of the link as if it had crossed it. Root of a namespace has the first, who has
CAP_BPF on the host besides the others. Each frame is judged, counted and captured like any other."""

import errno
import os
import socket
import struct
from collections import Counter

import pytest

import frames as f
import senders
from frames import SANDBOX4, TCP, UDP, ip4, ip6, udp
from pcap_rig import Captures, echo
from program import descendants, wait_until
from test_hidden_frames import DENIED4, DENIED6, PORT, attacked, of_each_kind

pytestmark = pytest.mark.engines(usual=["bwrap"])
__all__ = ["attacked"]

SEEN = 7  # the mark of what the airlock's rules have seen (src/airlock/layout.h)
SPOOFED = 2 * 3 * 2 * 2  # of of_each_kind(): families, sources, destinations, protocols


@pytest.fixture
def link(attacked):
    if attacked.box.engine.own_kernel:
        pytest.skip("a machine's kernel is its own: escape/test_guest_frames.py has what it can send")
    return attacked


class Captured:
    """What came of frames, by the capture and the counters."""

    def __init__(self, world, sandgate, link):
        self.world, self.sandgate, self.link, self.captures = world, sandgate, link, Captures(sandgate)
        self.gate, self.noise = link.box.gate_pid, link.box.egress()["frames"]["noise"]
        assert sandgate("pcap", link.box.name, self.captures.path()).ok
        world.start_watching()

    def expect(self, noise):
        """Frames of noise by the reason that the capture gives, and their sum by the counters."""
        box, many = self.link.box, sum(noise.values())
        wait_until(lambda: box.egress()["frames"]["noise"] >= self.noise + many, what="the count")
        echo(box, self.link.four, PORT, "still here")
        assert {p.destination for p in self.world.left_the_host(dns=True)} <= {self.link.four, self.link.six}
        assert box.gate_pid == self.gate
        assert self.sandgate("pcap", "--stop", box.name).ok
        seen = self.captures.frames(self.captures.path())
        assert b"still here".hex() in [frame["udp.payload"] for frame in seen]
        told = Counter(frame.comment for frame in seen)
        # The kernels of both ends speak as well, of their own accord.
        assert all(told[f"noise: {why}"] >= many for why, many in noise.items()), told


@pytest.fixture
def captured(world, sandgate, link, needs):
    needs("tshark")
    return Captured(world, sandgate, link)


@pytest.mark.parametrize("kind", [senders.PacketRing, senders.XdpSocket])
def test_senders_that_pass_the_queue_by(link, captured, kind):
    """With a tag of a VLAN, and too short to be anything, besides."""
    wire = link.wire
    try:
        sender = wire.place.call(lambda: kind(wire.device))
    except OSError as problem:
        if problem.errno in (errno.EAFNOSUPPORT, errno.ENOPROTOOPT):
            pytest.skip(f"this kernel has no {kind.__name__}")
        raise
    tagged = struct.pack("!HH", 5, f.IPV4) + ip4(SANDBOX4, link.four, UDP, udp(SANDBOX4, link.four, PORT, b"escape"))
    frames = [wire.frame(packet) for packet in of_each_kind(link)] + [
        wire.frame(tagged, ethertype=f.VLAN), wire.frame(b"", ethertype=f.IPV4), wire.frame(b"\x45\0", ethertype=f.IPV4)]
    wire.place.call(lambda: sender.send(frames))
    captured.expect({"source address not the sandbox's": SPOOFED, "tag of a VLAN": 1, "truncated frame": 2})
    sender.close()


def across(link, program, frames):
    """Frames on their way into the namespace by another pair of devices, where a program sends them elsewhere."""
    wire = link.wire
    for step in "ip link add va9 type veth peer name vb9", "ip link set va9 up", "ip link set vb9 up":
        if not wire.run(step.split()):
            pytest.skip("the supervisor takes such a device away: another one is needed to send by")
    try:
        held = wire.place.call(lambda: senders.attach("vb9", senders.SCHED_CLS, senders.TCX_INGRESS, program))
    except OSError as problem:
        if problem.errno == errno.EINVAL:
            pytest.skip("this kernel attaches no program of BPF so (tcx, since 6.6)")
        raise
    ring = wire.place.call(lambda: senders.PacketRing("va9"))
    wire.place.call(lambda: ring.send(frames))
    ring.close()
    return held


def to_the_far_end(link, before=b""):
    """A frame gets the mark of those that were seen, and goes to whatever the link ends in."""
    index = link.wire.place.call(lambda: socket.if_nametoindex(link.wire.device))
    s = senders
    return (s.copy(6, 1) + before + s.store(6, s.MARK, SEEN) + s.set_to(1, index) + s.set_to(2, 0)
            + s.call(s.REDIRECT_PEER) + s.LEAVE)


def test_frames_that_never_crossed_the_link(link, captured):
    frames = [link.wire.frame(packet) for packet in of_each_kind(link)]
    with across(link, to_the_far_end(link), frames):
        captured.expect({"source address not the sandbox's": SPOOFED})


def forwarded(box):
    """Packets that the airlock has handed to its gate."""
    ours = {os.readlink(f"/proc/{pid}/ns/net") for pid in (box.inner_pid, box.supervisor_pid)}
    for pid in descendants(box.supervisor_pid):
        if os.readlink(f"/proc/{pid}/ns/net") not in ours:
            with open(f"/proc/{pid}/net/dev", encoding="ascii") as lines:
                for line in lines:
                    if line.strip().startswith("tun0:"):
                        return int(line.split(":")[1].split()[9])
    raise AssertionError("there is no airlock")


def test_a_frame_that_is_not_what_it_says(link, captured):
    """Its ethertype is that of IPv4, where the rules read the sandbox's address; the kernel takes it for IPv6."""
    source = "2001:db8:c000:2:a00::1"
    payload = udp(source, link.six, PORT, b"escape")
    head = ip6(source, link.six, UDP, payload)[:40]
    assert head[12:16] == f.packed(SANDBOX4)
    s = senders
    write = b"".join(s.store(10, at - 40, struct.unpack_from("=i", head, at)[0]) for at in range(0, 40, 4))
    convert = (s.set_to(2, int.from_bytes(struct.pack("!H", f.IPV6), "little")) + s.set_to(3, 0) + s.call(s.CHANGE_PROTO)
               + write + s.copy(1, 6) + s.set_to(2, 14) + s.copy(3, 10) + s.op(0x07, 3, value=-40)
               + s.set_to(4, 40) + s.set_to(5, 0) + s.call(s.STORE_BYTES))
    before = forwarded(link.box)
    many = [link.wire.frame(ip4(SANDBOX4, link.four, UDP, payload))] * 20
    with across(link, to_the_far_end(link, convert), many):
        wait_until(lambda: link.box.egress()["frames"]["noise"] >= captured.noise + len(many), what="the count")
        assert forwarded(link.box) == before
        captured.expect({})


@pytest.mark.parametrize("generic", [0, senders.XDP_GENERIC], ids=["native", "generic"])
def test_a_link_that_sends_everything_back(link, captured, generic):
    """What the gate says comes back to it, with the gate's addresses."""
    s, wire = senders, link.wire
    try:
        held = wire.place.call(lambda: s.attach(wire.device, s.XDP, s.XDP_DEVICE, s.set_to(0, s.XDP_TX) + s.LEAVE,
                                                s.XDP_HAS_FRAGS, generic))
    except OSError as problem:
        pytest.skip(f"this kernel attaches no XDP to a veth ({problem})")
    with held:
        for to in link.four, DENIED4, link.six, DENIED6:
            own = f.SANDBOX6 if ":" in to else SANDBOX4
            for port in range(5000, 5020):
                wire.send(wire.frame(f.ip(own, to, TCP, f.tcp(own, to, PORT, source_port=port))),
                          wire.frame(f.ip(own, to, UDP, udp(own, to, PORT, b"escape", source_port=port))))
        wait_until(lambda: link.box.egress()["frames"]["denied"] >= 80, what="the count")
    captured.expect({})


# What is made over the link, or of it; {0} is the link.
SHAPES = (
    "ip link set {0} promisc on allmulticast on alias way txqueuelen 1",
    "ip link set {0} gso_max_size 8000 gro_max_size 8000",
    "ip link set {0} addrgenmode none",
    "ip link add link {0} name d9 type vlan id 9",
    "ip link add link {0} name d9 type vlan proto 802.1ad id 9",
    "ip link add link {0} name d9 type macvlan mode bridge",
    "ip link add link {0} name d9 type macvlan mode private",
    "ip link add link {0} name d9 type ipvlan mode l2",
    "ip link add link {0} name d9 type ipvlan mode l3",
    "ip link add link {0} name d9 type ipvlan mode l3s",
    "ip link add link {0} name d9 type macvtap",
    "ip link add d9 type ipip remote 93.184.250.9 local 192.0.0.2",
    "ip link add d9 type gre remote 93.184.250.9 local 192.0.0.2",
    "ip link add d9 type sit remote 93.184.250.9 local 192.0.0.2",
    "ip link add d9 type ip6tnl remote 2a00:1::fa09 local fd73:616e:6467:1::2",
)
SEND = """
import socket, subprocess, sys
link, listed, made = sys.argv[1], sys.argv[2], []
def ip(words):
    return subprocess.run(words.split(), capture_output=True).returncode == 0
def all_of(device):
    for there in "93.184.250.9", "2a00:1::fa09", listed:
        for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
            with socket.socket(socket.AF_INET6 if ":" in there else socket.AF_INET, kind) as s:
                s.setblocking(False)
                device and s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
                try:
                    s.connect((there, 7070)); s.send(b"escape")
                except OSError:
                    pass
for words in sys.argv[3:]:
    if ip(words.format(link)):
        made.append(words)
    if " d9 " in words and made[-1:] == [words]:
        for step in ("link set d9 up", "addr add 192.0.0.2/32 dev d9", "addr add fd73:616e:6467:1::2/128 dev d9 nodad",
                     "route add default dev d9 metric 1", "-6 route add default dev d9 metric 1"):
            ip("ip " + step)
        all_of("d9")
    all_of(None)
    all_of(link)
    ip("ip link del d9")
print(len(made))
"""


def test_devices_over_the_link(world, link):
    """The usual way is as it was, when they are gone."""
    world.start_watching()
    done = link.wire.place.run(["python3", "-c", SEND, link.wire.device, link.four, *SHAPES])
    assert done.returncode == 0, done
    assert int(done.stdout) >= 5, done  # as far as this kernel has them
    echo(link.box, link.four, PORT, "still here")
    assert {p.destination for p in world.left_the_host(dns=True)} <= {link.four}
