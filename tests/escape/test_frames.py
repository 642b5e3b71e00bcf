# SPDX-License-Identifier: Apache-2.0
"""Frames put on the sandbox's own link with every capability: nothing of them leaves the machine.

The judge is the capture. A frame for a place that is not listed leaves nothing; one for a listed
place leaves at most what the gate dials: an ordinary connection of the machine's own.
"""

import os
import random
import signal
import struct
import time

import pytest

import frames as f
from frames import (ACK, FIN, ICMP, ICMPV6, PSH, RST, SANDBOX4, SANDBOX6, SYN, TCP, UDP, URG, icmp, icmp6,
                    ip, ip4, ip6, tcp, udp)
from internet.services import echo_tcp, echo_udp
from internet.world import HOST4, HOST6
from program import wait_until

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

DENIED4, DENIED6 = "93.184.250.9", "2a00:1::fa09"
PORT = 7070  # the one that is listed


class Attack:
    """A sandbox under attack, the places it may and may not reach, and the verdict."""

    def __init__(self, world, sandgate):
        self.world = world
        self.listed4, self.listed6 = world.address(), world.address6()
        for address in (self.listed4, self.listed6, DENIED4, DENIED6):
            echo_tcp(world, address, PORT)
        self.box = sandgate.box("--only", f"{self.listed4}:{PORT},[{self.listed6}]:{PORT}", "--as-root")
        self.wire = f.wire_of(self.box)
        self.gate_pid = self.box.gate_pid
        world.start_watching()

    def pairs(self):
        """(own source, place) for listed and denied, both families."""
        return [(SANDBOX4, DENIED4), (SANDBOX6, DENIED6), (SANDBOX4, self.listed4),
                (SANDBOX6, self.listed6)]

    def send(self, *payloads, **more):
        for payload in payloads:
            self.wire.send(self.wire.frame(payload, **more))

    def ordinary(self, packet):
        """What the gate may dial for a listed place: TCP from the machine's own address, no tricks."""
        if packet.destination not in (self.listed4, self.listed6) or packet.protocol != TCP:
            return False
        plain = packet.raw[14] == 0x45 if packet.ethertype == f.IPV4 else packet.raw[20] == TCP
        fragment = packet.ethertype == f.IPV4 and struct.unpack_from("!H", packet.raw, 20)[0] & 0x3FFF
        return (packet.source in (HOST4, HOST6) and packet.port == PORT and plain and not fragment
                and not packet.flags & URG and b"escape" not in packet.payload)

    def judge(self, alive=True):
        """Nothing left but the ordinary, and the gate is the same one and still works."""
        left = [p for p in self.world.left_the_host(dns=True) if not self.ordinary(p)]
        assert left == []
        assert self.box.gate_pid == self.gate_pid, "the gate died"
        if alive:
            got = self.box.python("report(r=[try_dial(a, 7070)[0] for a in sys.argv[1:]])",
                                  self.listed4, self.listed6)
            assert got.json["r"] == ["connected", "connected"]


@pytest.fixture
def attack(world, sandgate):
    made = Attack(world, sandgate)
    yield made
    made.wire.close()


@pytest.mark.engines
def test_an_ordinary_syn_by_hand_is_dialled(attack):
    """The wire works: a SYN for the listed place is answered, one for another is reset."""
    attack.send(ip4(SANDBOX4, attack.listed4, TCP, tcp(SANDBOX4, attack.listed4, PORT)),
                ip4(SANDBOX4, DENIED4, TCP, tcp(SANDBOX4, DENIED4, PORT)))

    def flags(frames):
        return {frame[26:30]: frame[14 + 20 + 13] for frame in frames
                if frame[12:14] == b"\x08\0" and frame[23] == TCP}
    answers = flags(attack.wire.heard_until(lambda frames: len(flags(frames)) == 2))
    assert answers[f.packed(attack.listed4)] == SYN | ACK
    assert answers[f.packed(DENIED4)] & RST
    assert len(attack.world.left_the_host(to=attack.listed4)) >= 1
    attack.judge()


