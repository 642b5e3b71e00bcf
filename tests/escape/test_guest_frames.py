# SPDX-License-Identifier: Apache-2.0
"""Frames of a kernel that is the attacker's own: what no ordinary program can send, and what only the
monitor of a virtual machine can. Each is refused or made ordinary, and counted; nothing leaves.

test_frames.py has what is the same with every engine.
"""

import os
import random
import re
import struct
import subprocess
import time

import pytest

import frames as f
from frames import ICMPV6, SYN, TCP, UDP, icmp6, ip, ip4, ip6, tcp, udp
from internet.services import echo_tcp, echo_udp
from internet.world import HOST4, HOST6
from machine_link import GATE_MAC, KINDS, OWN_MAC, VmNet, gate_of
from program import HANGS, wait_until

DENIED4, DENIED6 = "93.184.250.9", "2a00:1::fa09"
OWN4, GATE4, OWN6, GATE6 = f.SANDBOX4, f.GATE4, f.SANDBOX6, f.GATE6
SLAAC6 = "fd73:616e:6467:1:73:67ff:fe00:2"
EVERYBODY = b"\xff" * 6
PORT = 7070  # the one that is listed
MTU = 1500


def eth(payload, ethertype=None, to=GATE_MAC, source=OWN_MAC):
    if ethertype is None:
        ethertype = f.IPV6 if payload[0] >> 4 == 6 else f.IPV4
    return to + source + struct.pack("!H", ethertype) + payload


class GuestAttack:
    """A frame socket with the attacker at it, places that may and may not be reached, the verdict."""

    def __init__(self, world, sandgate, kind):
        self.world = world
        self.listed4, self.listed6 = world.address(), world.address6()
        for address in (self.listed4, self.listed6, DENIED4, DENIED6):
            echo_tcp(world, address, PORT)
            echo_udp(world, address, PORT)
        self.net = VmNet(sandgate, kind, "--only", f"{self.listed4}:{PORT},[{self.listed6}]:{PORT},"
                         f"{self.listed4}:{PORT}/udp,[{self.listed6}]:{PORT}/udp")
        self.wire = self.net.connect()
        self.gate_pid = self.net.gate_pid
        world.start_watching()

    def pairs(self):
        """(source, destination), denied and listed."""
        return ((OWN4, DENIED4), (OWN4, self.listed4), (OWN6, DENIED6), (SLAAC6, self.listed6))

    def syns(self, **more):
        return [ip(src, dst, TCP, tcp(src, dst, PORT, **more)) for src, dst in self.pairs()]

    def send(self, *frames):
        self.wire.send(*frames)

    def counted(self, frames, what="noise"):
        """Each of the frames, sent, is one more of `what`, and none leaves the machine."""
        before = self.net.egress()["frames"][what]
        self.send(*frames)
        wait_until(lambda: self.net.egress()["frames"][what] >= before + len(frames), 20, "the count")
        assert self.net.egress()["frames"][what] == before + len(frames)
        self.nothing_left()

    def nothing_left(self):
        assert self.world.left_the_host(dns=True) == []

    def answered_syn(self, dst, source_port):
        """The flags of the answer to a SYN."""
        src = SLAAC6 if ":" in dst else OWN4
        self.send(eth(ip(src, dst, TCP, tcp(src, dst, PORT, source_port=source_port))))
        at = 54 if ":" in dst else 34
        want = struct.pack("!HH", PORT, source_port)
        return self.hear(lambda frame: frame[at:at + 4] == want)[at + 13]

    def hear(self, wanted, timeout=15):
        """The same, while the airlock's questions for link-layer addresses are answered."""
        def look(frame):
            self.answer_neighbour(frame)
            return wanted(frame)
        return self.wire.hear(look, timeout)

    def answer_neighbour(self, frame):
        """Who has an address of the prefix, or a link-local one? This machine."""
        if frame[12:14] != b"\x86\xdd" or frame[20] != ICMPV6 or frame[54] != 135:
            return
        target = frame[62:78]
        own = f.ip_address(target).compressed
        asks = f.ip_address(frame[22:38]).compressed
        body = b"\x60\0\0\0" + target + b"\2\1" + OWN_MAC
        self.send(eth(ip6(own, asks, ICMPV6, icmp6(own, asks, 136, body=body), hops=255)))

    def judge(self):
        """The gate is the same one, refuses what it refused, and carries what it carried."""
        self.nothing_left()
        assert self.net.gate_pid == self.gate_pid, "the gate died"
        port = random.randrange(44000, 60000, 4)
        assert self.answered_syn(DENIED4, port) & f.RST
        assert self.answered_syn(self.listed4, port + 1) == SYN | f.ACK
        assert self.answered_syn(self.listed6, port + 2) == SYN | f.ACK
        self.world.start_watching()

    def close(self):
        self.wire.close()
        self.net.stop()


