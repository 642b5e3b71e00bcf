# SPDX-License-Identifier: Apache-2.0
"""The judge: every frame that leaves the person's machine, seen on the far end of its links."""

import os
import socket
import struct
import threading
import time
from ipaddress import IPv6Address, IPv4Address

ETH_ALL = 0x0003
ETH_IPV4, ETH_ARP, ETH_IPV6 = 0x0800, 0x0806, 0x86DD
ETH_BARRIER = 0x88B5  # IEEE 802 local experimental: marks "everything before this was seen"
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32

_SOL_PACKET, _PACKET_STATISTICS, _PACKET_AUXDATA = 263, 6, 8
_PACKET_OUTGOING = 4
_SO_RCVBUFFORCE = 33
_SNAP = 2048


class Packet:
    """One frame, read as far as tests ask: addresses, ports, flags; None where there is none."""

    def __init__(self, device, raw, length):
        self.time = time.monotonic()
        self.device = device
        self.raw = raw
        self.length = length
        self.ethertype = struct.unpack_from("!H", raw, 12)[0] if len(raw) >= 14 else None
        self.source = self.destination = self.protocol = None
        self.source_port = self.port = self.flags = self.icmp_type = None
        self.payload = b""
        self._read_network()

    def _read_network(self):
        raw = self.raw
        if self.ethertype == ETH_IPV4 and len(raw) >= 34:
            self.source = str(IPv4Address(raw[26:30]))
            self.destination = str(IPv4Address(raw[30:34]))
            self.protocol = raw[23]
            fragment = struct.unpack_from("!H", raw, 20)[0] & 0x1FFF
            if fragment == 0:
                self._read_transport(14 + (raw[14] & 15) * 4)
        elif self.ethertype == ETH_IPV6 and len(raw) >= 54:
            self.source = str(IPv6Address(raw[22:38]))
            self.destination = str(IPv6Address(raw[38:54]))
            self.protocol = raw[20]
            self._read_transport(54)

    def _read_transport(self, at):
        raw = self.raw
        if self.protocol in (TCP, UDP) and len(raw) >= at + 8:
            self.source_port, self.port = struct.unpack_from("!HH", raw, at)
        if self.protocol == TCP and len(raw) >= at + 20:
            self.flags = raw[at + 13]
            self.payload = raw[at + (raw[at + 12] >> 4) * 4:]
        elif self.protocol == UDP:
            self.payload = raw[at + 8:]
        elif self.protocol in (ICMP, ICMPV6) and len(raw) > at:
            self.icmp_type = raw[at]
            self.payload = raw[at + 8:]

    def __repr__(self):
        if self.source is None:
            return f"<{self.device} ethertype {self.ethertype:#06x} {self.raw[:40].hex()}>"
        ports = f" {self.source_port}>{self.port}" if self.port is not None else ""
        flags = "" if self.flags is None else " " + "".join(
            letter for bit, letter in enumerate("FSRPAU") if self.flags >> bit & 1)
        kind = f" type {self.icmp_type}" if self.icmp_type is not None else ""
        return (f"<{self.device} {self.source}>{self.destination} proto {self.protocol}"
                f"{ports}{flags}{kind} {self.length} octets>")


class Capture:
    """Reads all devices of `place` but loopback. `host` is the other side, which sends barriers."""

    def __init__(self, place, host, host_devices):
        self._socket = place.call(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                                        socket.htons(ETH_ALL)))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 64 << 20)
        self._socket.settimeout(0.2)
        self._host, self._host_devices = host, host_devices
        self._packets = []
        self._barriers = set()
        self._dropped = 0
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self):
        self._stopped = True
        self._thread.join()
        self._socket.close()

    def _read(self):
        while not self._stopped:
            try:
                raw, _, flags, address = self._socket.recvmsg(_SNAP)
            except TimeoutError:
                continue
            device, _, kind = address[0], address[1], address[2]
            if device == "lo" or kind == _PACKET_OUTGOING:
                continue
            packet = Packet(device, raw, len(raw))
            if flags & socket.MSG_TRUNC:
                packet.length = max(packet.length, _SNAP + 1)
            with self._changed:
                if packet.ethertype == ETH_BARRIER:
                    self._barriers.add((device, raw[14:30]))
                    self._changed.notify_all()
                else:
                    self._packets.append(packet)

    def _send_barriers(self, nonce):
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack("!H", ETH_BARRIER) + nonce + bytes(30)
        for device in self._host_devices:
            def send(device=device):
                with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
                    s.bind((device, ETH_BARRIER))
                    s.send(frame)
            self._host.call(send)

    def settle(self, seconds=0.03):
        """Waits until every frame that was sent before now has been read."""
        time.sleep(seconds)
        nonce = os.urandom(16)
        for _ in range(20):  # a link that has just been made may lose the first ones
            self._send_barriers(nonce)
            if self._saw_barriers(nonce, 0.5):
                break
        else:
            raise RuntimeError("the capture lost its barrier")
        statistics = self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8)
        self._dropped += struct.unpack("=II", statistics)[1]
        if self._dropped:
            raise RuntimeError(f"the capture dropped {self._dropped} frames and cannot judge")

    def _saw_barriers(self, nonce, seconds):
        with self._changed:
            return self._changed.wait_for(
                lambda: sum(1 for _, seen in self._barriers if seen == nonce) ==
                len(self._host_devices), seconds)

    def mark(self):
        """A place in the capture: what came before does not count for `since`."""
        self.settle(0)
        with self._changed:
            return len(self._packets)

    def since(self, mark=0):
        self.settle()
        with self._changed:
            return self._packets[mark:]

    def so_far(self):
        """What has been read by now: no judgement rests on it."""
        with self._changed:
            return self._packets[:]

    def clear(self):
        with self._changed:
            self._packets.clear()
            self._barriers.clear()
            self._dropped = 0
