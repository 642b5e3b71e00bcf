# SPDX-License-Identifier: Apache-2.0
"""Frames made by hand, right or wrong as a test wants them, and a way to put them on a link.

The sender enters the sandbox's network namespace from outside, with every capability over it: more
than anything inside can have. A virtual machine's is the machine itself, which has its own kernel.
"""

import socket
import struct
import time
from ipaddress import ip_address

from internet.netns import Place
from program import HANGS

IPV4, IPV6, ARP, VLAN, QINQ = 0x0800, 0x86DD, 0x0806, 0x8100, 0x88A8
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32

SANDBOX4, GATE4 = "192.0.0.2", "192.0.0.1"
SANDBOX6, GATE6 = "fd73:616e:6467:1::2", "fd73:616e:6467:1::1"


def packed(address):
    return ip_address(address).packed


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def pseudo(src, dst, protocol, length):
    if ":" in src:
        return packed(src) + packed(dst) + struct.pack("!II", length, protocol)
    return packed(src) + packed(dst) + struct.pack("!BBH", 0, protocol, length)


def ip4(src, dst, protocol, payload, *, options=b"", ttl=64, flags=0, offset=0, ident=0x5347,
        version=4, ihl=None, length=None, tos=0):
    options += bytes(-len(options) % 4)
    words = 5 + len(options) // 4 if ihl is None else ihl
    total = 20 + len(options) + len(payload) if length is None else length
    header = struct.pack("!BBHHHBBH", version << 4 | words, tos, total, ident,
                         flags << 13 | offset, ttl, protocol, 0) + packed(src) + packed(dst) + options
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def ip6(src, dst, protocol, payload, *, hops=64, length=None, version=6):
    size = len(payload) if length is None else length
    return struct.pack("!IHBB", version << 28, size, protocol, hops) + packed(src) + packed(dst) + payload


def ip(src, dst, protocol, payload, **more):
    return (ip6 if ":" in src else ip4)(src, dst, protocol, payload, **more)