@pytest.fixture(params=KINDS)
def attack(request, world, sandgate):
    made = GuestAttack(world, sandgate, request.param)
    yield made
    made.close()


@pytest.fixture
def stream(world, sandgate):
    made = GuestAttack(world, sandgate, "stream")
    yield made
    made.close()


# Link layer.

def test_tags(attack):
    """VLAN and QinQ, with every priority, also of no VLAN: never looked through."""
    tags = (b"\0\1", b"\0\0", b"\x0f\xff", b"\xe0\1")
    frames = []
    for syn in attack.syns():
        kind = struct.pack("!H", f.IPV6 if syn[0] >> 4 == 6 else f.IPV4)
        for tag in tags:
            frames.append(eth(tag + kind + syn, f.VLAN))
            frames.append(eth(tag + kind + syn, f.QINQ))
            frames.append(eth(tag + b"\x81\0" + tag + kind + syn, f.QINQ))
            frames.append(eth(tag + b"\x81\0" + tag + kind + syn, f.VLAN))
            frames.append(eth(tag + kind + syn, 0x9100))
    attack.counted(frames)
    attack.judge()


def test_ethertypes(attack):
    """STP, LLDP, IPX, PPPoE, MPLS, 802.1X, flow control, 802.3 lengths, the wrong one for the packet."""
    frames = []
    for syn in attack.syns():
        frames += [eth(syn, kind) for kind in (
            0x0600, 0x0842, 0x22F3, 0x6558, 0x8035, 0x8137, 0x8808, 0x8809, 0x880B, 0x8847, 0x8848, 0x8863,
            0x8864, 0x888E, 0x88A2, 0x88CC, 0x88E5, 0x88F7, 0x8902, 0x8906, 0x8915, 0x9000, 0xFFFF)]
        frames.append(eth(b"\xaa\xaa\3\0\0\0\x08\0" + syn, len(syn) + 8))  # 802.3 with SNAP
        frames.append(eth(b"\xe0\xe0\3" + syn, len(syn) + 3))  # IPX by 802.2
        frames.append(eth(syn, 0))
        frames.append(eth(syn, 1500))
    frames.append(eth(b"\x42\x42\3" + bytes(35), 38, to=bytes.fromhex("0180c2000000")))  # STP
    frames.append(eth(b"\2\7\4" + OWN_MAC + bytes(30), 0x88CC, to=bytes.fromhex("0180c200000e")))  # LLDP
    frames.append(eth(b"\0\1" + bytes(44), 0x8808, to=bytes.fromhex("0180c2000001")))  # pause
    attack.counted(frames)
    attack.judge()


def test_link_layer_addresses_of_others(attack):
    sources = [bytes.fromhex("027367000003"), GATE_MAC, EVERYBODY, bytes(6), bytes.fromhex("01005e000001"),
               os.urandom(5).hex().encode()[:6]]
    attack.counted([eth(syn, source=source) for syn in attack.syns() for source in sources])
    # To somebody else's address, or a group's: there is nobody.
    attack.counted([eth(syn, to=to) for syn in attack.syns() for to in (
        bytes.fromhex("027367000009"), EVERYBODY, bytes.fromhex("01005e000001"), bytes.fromhex("333300000001"),
        bytes.fromhex("0180c2000000"), OWN_MAC)])
    attack.judge()


def test_lengths(attack):
    """Runts, jumbo frames, nothing but a header: refused before any rule."""
    runts = [eth(attack.syns()[0])[:n] for n in (1, 6, 12, 13)]
    jumbo = [eth(bytes(MTU + more)) for more in (1, 4, 100, 7500)]
    attack.counted(runts + jumbo)
    # A header alone, and what the IP header says that is not there, are frames; none is a packet.
    attack.counted([eth(b"", kind) for kind in (0x88B6, 0x88CC)])
    attack.send(eth(b"", f.VLAN), eth(b"\0", f.VLAN), eth(b"\0\1\x08", f.VLAN))  # a tag that is cut
    for syn in attack.syns():
        attack.send(*[eth(syn[:n], f.IPV6 if syn[0] >> 4 == 6 else f.IPV4) for n in range(0, len(syn) - 1, 3)])
    attack.judge()