SPOOFED4 = [HOST4, "192.168.77.1", "93.184.0.1", "127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1",
            "192.0.0.1", "192.0.0.3", "10.0.0.1", "169.254.1.1"]
SPOOFED6 = [HOST6, "2a00:99::1", "2a00:1::1", "::1", "::", "ff02::1", "fd73:616e:6467:1::1",
            "fe80::1234", "::ffff:93.184.0.1", "64:ff9b::1"]


@pytest.mark.engines
def test_spoofed_sources(attack):
    for sources, dst, listed in ((SPOOFED4, DENIED4, attack.listed4), (SPOOFED6, DENIED6, attack.listed6)):
        for src in sources:
            for to in (dst, listed):
                attack.send(ip(src, to, TCP, tcp(src, to, PORT)), ip(src, to, UDP, udp(src, to, 53, b"escape")),
                            ip(src, to, UDP, udp(src, to, PORT, b"escape")))
            kind = icmp(8) if ":" not in src else icmp6(src, dst, 128)
            attack.send(ip(src, dst, ICMP if ":" not in src else ICMPV6, kind))
    time.sleep(0.2)
    # Not even the listed place hears of a packet that claims to be from somebody else.
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()


@pytest.mark.engines
def test_spoofed_link_layer_addresses(attack):
    syn = ip4(SANDBOX4, DENIED4, TCP, tcp(SANDBOX4, DENIED4, PORT))
    for source in (b"\xff" * 6, bytes(6), attack.wire.gate, b"\x01\0\x5e\0\0\1", os.urandom(6)):
        attack.send(syn, source=source)
    for to in (b"\xff" * 6, b"\x01\0\x5e\0\0\1", b"\x33\x33\0\0\0\1", b"\x01\x80\xc2\0\0\0", os.urandom(6)):
        attack.send(syn, ip4(SANDBOX4, attack.listed4, TCP, tcp(SANDBOX4, attack.listed4, PORT)), to=to)
    attack.judge()


@pytest.mark.engines
def test_tags_and_odd_ethertypes(attack):
    """VLAN, QinQ, and everything that is neither IP nor neighbour discovery is link noise."""
    before = attack.box.egress()["frames"]["noise"]
    inner = [ip(s, d, TCP, tcp(s, d, PORT)) for s, d in attack.pairs()]
    for payload in inner:
        kind = struct.pack("!H", f.IPV6 if payload[0] >> 4 == 6 else f.IPV4)
        for tag in (b"\0\1", b"\0\0", b"\x0f\xff", b"\xe0\1"):
            attack.send(tag + kind + payload, ethertype=f.VLAN)
            attack.send(tag + struct.pack("!H", f.VLAN) + tag + kind + payload, ethertype=f.QINQ)
        for ethertype in (0x0000, 0x002E, 0x05DC, 0x0600, 0x0842, 0x6558, 0x8035, 0x809B, 0x8137, 0x8847,
                          0x8848, 0x8863, 0x8864, 0x888E, 0x88A2, 0x88CC, 0x88E5, 0x88F7, 0x8906, 0x8915,
                          0x9000, 0xFFFF, 0x88B6):
            attack.send(payload, ethertype=ethertype)
        attack.send(payload, ethertype=f.IPV6 if payload[0] >> 4 == 4 else f.IPV4)  # the wrong one
    attack.send(b"\xaa\xaa\x03\0\0\0\x08\0" + inner[0], ethertype=len(inner[0]) + 8)  # LLC/SNAP
    attack.send(b"\x42\x42\x03" + bytes(35), ethertype=38, to=b"\x01\x80\xc2\0\0\0")  # spanning tree
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()
    assert attack.box.egress()["frames"]["noise"] > before + 100