def tcp(src, dst, port, flags=SYN, payload=b"", *, source_port=40000, options=b"", sequence=1, ack=0,
        window=64240, good=True, reserved=0):
    options += bytes(-len(options) % 4)
    head = struct.pack("!HHIIBBHHH", source_port, port, sequence, ack,
                       (5 + len(options) // 4) << 4 | reserved, flags, window, 0, 0) + options
    total = head + payload
    check = checksum(pseudo(src, dst, TCP, len(total)) + total) ^ (0 if good else 0x5555)
    return total[:16] + struct.pack("!H", check) + total[18:]


def udp(src, dst, port, payload=b"", *, source_port=40000, length=None, check=None):
    size = 8 + len(payload) if length is None else length
    head = struct.pack("!HHHH", source_port, port, size, 0)
    if check is None:
        check = checksum(pseudo(src, dst, UDP, 8 + len(payload)) + head + payload) or 0xFFFF
    return head[:6] + struct.pack("!H", check) + payload


def icmp(kind, code=0, body=b"\0\1\0\1escape"):
    head = struct.pack("!BBH", kind, code, 0) + body
    return head[:2] + struct.pack("!H", checksum(head)) + head[4:]


def icmp6(src, dst, kind, code=0, body=b"\0\1\0\1escape"):
    head = struct.pack("!BBH", kind, code, 0) + body
    return head[:2] + struct.pack("!H", checksum(pseudo(src, dst, ICMPV6, len(head)) + head)) + head[4:]


def checksum_is_right(frame):
    """Of the IPv4 header and of TCP, UDP or ICMP; None for what has none."""
    packet = frame[14:]
    if frame[12:14] == struct.pack("!H", IPV4):
        head = (packet[0] & 15) * 4
        source, destination, protocol = packet[12:16], packet[16:20], packet[9]
        body = packet[head:struct.unpack_from("!H", packet, 2)[0]]
        if checksum(packet[:head]) != 0:
            return False
        fake = source + destination + struct.pack("!BBH", 0, protocol, len(body))
    else:
        body, protocol = packet[40:40 + struct.unpack_from("!H", packet, 4)[0]], packet[6]
        fake = packet[8:40] + struct.pack("!II", len(body), protocol)
    if protocol == ICMP:
        fake = b""
    elif protocol == UDP and body[6:8] == bytes(2):
        return frame[12:14] == struct.pack("!H", IPV4)  # allowed there only (RFC 8200, 8.1)
    elif protocol not in (TCP, UDP, ICMPV6):
        return None
    return checksum(fake + body) == 0


def _who_is_the_gate(own):
    """The question for the link-layer address of the other end."""
    question = struct.pack("!HHBBH", 1, IPV4, 6, 4, 1) + own + packed(SANDBOX4) + bytes(6)
    return b"\xff" * 6 + own + struct.pack("!H", ARP) + question + packed(GATE4)


def _is_arp_answer(frame):
    return frame[12:14] == struct.pack("!H", ARP) and frame[20:22] == b"\0\2"


def wire_of(box):
    return AgentWire(box) if box.engine.own_kernel else Wire(box.inner_pid)


class AnyWire:
    """Both ends have link-layer addresses, `own` and `gate`."""

    def frame(self, payload, ethertype=None, to=None, source=None):
        if ethertype is None:
            ethertype = IPV6 if payload[:1] and payload[0] >> 4 == 6 else IPV4
        return (to or self.gate) + (source or self.own) + struct.pack("!H", ethertype) + payload

    def heard_until(self, enough):
        """All that comes back until enough(frames)."""
        end, frames = time.monotonic() + HANGS, []
        while not enough(frames):
            assert time.monotonic() < end, frames
            frames += self.heard()
        return frames


class AgentWire(AnyWire):
    """The link of a machine that has a kernel of its own, by the agent in it."""

    device = "eth0"

    def __init__(self, box):
        self._box = box
        self.own, _ = box.on_link()
        self.gate = self._find_gate()

    def _find_gate(self):
        for _ in range(20):
            _, heard = self._box.on_link(send=[_who_is_the_gate(self.own)], hear=0.3)
            for frame in filter(_is_arp_answer, heard):
                return frame[6:12]
        raise AssertionError("nobody says that he is the gate")

    def send(self, *frames):
        self._box.on_link(send=frames)

    def heard(self, seconds=0.3):
        return self._box.on_link(hear=seconds)[1]

    def run(self, argv):
        return self._box.run(argv).ok

    def close(self):
        pass


class Wire(AnyWire):
    """The sandbox's link, seen and fed from inside its namespace."""

    def __init__(self, pid):
        self.place = Place.of_process(pid)
        self.device = self.place.call(
            lambda: next(name for _, name in socket.if_nameindex() if name != "lo"))
        self._socket = self.place.call(lambda: socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)))
        self._socket.bind((self.device, 0))
        self._socket.settimeout(1)
        self.own = self._socket.getsockname()[4]
        self.gate = self._find_gate()

    def _find_gate(self):
        self._socket.bind((self.device, 3))
        for _ in range(20):
            self._socket.send(_who_is_the_gate(self.own))
            try:
                while not _is_arp_answer(frame := self._socket.recv(2048)):
                    pass
                return frame[6:12]
            except TimeoutError:
                pass
        raise AssertionError("nobody says that he is the gate")

    def send(self, *frames):
        """Puts frames on the link; what the device itself will not take is not an attack."""
        for frame in frames:
            try:
                self._socket.send(frame)
            except OSError:
                pass

    def heard(self, seconds=0.3):
        """What came back within a while."""
        self._socket.settimeout(0.05)
        end, frames = time.monotonic() + seconds, []
        while time.monotonic() < end:
            try:
                frame, address = self._socket.recvfrom(65535)
            except TimeoutError:
                continue
            if address[2] != 4:
                frames.append(frame)
        self._socket.settimeout(1)
        return frames

    def run(self, argv):
        """An administrator of the namespace does something to it; whether it worked."""
        return self.place.run(argv).returncode == 0

    def close(self):
        self._socket.close()
        self.place.close()
