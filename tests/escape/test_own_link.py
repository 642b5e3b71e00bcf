# SPDX-License-Identifier: Apache-2.0
"""Root of a namespace does to its link what rtnetlink and packet sockets let it, as a container can that has
CAP_NET_ADMIN and CAP_NET_RAW: nothing leaves, and frames end neither the gate nor a capture."""

import socket

import pytest

import frames as f
from frames import ACK, SANDBOX4, SANDBOX6, SYN, TCP, UDP, ip, tcp, udp
from internet.services import echo_tcp, echo_udp
from pcap_rig import Captures, echo
from program import wait_until
from test_guest_frames import virtio

pytestmark = pytest.mark.engines(usual=["netns", "podman-rootless"])

PORT = 7070
DENIED4, DENIED6 = "93.184.250.9", "2a00:1::fa09"
SOL_PACKET, PACKET_VNET_HDR, PACKET_QDISC_BYPASS = 263, 15, 20

# One after the other, on a link that is there still afterwards: what is done, and what undoes it.
CHANGES = (
    ("ip link set {0} down; ip link set {0} name way0; ip link set way0 up",
     "ip link set way0 down; ip link set way0 name {0}; ip link set {0} up"),
    ("ip link set {0} mtu 65535", "ip link set {0} mtu 1500"),
    ("ip link set {0} mtu 68", "ip link set {0} mtu 1500"),
    ("ip link set {0} address 02:73:67:00:00:01", "ip link set {0} address {1}"),
    ("ip link add br9 type bridge; ip link set {0} master br9; ip link set br9 up; ip addr add 192.0.0.2/29 dev br9;"
     "ip route replace default dev br9", "ip link set {0} nomaster; ip link del br9"),
    ("ip link add va9 type veth peer name vb9; ip link set va9 up; ip link set vb9 up;"
     "echo 1 >/proc/sys/net/ipv4/ip_forward; ip route replace default dev va9", "ip link del va9"),
    ("ip link add link {0} name m9 type macvlan mode passthru; ip link set m9 up; ip route replace default dev m9",
     "ip link del m9"),
    ("ip link add x9 type vxlan id 9 remote 93.184.250.9 dstport 7070 dev {0}; ip link set x9 up;"
     "ip addr add 10.9.9.1/24 dev x9; ping -c1 -W1 10.9.9.2", "ip link del x9"),
)
# After these there is none: the sandbox has ended.
ENDS = {
    "deleted": "ip link del {0}",
    # In a namespace of one's own in which nobody looks, and set up there as it was.
    "moved": """
unshare -n sleep 30 & there=$!
until [ "$(readlink /proc/$there/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
ip link set {0} netns $there && nsenter -t $there -n sh -c '
ip link set {0} up; ip addr add 192.0.0.2/29 dev {0}; ip route add default via 192.0.0.1
timeout 1 bash -c "exec 3<>/dev/tcp/93.184.250.9/7070"; timeout 1 bash -c "echo escape >/dev/udp/93.184.250.9/7070"'
kill $there""",
}
PROBE = """
import socket, sys
for place in sys.argv[1:]:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        with socket.socket(socket.AF_INET6 if ":" in place else socket.AF_INET, kind) as s:
            s.settimeout(0.3)
            try:
                s.connect((place, 7070))
                s.send(b"escape")
            except OSError:
                pass
"""


@pytest.fixture
def link(world, sandgate):
    """A sandbox's link, as its administrator has it, and the one place that it reaches."""
    if sandgate.engine.own_kernel:
        sandgate.engine.cannot("what it does to its link its own kernel does, and no other sees")
    class Link:
        listed = world.address()
    for address in (Link.listed, DENIED4, DENIED6):
        echo_tcp(world, address, PORT)
        echo_udp(world, address, PORT)
    Link.box = sandgate.box("--only", f"{Link.listed}:{PORT},{Link.listed}:{PORT}/udp", "--as-root")
    Link.wire = f.wire_of(Link.box)
    yield Link
    Link.wire.close()


def shell(link, words):
    link.wire.run(["sh", "-c", words.format(link.wire.device, ":".join(f"{octet:02x}" for octet in link.wire.own))])


def test_whatever_the_link_is_made(world, link):
    """The sandbox may end by it."""
    world.start_watching()
    for change, back in CHANGES:
        shell(link, change)
        link.wire.place.run(["python3", "-c", PROBE, DENIED4, DENIED6])
        assert world.left_the_host(dns=True) == [], change
        shell(link, back)


@pytest.mark.parametrize("end", ENDS)
def test_a_link_that_is_taken_away_ends_the_sandbox(world, sandgate, link, end):
    world.start_watching()
    shell(link, ENDS[end])
    wait_until(lambda: link.box.name not in [row["name"] for row in sandgate.json("ls")], what="the sandbox's end")
    assert world.left_the_host(dns=True) == []


def offloads():
    """Headers of every kind: of a place, a size or a kind that is not the frame's."""
    return [virtio(flags, kind, head, size, start, offset) for flags in (0, 1, 3) for kind in (0, 1, 3, 4, 5, 0x81)
            for head, size, start, offset in (
                (0, 0, 0, 0), (54, 1448, 34, 16), (54, 1, 34, 16), (74, 1440, 54, 16), (42, 1000, 34, 6),
                (62, 8, 54, 6), (0xFFFF, 8, 0, 0), (54, 536, 1250, 16))]


def test_offloads_that_lie(world, sandgate, link, needs):
    """By a packet socket that passes the queue by: segments of one octet, datagrams that are none."""
    needs("tshark")
    captures, gate = Captures(sandgate), link.box.gate_pid
    assert sandgate("pcap", link.box.name, captures.path()).ok
    world.start_watching()
    s = link.wire.place.call(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    for option in PACKET_VNET_HDR, PACKET_QDISC_BYPASS:
        s.setsockopt(SOL_PACKET, option, 1)
    s.bind((link.wire.device, f.IPV4))
    taken = {True: 0, False: 0}
    for source, to in ((SANDBOX4, DENIED4), (SANDBOX6, DENIED6), (SANDBOX4, f.GATE4)):
        for packet in (ip(source, to, TCP, tcp(source, to, PORT, SYN)),
                       ip(source, to, UDP, udp(source, to, 53, bytes(1200))),
                       ip(source, to, TCP, tcp(source, to, PORT, ACK, bytes(3000)))):
            for header in offloads():
                try:
                    s.send(header + link.wire.frame(packet))
                    taken[True] += 1
                except OSError:
                    taken[False] += 1
    s.close()
    assert taken[True] > 100 < taken[False], taken  # or this would show nothing
    echo(link.box, link.listed, PORT, "still here")
    assert {p.destination for p in world.left_the_host(dns=True)} <= {link.listed}
    assert link.box.gate_pid == gate
    assert sandgate("pcap", "--stop", link.box.name).ok
    assert b"still here".hex() in [frame["udp.payload"] for frame in captures.frames(captures.path())]