def test_a_stream_of_lies(stream):
    """Lengths that are none end the connection; the next monitor begins anew."""
    for length in (0xFFFFFFFF, 0x80000000, 69633, 0x01000000):
        before = stream.net.noise()
        stream.wire.socket.sendall(struct.pack("!I", length) + eth(stream.syns()[0]) * 3)
        stream.wire.closed_by_peer()
        stream.wire.close()
        stream.wire = stream.net.connect()
        assert stream.net.noise() == before + 1
    for _ in range(20):  # what is no stream of frames at all
        try:
            stream.wire.socket.sendall(os.urandom(20000))
        except OSError:
            stream.wire.close()
            stream.wire = stream.net.connect()
    stream.wire.close()
    stream.wire = stream.net.connect()
    stream.judge()


# Who one is.

def test_sources_of_others(attack):
    """Not the machine's address, or prefix: link noise, whatever it is for."""
    four = [HOST4, "192.168.77.1", "10.0.0.1", "127.0.0.1", "0.0.0.0", "192.0.0.3", GATE4, "224.0.0.1",
            "255.255.255.255", DENIED4]
    six = [HOST6, "2a00:1::1", "::1", "::", "ff02::1", "fe80::99", "fd73:616e:6467:2::2", "::ffff:93.184.0.1",
           "fd73:616e:6467::2", DENIED6]
    frames = [eth(ip(src, dst, TCP, tcp(src, dst, PORT))) for src in four for dst in (DENIED4, attack.listed4)]
    frames += [eth(ip(src, dst, UDP, udp(src, dst, 53, b"escape"))) for src in four
               for dst in (DENIED4, attack.listed4)]
    frames += [eth(ip(src, dst, TCP, tcp(src, dst, PORT))) for src in six for dst in (DENIED6, attack.listed6)]
    attack.counted(frames)
    # The gate's own address is in the prefix that the machine may take addresses of, and is not one.
    for kind in (TCP, UDP):
        payload = (tcp if kind == TCP else udp)(GATE6, attack.listed6, PORT)
        attack.send(eth(ip6(GATE6, attack.listed6, kind, payload)))
    attack.judge()


def test_every_address_of_the_prefix_is_the_machines(attack):
    for own in (OWN6, SLAAC6, "fd73:616e:6467:1:ffff:ffff:ffff:fffe", "fd73:616e:6467:1::77"):
        attack.send(eth(ip6(own, attack.listed6, UDP, udp(own, attack.listed6, PORT, b"through",
                                                          source_port=47000))))
        answer = attack.hear(lambda frame: frame[12:14] == b"\x86\xdd" and frame[20] == UDP)
        assert answer[38:54] == f.packed(own) and answer[62:] == b"through"


def test_arp_of_others(attack):
    """Claims to be the gate, or anybody: the airlock keeps to what it knows."""
    claims = [GATE4, HOST4, DENIED4, "192.0.0.3", "192.168.77.1"]
    frames = []
    for who in claims:
        for operation in (1, 2):
            body = struct.pack("!HHBBH", 1, f.IPV4, 6, 4, operation) + OWN_MAC + f.packed(who)
            frames.append(eth(body + GATE_MAC + f.packed(OWN4), f.ARP))
            frames.append(eth(body + EVERYBODY + f.packed(who), f.ARP, to=EVERYBODY))
    for operation in (0, 3, 4, 8, 9, 0xFFFF):
        body = struct.pack("!HHBBH", 1, f.IPV4, 6, 4, operation) + OWN_MAC + f.packed(OWN4)
        frames.append(eth(body + GATE_MAC + f.packed(GATE4), f.ARP))
    attack.counted(frames)
    # For its own address with another link-layer address: what the airlock has written down stays.
    body = struct.pack("!HHBBH", 1, f.IPV4, 6, 4, 2) + bytes.fromhex("020000000666") + f.packed(OWN4)
    attack.send(eth(body + GATE_MAC + f.packed(GATE4), f.ARP))
    attack.judge()


