# SPDX-License-Identifier: Apache-2.0
"""Frames that the kernel takes past the rules at the airlock's end of the link, and past a capture.

A frame that went through an ifb device has a note that it need not be classified again, and is put back
on the device that it was taken from. When nothing is classified there any more the note goes with it
across the link: at the other end neither the ingress hook nor a packet socket is given the frame. Who has
CAP_NET_ADMIN over the sandbox's own namespace can do that, in a user namespace as well. The supervisor takes
such a device away, which is a race: here it is stopped meanwhile."""

import os
import signal
from contextlib import contextmanager

import pytest

import frames as f
from frames import SANDBOX4, SANDBOX6, TCP, UDP, ip, tcp, udp
from internet.services import echo_tcp, echo_udp
from internet.world import HOST4, HOST6
from pcap_rig import Captures, echo
from program import wait_until

pytestmark = pytest.mark.engines(usual=["netns", "podman-rootless"])
PORT = 7070
DENIED4, DENIED6 = "93.184.250.9", "2a00:1::fa09"
OTHER4, OTHER6 = "192.0.0.6", "fd73:616e:6467:1::66"


class Hiding:
    """The sandbox's end of a link: what is sent is held in the queue of an ifb, in order, until release()."""

    def __init__(self, wire):
        self.wire = wire
        for step in ("ip link add hide0 type ifb", "ip link set hide0 up",
                     "tc qdisc add dev hide0 root tbf rate 64bit burst 1600 limit 1000000",
                     f"tc qdisc add dev {wire.device} clsact",
                     f"tc filter add dev {wire.device} egress protocol all u32 match u32 0 0 "
                     "action mirred egress redirect dev hide0"):
            if not wire.run(step.split()):
                pytest.skip(f"this kernel has not what hides a frame (ifb, sch_tbf, cls_u32, act_mirred): {step}")
        self._drain()

    def _drain(self):
        """What the queue lets through at once. These are for a place that is not listed."""
        filler = ip(SANDBOX4, DENIED4, UDP, udp(SANDBOX4, DENIED4, 9, bytes(1300)))
        for _ in range(4):
            self.wire.send(self.wire.frame(filler))

    def held(self):
        shown = self.wire.place.run(["tc", "-s", "qdisc", "show", "dev", "hide0"]).stdout
        return int(shown.partition("backlog")[2].split()[1].rstrip("p"))

    def close(self):
        assert self.wire.run(["ip", "link", "del", "hide0"])

    def release(self):
        """Only now is nothing classified any more."""
        for step in (f"tc filter del dev {self.wire.device} egress",
                     "tc qdisc change dev hide0 root tbf rate 100mbit burst 100000 limit 1000000"):
            assert self.wire.run(step.split()), step
        # The queue looks at its new rate when another frame comes; this one goes no further.
        self.wire.place.run(["python3", "-c", "import socket\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
                             "s.bind(('hide0', 0x88b5))\ns.send(bytes(60))"])
        wait_until(lambda: self.held() == 0, what="an empty queue")


@pytest.fixture
def attacked(world, sandgate):
    class Attacked:
        four, six = world.address(), world.address6()
    for address in (Attacked.four, Attacked.six, DENIED4, DENIED6):
        echo_tcp(world, address, PORT)
        echo_udp(world, address, PORT)
    Attacked.box = sandgate.box(
        "--only", ",".join(f"{a}:{PORT}{kind}" for a in (Attacked.four, f"[{Attacked.six}]") for kind in ("", "/udp")),
        "--as-root")
    Attacked.wire = f.wire_of(Attacked.box)
    yield Attacked
    Attacked.wire.close()


@contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def of_each_kind(attacked):
    """From the sandbox's own address to a listed place, and from those of others: in one piece and in two."""
    packets = []
    for own, others, listed, denied in ((SANDBOX4, (OTHER4, HOST4, f.GATE4), attacked.four, DENIED4),
                                        (SANDBOX6, (OTHER6, HOST6, f.GATE6), attacked.six, DENIED6)):
        for source in (own, *others):
            for to in (listed, denied):
                packets += [ip(source, to, UDP, udp(source, to, PORT, b"escape")),
                            ip(source, to, TCP, tcp(source, to, PORT))]
    datagram = udp(SANDBOX4, attacked.four, PORT, b"escape" * 8)
    packets += [f.ip4(SANDBOX4, attacked.four, UDP, datagram[:24], flags=1),
                f.ip4(SANDBOX4, attacked.four, UDP, datagram[24:], offset=3)]
    return packets


def test_a_frame_that_no_rule_has_seen_goes_nowhere(world, sandgate, attacked, needs):
    """It is counted, though no capture can have it."""
    needs("tshark")
    box, wire, captures = attacked.box, attacked.wire, Captures(sandgate)
    echo(box, attacked.four, PORT, "as usual")
    gate = box.gate_pid
    assert sandgate("pcap", box.name, captures.path()).ok
    packets = of_each_kind(attacked)
    before = box.egress()["frames"]["noise"]
    world.start_watching()
    with stopped(box.supervisor_pid):
        hiding = Hiding(wire)
        wire.send(*(wire.frame(packet) for packet in packets))
        assert hiding.held() >= len(packets)
        hiding.release()
        hiding.close()
    wait_until(lambda: box.egress()["frames"]["noise"] >= before + len(packets), what="the count")
    assert world.left_the_host(dns=True) == []
    assert box.gate_pid == gate
    echo(box, attacked.four, PORT, "still here")
    assert sandgate("pcap", "--stop", box.name).ok
    seen = [frame["udp.payload"] for frame in captures.frames(captures.path())]
    assert b"still here".hex() in seen and b"escape".hex() not in seen