def test_arp_and_neighbours_of_others(attack):
    for operation in (1, 2, 3, 8, 9, 0xFFFF):
        for who in (HOST4, f.GATE4, DENIED4, "192.168.77.1"):
            arp = (struct.pack("!HHBBH", 1, f.IPV4, 6, 4, operation) + attack.wire.own + f.packed(who)
                   + b"\xff" * 6 + f.packed("192.168.77.1"))
            attack.send(arp, ethertype=f.ARP, to=b"\xff" * 6)
            attack.send(arp, ethertype=f.ARP)
    for kind in (133, 134, 135, 136, 137):  # solicitations, advertisements, redirects
        for src in (SANDBOX6, f.GATE6, "fe80::1", "::"):
            body = bytes(4) + f.packed(DENIED6) + b"\2\1" + attack.wire.own
            if kind == 134:  # a router that offers itself, its prefix, and its DNS
                body = struct.pack("!BBHII", 64, 0x80, 1800, 0, 0) + b"\1\1" + attack.wire.own
            for dst in (f.GATE6, "ff02::1", "ff02::2", DENIED6):
                attack.send(ip6(src, dst, ICMPV6, icmp6(src, dst, kind, body=body), hops=255))
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()


@pytest.mark.engines
def test_fragments(attack):
    """Tiny, overlapping, without an end, beyond 65,535: reassembled by the kernel or dropped."""
    for src, dst in ((SANDBOX4, DENIED4), (SANDBOX4, attack.listed4)):
        whole = tcp(src, dst, PORT, payload=b"escape" * 8)
        datagram = udp(src, dst, PORT, b"escape" * 100)
        for ident, protocol, data in ((1, TCP, whole), (2, UDP, datagram)):
            cut = [(i, data[i:i + 8]) for i in range(0, len(data), 8)]
            for i, part in cut:
                attack.send(ip4(src, dst, protocol, part, flags=1 if i + 8 < len(data) else 0,
                                offset=i // 8, ident=ident))
            for i, part in reversed(cut):
                attack.send(ip4(src, dst, protocol, part, flags=1 if i + 8 < len(data) else 0,
                                offset=i // 8, ident=ident + 10))
            attack.send(ip4(src, dst, protocol, data[:8], flags=1, ident=ident + 20))
            attack.send(ip4(src, dst, protocol, data, flags=1, ident=ident + 21))
            attack.send(ip4(src, dst, protocol, data[:24], flags=1, ident=ident + 22),
                        ip4(src, dst, protocol, b"\0" * 16, offset=1, ident=ident + 22))
            attack.send(ip4(src, dst, protocol, data, offset=8191, ident=ident + 23))
            attack.send(ip4(src, dst, protocol, b"", flags=1, ident=ident + 24))
    for src, dst in ((SANDBOX6, DENIED6), (SANDBOX6, attack.listed6)):
        data = tcp(src, dst, PORT, payload=b"escape")
        atomic = struct.pack("!BBHI", TCP, 0, 0, 7) + data
        attack.send(ip6(src, dst, 44, atomic))
        for i in range(0, len(data), 8):
            more = 1 if i + 8 < len(data) else 0
            attack.send(ip6(src, dst, 44, struct.pack("!BBHI", TCP, 0, i | more, 8) + data[i:i + 8]))
        attack.send(ip6(src, dst, 44, struct.pack("!BBHI", TCP, 0, 1, 9) + data[:8]),
                    ip6(src, dst, 44, struct.pack("!BBHI", 44, 0, 0, 9) + atomic))
    for n in range(300):  # many that never come to an end
        attack.send(ip4(SANDBOX4, DENIED4, UDP, bytes(1400), flags=1, offset=n, ident=5000 + n))
    attack.judge()


@pytest.mark.engines
def test_tcp_that_is_no_syn(attack):
    """ACK scans, FIN, NULL, XMAS, SYN with other flags: answered here or dropped."""
    for src, dst in attack.pairs():
        for flags in range(64):
            if flags & (SYN | ACK | RST | FIN) == SYN:
                continue
            attack.send(ip(src, dst, TCP, tcp(src, dst, PORT, flags, b"escape", source_port=41000 + flags)))
    time.sleep(0.2)
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()


def test_syn_with_data_and_odd_options(attack):
    """SYN with data, fast open, bad checksums, long options: the gate dials its own, if at all."""
    cookies = [b"\x22\x02", b"\x22\x0a" + bytes(8), b"\xfe\x04\xf9\x89", b"\x13\x12" + bytes(16),
               b"\x05\x22" + bytes(32), b"\x02\x04\0\0", b"\x03\x03\xff", b"\x02\xff", b"\x08\x01",
               b"\x1e\x0c" + bytes(10), b"\x01" * 40]
    for number, (src, dst) in enumerate(attack.pairs()):
        for i, options in enumerate(cookies):
            attack.send(ip(src, dst, TCP, tcp(src, dst, PORT, SYN, b"escape", options=options,
                                              source_port=42000 + i + 100 * number)))
        attack.send(ip(src, dst, TCP, tcp(src, dst, PORT, SYN | URG | PSH, b"escape", source_port=42900)),
                    ip(src, dst, TCP, tcp(src, dst, PORT, SYN, b"escape", good=False, source_port=42901)),
                    ip(src, dst, TCP, tcp(src, dst, PORT, SYN, reserved=15, source_port=42902)),
                    ip(src, dst, TCP, tcp(src, dst, PORT, SYN)[:14]),
                    ip(src, dst, TCP, tcp(src, dst, PORT, SYN)[:19]),
                    ip(src, dst, TCP, tcp(src, dst, 0, SYN)),
                    ip(src, dst, TCP, tcp(src, dst, PORT, SYN, source_port=0)))
    time.sleep(0.3)
    attack.judge()


def test_ipv4_options(attack):
    """Source routing, record route, time stamps, router alert: never carried outside."""
    hop = f.packed("192.168.77.1")
    for options in (b"\x83\x07\x04" + hop, b"\x89\x07\x04" + hop, b"\x83\x0b\x08" + hop + hop,
                    b"\x07\x07\x04" + bytes(4), b"\x44\x0c\x05\x01" + bytes(8), b"\x94\x04\0\0",
                    b"\x82\x0b" + bytes(9), b"\x86\x0a" + bytes(8), b"\x83\x03\x04", b"\x83\xff\x04" + hop,
                    b"\x01" * 40, b"\xff\x04\0\0"):
        for dst in (DENIED4, attack.listed4, HOST4, f.GATE4):
            for protocol, payload in ((TCP, tcp(SANDBOX4, dst, PORT)), (UDP, udp(SANDBOX4, dst, 53, b"escape")),
                                      (ICMP, icmp(8))):
                attack.send(ip4(SANDBOX4, dst, protocol, payload, options=options))
    time.sleep(0.2)
    attack.judge()


def test_ipv6_extension_headers(attack):
    for dst in (DENIED6, attack.listed6, HOST6, f.GATE6):
        syn = tcp(SANDBOX6, dst, PORT)
        pad = b"\1\4\0\0\0\0"
        routing = [bytes([TCP, 2, kind, 1, 0, 0, 0, 0]) + f.packed(attack.listed6 if dst == DENIED6 else DENIED6)
                   for kind in (0, 2, 3, 253)]
        segments = bytes([TCP, 2, 4, 1, 0, 0, 0, 0]) + f.packed(DENIED6)
        chains = [(0, bytes([TCP, 0]) + pad), (60, bytes([TCP, 0]) + pad), (43, segments),
                  *[(43, r) for r in routing], (0, bytes([60, 0]) + pad + bytes([TCP, 0]) + pad),
                  (60, bytes([60, 0]) + pad * 1 + (bytes([60, 0]) + pad) * 30 + bytes([TCP, 0]) + pad),
                  (51, bytes([TCP, 4, 0, 0]) + bytes(20)), (50, bytes(24)), (59, b""), (135, bytes([TCP, 0]) + pad),
                  (139, bytes([TCP, 0]) + pad), (0, bytes([TCP, 0]) + b"\xc2\4\0\1\0\0"),
                  (0, bytes([TCP, 0]) + b"\5\2\0\0\1\0"), (60, bytes([TCP, 255]) + pad), (253, b"")]
        for first, header in chains:
            attack.send(ip6(SANDBOX6, dst, first, header + syn))
        attack.send(ip6(SANDBOX6, dst, 0, bytes([17, 0]) + pad + udp(SANDBOX6, dst, 53, b"escape")))
    time.sleep(0.2)
    attack.judge()


def test_other_protocols(attack):
    """Every protocol number but TCP, UDP and ICMP: refused or dropped, nothing leaves."""
    inner = ip4(HOST4, DENIED4, TCP, tcp(HOST4, DENIED4, PORT))
    for number in range(256):
        if number in (TCP, UDP):
            continue
        for src, dst in attack.pairs():
            attack.send(ip(src, dst, number, inner if number in (4, 41, 47, 94) else b"escape" * 4))
    time.sleep(0.3)
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()


@pytest.mark.engines
def test_multicast_and_broadcast(attack):
    """mDNS, SSDP, LLMNR, NetBIOS, DHCP, IGMP: local chatter stays inside."""
    for dst, port in (("224.0.0.251", 5353), ("239.255.255.250", 1900), ("224.0.0.252", 5355),
                      ("255.255.255.255", 67), ("192.168.77.255", 137), ("192.0.0.7", 9), ("224.0.0.1", 1)):
        datagram = ip4(SANDBOX4, dst, UDP, udp(SANDBOX4, dst, port, b"escape"))
        attack.send(datagram)
        attack.send(datagram, to=b"\xff" * 6)
        attack.send(datagram, to=b"\x01\0\x5e" + f.packed(dst)[1:])
    for dst in ("ff02::1", "ff02::2", "ff02::fb", "ff02::1:2", "ff05::2", "ff0e::1", "ff01::1", "ff02::16"):
        datagram = ip6(SANDBOX6, dst, UDP, udp(SANDBOX6, dst, 5353, b"escape"))
        attack.send(datagram)
        attack.send(datagram, to=b"\x33\x33" + f.packed(dst)[-4:])
    attack.send(ip4("0.0.0.0", "255.255.255.255", UDP, udp("0.0.0.0", "255.255.255.255", 67, bytes(300))),
                to=b"\xff" * 6)
    attack.send(ip4(SANDBOX4, "224.0.0.22", 2, b"\x22\0\0\0\0\0\0\1\4\0\0\0\xe0\0\0\xfb", options=b"\x94\4\0\0"))
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()


def test_icmp_of_every_kind(attack):
    """Redirects, unreachables with a packet inside, time stamps, masks: only echo is looked at."""
    inside4 = ip4(DENIED4, SANDBOX4, TCP, tcp(DENIED4, SANDBOX4, PORT))[:28]
    inside6 = ip6(DENIED6, SANDBOX6, TCP, tcp(DENIED6, SANDBOX6, PORT))[:48]
    for kind in range(256):
        for dst in (DENIED4, f.GATE4, HOST4):
            attack.send(ip4(SANDBOX4, dst, ICMP, icmp(kind, 1, f.packed("192.168.77.1") + inside4)))
        for dst in (DENIED6, f.GATE6, HOST6):
            attack.send(ip6(SANDBOX6, dst, ICMPV6, icmp6(SANDBOX6, dst, kind, 1, bytes(4) + inside6)))
    time.sleep(0.2)
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()


def test_addresses_of_the_machine_and_of_no_one(attack):
    """Loopback, link-local, the machine's own, the gate's own, the unspecified."""
    targets = ["127.0.0.1", "127.0.0.53", "0.0.0.0", HOST4, "192.168.77.1", "169.254.169.254", f.GATE4,
               "192.0.0.3", "255.255.255.255", "240.0.0.1", "::1", "::", HOST6, "2a00:99::1", "fe80::1", f.GATE6,
               "fd73:616e:6467:1::3", "::ffff:93.184.0.1", "64:ff9b::5db8:1"]
    listeners = [attack.world.machine.listen(a, PORT) for a in ("0.0.0.0", "::1")]
    for dst in targets:
        src = SANDBOX6 if ":" in dst else SANDBOX4
        for port in (22, 53, 80, PORT, 61000):
            attack.send(ip(src, dst, TCP, tcp(src, dst, port, source_port=43000 + port % 1000)))
        attack.send(ip(src, dst, UDP, udp(src, dst, 111, b"escape")))
    time.sleep(0.3)
    for listener in listeners:
        listener.settimeout(0.05)
        with pytest.raises(TimeoutError):
            listener.accept()
        listener.close()
    attack.judge()


def test_every_port_of_a_place_that_is_not_listed(attack):
    """The bypass list: a full port sweep. Each SYN is answered with RST and none leaves."""
    frames = [attack.wire.frame(ip4(SANDBOX4, DENIED4, TCP, tcp(SANDBOX4, DENIED4, port,
                                                                  source_port=1024 + port % 60000)))
              for port in range(1, 65536, 1 if os.environ.get("SANDGATE_FULL") else 7)]
    for i in range(0, len(frames), 500):
        attack.wire.send(*frames[i:i + 500])
        time.sleep(0.005)
    time.sleep(0.3)
    assert attack.world.left_the_host(dns=True) == []
    attack.judge()


@pytest.mark.engines
def test_mangled_headers(attack):
    syn4 = tcp(SANDBOX4, DENIED4, PORT)
    syn6 = tcp(SANDBOX6, DENIED6, PORT)
    for more in ({"ihl": 4}, {"ihl": 0}, {"ihl": 15}, {"length": 19}, {"length": 0}, {"length": 65535},
                 {"version": 5}, {"version": 6}, {"ttl": 0}, {"ttl": 1}, {"flags": 4}, {"flags": 7}):
        attack.send(ip4(SANDBOX4, DENIED4, TCP, syn4, **more), ethertype=f.IPV4)
    for more in ({"length": 0}, {"length": 65535}, {"length": 5}, {"version": 4}, {"hops": 0}, {"hops": 1}):
        attack.send(ip6(SANDBOX6, DENIED6, TCP, syn6, **more), ethertype=f.IPV6)
    for n in range(0, 60, 3):
        attack.send(ip4(SANDBOX4, DENIED4, TCP, syn4)[:n], ethertype=f.IPV4)
        attack.send(ip6(SANDBOX6, DENIED6, TCP, syn6)[:n], ethertype=f.IPV6)
    for dst in (DENIED4, f.GATE4, attack.listed4):
        for more in ({"length": 0}, {"length": 7}, {"length": 65535}, {"check": 0}, {"check": 1}):
            attack.send(ip4(SANDBOX4, dst, UDP, udp(SANDBOX4, dst, 53, b"escape" * 5, **more)))
    for dst in (DENIED6, f.GATE6):
        for more in ({"check": 0}, {"check": 1}, {"length": 0}):
            attack.send(ip6(SANDBOX6, dst, UDP, udp(SANDBOX6, dst, 53, b"escape" * 5, **more)))
    attack.judge()


def test_a_network_of_ones_own_making_inside(attack):
    """The sandbox's side rebuilt by an administrator of its namespace: other addresses, routes, tags,
    macvlans, no checksums. The airlock does not care."""
    device = attack.wire.device
    steps = [f"addr add {HOST4}/24 dev {device}", f"addr add {f.GATE4}/32 dev {device}",
             f"addr add {DENIED4}/32 dev {device}", f"link add link {device} name v9 type vlan id 9",
             "addr add 10.9.9.2/24 dev v9", "link set v9 up", f"link add link {device} name m9 type macvlan",
             "addr add 192.0.0.5/29 dev m9", "link set m9 up", f"link set {device} promisc on",
             f"link set {device} mtu 1280", f"route replace 93.184.0.0/16 via {f.GATE4} dev {device} src {HOST4}",
             f"link set {device} address 02:00:00:00:77:02"]
    for step in steps:
        if attack.wire.run(["ip", *step.split()]):
            attack.wire.run(["timeout", "1", "bash", "-c",
                             "exec 3<>/dev/tcp/93.184.9.9/80; echo >/dev/udp/93.184.9.9/53"])
    time.sleep(0.2)
    assert attack.world.left_the_host(dns=True) == []
    attack.judge(alive=False)


@pytest.mark.engines
def test_noise_for_a_while(attack):
    """Seeded random changes of good packets, and pure noise: nothing leaves, nothing falls over."""
    seed = int(os.environ.get("SANDGATE_SEED", time.time()))
    chance = random.Random(seed)
    print("SANDGATE_SEED", seed)
    good = [ip(s, d, TCP, tcp(s, d, PORT, payload=b"escape")) for s, d in attack.pairs()[:2]]
    good += [ip(s, d, UDP, udp(s, d, p, b"escape" * 9)) for s, d in attack.pairs()[:2] for p in (53, 443, 9)]
    good += [ip4(SANDBOX4, f.GATE4, UDP, udp(SANDBOX4, f.GATE4, 53, bytes.fromhex(
        "123401000001000000000000066573636170650765786d616d706c6503636f6d0000010001"), check=0))]
    good += [ip4(SANDBOX4, DENIED4, ICMP, icmp(8)), ip6(SANDBOX6, DENIED6, ICMPV6, icmp6(SANDBOX6, DENIED6, 128))]
    deadline = time.monotonic() + (30 if os.environ.get("SANDGATE_FULL") else 4)
    while time.monotonic() < deadline:
        for _ in range(200):
            octets = bytearray(chance.choice(good))
            for _ in range(chance.choice((1, 1, 2, 4, 16))):
                at = chance.randrange(len(octets))
                if not 12 <= at < 20 or octets[0] >> 4 == 6:  # the source stays: else it is only noise
                    octets[at] = chance.randrange(256)
            if chance.random() < 0.1:
                del octets[chance.randrange(len(octets)):]
            if chance.random() < 0.05:
                octets = bytearray(chance.randbytes(chance.randrange(1500)))
            attack.send(bytes(octets), ethertype=None if chance.random() < 0.9 and octets
                        else chance.choice((f.IPV4, f.IPV6, f.ARP, f.VLAN, chance.randrange(65536))))
        time.sleep(0.005)
    attack.judge()


@pytest.mark.engines
def test_frames_while_the_gate_is_dead(attack):
    """kill -9 of the gate, frames all the while: the airlock is a sealed box."""
    frames = [attack.wire.frame(ip(s, d, p, payload)) for s, d in attack.pairs()
              for p, payload in ((TCP, tcp(s, d, PORT + 1)), (UDP, udp(s, d, 53, b"escape")))]
    for _ in range(3):
        os.kill(attack.box.gate_pid, signal.SIGKILL)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            attack.wire.send(*frames)
            time.sleep(0.002)
        wait_until(lambda: _has_gate(attack.box), 10, "the gate's return")
    assert [p for p in attack.world.left_the_host(dns=True) if not attack.ordinary(p)] == []


def _has_gate(box):
    try:
        return box.gate_pid > 0
    except AssertionError:
        return False


@pytest.mark.engines
def test_what_the_gate_writes_has_right_checksums(world, sandgate):
    """demands.md, DNS 27: datagrams and resets to the sandbox, over both families."""
    address, six = world.address(), world.address6()
    for place in (address, six):
        echo_udp(world, place, 4000)
    box = sandgate.box("--only", f"{address}:4000/udp,[{six}]:4000/udp,api.example.com")
    world.name("api.example.com", "93.184.1.1", "2a00:1::1")
    wire = f.wire_of(box)
    box.python("""
for place in sys.argv[1:]:
    for size in 0, 1, 7, 100, 1200: ask_udp(place, 4000, os.urandom(size))
for gate in "192.0.0.1", "fd73:616e:6467:1::1":
    for kind in 1, 28: ask_udp(gate, 53, dns_question("api.example.com", kind))
for place in "93.184.9.9", "2a00:1::9": try_dial(place, 80); ask_udp(place, 80, b"x", 1)
""", address, six)

    def checked(frames):
        return [f.checksum_is_right(frame) for frame in frames
                if frame[6:12] == wire.gate and frame[12:14] in (b"\x08\0", b"\x86\xdd")]
    seen = wire.heard_until(lambda frames: checked(frames).count(True) >= 18) + wire.heard()
    wire.close()
    assert False not in checked(seen), checked(seen)