def test_neighbours_of_others(attack):
    """Advertisements of addresses that are not the machine's change nothing."""
    for src in (OWN6, "fe80::73:67ff:fe00:2", "::"):
        for target in (GATE6, "fe80::1", DENIED6, HOST6, "ff02::1"):
            for dst in (GATE6, "ff02::1", "fe80::1"):
                for kind, flags in ((135, 0), (136, 0x20), (136, 0xE0)):
                    body = struct.pack("!I", flags << 24) + f.packed(target) + b"\2\1" + OWN_MAC
                    attack.send(eth(ip6(src, dst, ICMPV6, icmp6(src, dst, kind, body=body), hops=255)))
    attack.judge()
    # Not from the next hop.
    attack.counted([eth(ip6("fe80::2", "fe80::1", ICMPV6, icmp6(
        "fe80::2", "fe80::1", kind, body=bytes(4) + f.packed(GATE6)), hops=254)) for kind in (133, 135, 136)])


def dhcp_reply(kind):
    head = struct.pack("!BBBBIHH", 2, 1, 6, 0, 7, 0, 0) + bytes(4) + f.packed("10.6.6.6") * 2 + bytes(4)
    return head + OWN_MAC + bytes(10 + 192) + b"\x63\x82\x53\x63\x35\1" + bytes([kind]) + b"\xff"


def test_rogue_servers(attack):
    """A machine that plays DHCP server or router is heard by nobody."""
    frames = []
    for kind in (2, 5, 6):
        for src, dst in ((OWN4, "255.255.255.255"), ("0.0.0.0", "255.255.255.255")):
            frames.append(eth(ip4(src, dst, UDP, udp(src, dst, 68, dhcp_reply(kind), source_port=67)),
                              to=EVERYBODY))
    offer = b"\1\1" + OWN_MAC + b"\5\1\0\0\0\0\5\0"
    for src in ("fe80::73:67ff:fe00:2", OWN6):
        for dst, to in (("ff02::1", bytes.fromhex("333300000001")), ("fe80::1", GATE_MAC), (GATE6, GATE_MAC)):
            body = struct.pack("!BBHII", 64, 0x80, 1800, 0, 0) + offer
            if (src, dst) != (OWN6, GATE6):  # one for the gate's address is an ICMP packet, and refused as one
                frames.append(eth(ip6(src, dst, ICMPV6, icmp6(src, dst, 134, body=body), hops=255), to=to))
            if dst != GATE6:
                frames.append(eth(ip6(src, dst, ICMPV6, icmp6(src, dst, 137, body=bytes(4) + f.packed(DENIED6) * 2),
                                      hops=255), to=to))
    # DHCPv6 is not spoken here.
    frames.append(eth(ip6("fe80::2", "ff02::1:2", UDP, udp("fe80::2", "ff02::1:2", 547, b"\1\0\0\7",
                                                           source_port=546)), to=bytes.fromhex("333300010002")))
    attack.counted(frames)
    attack.judge()


def test_solicitations_that_are_none(attack):
    """Counted by the gate, with no answer."""
    all_routers, src = bytes.fromhex("333300000002"), "fe80::73:67ff:fe00:2"
    bodies = [bytes(4) + b"\1\0" + OWN_MAC, bytes(4) + b"\1", bytes(4) + b"\1\2" + OWN_MAC, bytes(3)]
    frames = [eth(ip6(src, "ff02::2", ICMPV6, icmp6(src, "ff02::2", 133, body=body), hops=255), to=all_routers)
              for body in bodies]
    frames.append(eth(ip6(src, "ff02::2", ICMPV6, icmp6(src, "ff02::2", 133, 1, bytes(4)), hops=255),
                      to=all_routers))
    frames.append(eth(ip6("::", "ff02::2", ICMPV6, icmp6("::", "ff02::2", 133, body=bytes(4) + b"\1\1" + OWN_MAC),
                          hops=255), to=all_routers))
    attack.counted(frames)
    attack.judge()


def test_local_chatter(attack):
    """mDNS, SSDP, LLMNR, NetBIOS, IGMP, MLD: what machines say to all, unasked."""
    frames = []
    for dst, port in (("224.0.0.251", 5353), ("239.255.255.250", 1900), ("224.0.0.252", 5355),
                      ("255.255.255.255", 137), ("255.255.255.255", 9)):
        to = EVERYBODY if dst.startswith("255") else b"\x01\0\x5e" + bytes([f.packed(dst)[1] & 127]) + \
            f.packed(dst)[2:]
        frames.append(eth(ip4(OWN4, dst, UDP, udp(OWN4, dst, port, b"escape")), to=to))
    frames.append(eth(ip4(OWN4, "224.0.0.22", 2, b"\x22\0\xf9\2\0\0\0\1\4\0\0\0\xe0\0\0\xfb", options=b"\x94\4\0\0"),
                      to=bytes.fromhex("01005e000016")))
    for dst in ("ff02::fb", "ff02::1:3", "ff02::16", "ff0e::1"):
        frames.append(eth(ip6(SLAAC6, dst, UDP, udp(SLAAC6, dst, 5353, b"escape")),
                          to=b"\x33\x33" + f.packed(dst)[-4:]))
    attack.counted(frames)
    attack.judge()


# Fragments: made whole by the airlock's kernel, or nothing.

def cut4(src, dst, protocol, data, size, ident, order=1):
    parts = range(0, len(data), size)
    return [eth(ip4(src, dst, protocol, data[i:i + size], flags=1 if i + size < len(data) else 0, offset=i // 8,
                    ident=ident)) for i in list(parts)[::order]]


def cut6(src, dst, protocol, data, size, ident, order=1):
    parts = range(0, len(data), size)
    return [eth(ip6(src, dst, 44, struct.pack("!BBHI", protocol, 0, i | (i + size < len(data)), ident)
                    + data[i:i + size])) for i in list(parts)[::order]]


def of_udp(frame):
    return (frame[12:14] == b"\x08\0" and frame[23] == UDP) or (frame[12:14] == b"\x86\xdd" and frame[20] == UDP)


def test_fragments_are_made_whole(attack):
    """A datagram in pieces leaves in one, or as the host's kernel cuts it; the answer comes back."""
    for order in (1, -1):
        for src, dst, cut, at in ((OWN4, attack.listed4, cut4, 42), (SLAAC6, attack.listed6, cut6, 62)):
            payload = os.urandom(1200)
            datagram = udp(src, dst, PORT, payload, source_port=46000)
            attack.send(*cut(src, dst, UDP, datagram, 256, 77 + order, order))
            assert attack.hear(of_udp)[at:] == payload
    atomic = struct.pack("!BBHI", UDP, 0, 0, 99) + udp(SLAAC6, attack.listed6, PORT, b"alone", source_port=46000)
    attack.send(eth(ip6(SLAAC6, attack.listed6, 44, atomic)))
    assert attack.hear(of_udp)[62:] == b"alone"
    for packet in attack.world.left_the_host():
        assert packet.destination in (attack.listed4, attack.listed6) and packet.protocol == UDP


def test_fragments_of_what_is_not_admitted(attack):
    for src, dst, cut in ((OWN4, DENIED4, cut4), (OWN6, DENIED6, cut6)):
        attack.send(*cut(src, dst, UDP, udp(src, dst, PORT, b"escape" * 50), 8, 1))
        attack.send(*cut(src, dst, TCP, tcp(src, dst, PORT, payload=b"escape" * 50), 8, 2))
        attack.send(*cut(src, dst, UDP, udp(src, dst, PORT, b"escape" * 50), 64, 3)[:-1])
    # Beyond 65,535; of nothing; with a hole; of a fragment.
    attack.send(eth(ip4(OWN4, DENIED4, UDP, bytes(1400), offset=8191, ident=6)),
                eth(ip4(OWN4, DENIED4, UDP, b"", flags=1, ident=7)),
                eth(ip4(OWN4, DENIED4, UDP, bytes(64), flags=1, offset=100, ident=8)),
                eth(ip6(OWN6, DENIED6, 44, struct.pack("!BBHI", 44, 0, 0, 9) + struct.pack("!BBHI", TCP, 0, 0, 9)
                        + tcp(OWN6, DENIED6, PORT))),
                eth(ip6(OWN6, DENIED6, 44, struct.pack("!BBHI", UDP, 0, 65528 | 1, 10) + bytes(64))))
    for n in range(2000):  # many that never come to an end
        attack.send(eth(ip4(OWN4, DENIED4, UDP, bytes(64), flags=1, offset=n % 100, ident=10000 + n)))
    attack.judge()


def test_overlapping_fragments(attack):
    """Other data in the place of what was there already: what came first counts, or nothing does."""
    first = b"escape" * 40
    whole = udp(OWN4, attack.listed4, PORT, first)
    for bad in (eth(ip4(OWN4, attack.listed4, UDP, b"\xff" * 64, flags=1, offset=8, ident=4)),
                eth(ip4(OWN4, attack.listed4, UDP, b"\xff" * 64, flags=1, offset=4, ident=4)),
                eth(ip4(OWN4, attack.listed4, UDP, b"\xff" * 512, flags=1, offset=0, ident=4))):
        pieces = cut4(OWN4, attack.listed4, UDP, whole, 64, 4)
        attack.send(*pieces[:-1], bad, pieces[-1])
    whole = udp(OWN6, attack.listed6, PORT, first)
    for offset, n in ((64, 64), (32, 64), (0, 512)):
        pieces = cut6(OWN6, attack.listed6, UDP, whole, 64, 5 + n)
        bad = eth(ip6(OWN6, attack.listed6, 44, struct.pack("!BBHI", UDP, 0, offset | 1, 5 + n) + b"\xff" * n))
        attack.send(*pieces[:-1], bad, pieces[-1])
    for packet in attack.world.left_the_host(dns=True):
        assert packet.destination in (attack.listed4, attack.listed6)
        assert not packet.payload.replace(first, b"")  # once, or several in one run
    attack.world.start_watching()
    attack.judge()


def test_dhcp_in_fragments_is_nothing_special(attack):
    """Nothing reaches the DHCP socket that is not a whole datagram of the machine's."""
    discover = struct.pack("!BBBBIHH", 1, 1, 6, 0, 7, 0, 0) + bytes(16) + OWN_MAC + bytes(202) + \
        b"\x63\x82\x53\x63\x35\1\1\xff"
    for src, dst, to in (("0.0.0.0", "255.255.255.255", EVERYBODY), (OWN4, GATE4, GATE_MAC)):
        datagram = udp(src, dst, 67, discover, source_port=68)
        for i in range(0, len(datagram), 64):
            attack.send(eth(ip4(src, dst, UDP, datagram[i:i + 64], flags=1 if i + 64 < len(datagram) else 0,
                                offset=i // 8, ident=11), to=to))
    for src in (HOST4, DENIED4, GATE4):
        attack.send(eth(ip4(src, "255.255.255.255", UDP, udp(src, "255.255.255.255", 67, discover, source_port=68)),
                        to=EVERYBODY))
    attack.judge()


def test_noise_of_a_machine(attack):
    """Random octets behind plausible heads, for a while."""
    heads = [eth(b"", kind) for kind in (f.IPV4, f.IPV6, f.ARP, f.VLAN, 0x88CC)] + [b"", EVERYBODY + OWN_MAC]
    syns = attack.syns()
    for n in range(4000):
        frame = random.choice(heads) + os.urandom(random.randrange(0, 200))
        if n % 3 == 0:
            mangled = bytearray(eth(random.choice(syns)))
            for _ in range(random.randrange(1, 6)):
                mangled[random.randrange(len(mangled))] = random.randrange(256)
            # Never by chance to a place that is listed.
            frame = bytes(mangled)
            if f.packed(attack.listed4) in frame or f.packed(attack.listed6) in frame:
                continue
        attack.send(frame)
    attack.judge()


# What a monitor can write to the device itself: a header of virtio's before each frame.

MONITOR = """
import os, sys
fd = int(os.environ["SANDGATE_TAP_FD"])
taken = 0
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        print(taken, flush=True)
        continue
    try:
        taken += os.write(fd, bytes.fromhex(line.strip())) > 0
    except OSError:
        pass
"""


class Monitor:
    """`sandgate vm-net NAME -- MONITOR`, which writes what it is told."""

    def __init__(self, world, sandgate, *options):
        self.sandgate, self.name = sandgate, sandgate.new_name()
        self.machine = sandgate.world.machine
        self.process = self.machine.popen(
            [sandgate.path, "vm-net", *options, self.name, "--", "python3", "-u", "-c", MONITOR],
            sandgate.person, cwd=self.machine.new_work(sandgate.person), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._expect("ready")

    def _expect(self, pattern):
        line = self.process.stdout.readline()
        assert re.fullmatch(pattern, line.strip()), (line, self.process.poll() is not None
                                                     and self.process.stderr.read())
        return line.strip()

    def write(self, *frames):
        """(header, frame); how many the device took."""
        for header, frame in frames:
            self.process.stdin.write((header + frame).hex() + "\n")
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        return int(self._expect(r"\d+"))

    def noise(self):
        return self.sandgate.json("egress", self.name)["frames"]["noise"]

    def settled_noise(self):
        """When the gate has seen all that was written."""
        seen = [self.noise()]
        while len(seen) < 5 or len(set(seen[-5:])) > 1:
            time.sleep(0.1)
            seen.append(self.noise())
        return seen[-1]

    def close(self):
        self.process.stdin.close()
        self.process.wait(HANGS)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def monitor(world, sandgate):
    made = []

    def make(*options):
        made.append(Monitor(world, sandgate, *options))
        return made[-1]
    yield make
    for one in made:
        one.close()


def virtio(flags=0, gso=0, head=0, size=0, start=0, offset=0):
    return struct.pack("=BBHHHH", flags, gso, head, size, start, offset)


def test_headers_that_lie(world, monitor):
    """Offloads of a size, place or kind that is not there: refused by the device, or made ordinary."""
    listed = world.address()
    echo_tcp(world, listed, PORT)
    vm = monitor("--only", f"{listed}:{PORT}")
    gate = gate_of(vm.machine, vm.sandgate.person, vm.name)
    world.start_watching()
    plain = virtio()
    syns = [eth(ip(src, dst, TCP, tcp(src, dst, PORT, payload=bytes(1200)))) for src, dst in
            ((OWN4, DENIED4), (OWN6, DENIED6))]
    datagrams = [eth(ip(src, dst, UDP, udp(src, dst, PORT, b"escape" * 200))) for src, dst in
                 ((OWN4, DENIED4), (OWN6, DENIED6))]
    headers = [virtio(flags, gso, head, size, start, offset)
               for flags in (0, 1, 2, 3, 0xFF)
               for gso in (0, 1, 3, 4, 5, 0x81, 0x7F, 0xFF)
               for head, size, start, offset in (
                   (0, 0, 0, 0), (54, 1, 34, 16), (54, 0xFFFF, 34, 16), (0xFFFF, 536, 34, 16), (54, 536, 0xFFFF, 16),
                   (54, 536, 34, 0xFFFF), (54, 536, 1250, 16), (0, 8, 0, 0), (14, 536, 54, 6), (74, 100, 54, 16))]
    wanted = [(header, frame) for header in headers for frame in syns + datagrams]
    taken = vm.write(*wanted)
    # No offload that is not asked for rightly; and some are, or this would show nothing.
    assert 0 < taken < len(wanted)
    # Headers alone, and cut.
    vm.write((plain, b""), (plain[:9], b""), (b"", b""), (plain, eth(b"", f.IPV4)[:13]), (virtio(1, 1, 54, 1, 34, 16), b"x"))
    # What is a packet of 64 KiB by its header, and by its length.
    long = tcp(OWN4, DENIED4, PORT, f.ACK, bytes(60000))
    vm.write((virtio(1, 1, 54, 1448, 34, 16), eth(ip4(OWN4, DENIED4, TCP, long))),
             (virtio(1, 1, 54, 1, 34, 16), eth(ip4(OWN4, DENIED4, TCP, long))),
             (plain, eth(ip4(OWN4, DENIED4, TCP, long))))
    # Tags, spoofed addresses and foreign ethertypes are no less refused behind an offload's header.
    before = vm.settled_noise()
    noise = [eth(b"\0\1\x08\0" + syns[0][14:], f.VLAN), eth(syns[0][14:], source=GATE_MAC), eth(syns[0][14:], 0x88CC),
             eth(ip4(HOST4, DENIED4, TCP, tcp(HOST4, DENIED4, PORT)))]
    assert vm.write(*[(plain, frame) for frame in noise])
    wait_until(lambda: vm.noise() >= before + len(noise), 20, "the count")
    assert vm.settled_noise() == before + len(noise)
    assert world.left_the_host(dns=True) == []
    assert gate_of(vm.machine, vm.sandgate.person, vm.name) == gate
