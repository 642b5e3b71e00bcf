# SPDX-License-Identifier: Apache-2.0
"""A machine that asks its gate for an address without end, and for a router, as fast as its frame socket takes it,
while it is used: connections are answered meanwhile, and the gate keeps nothing of what it was asked. That it
answers again afterwards is in e2e/test_guest_link.py."""

import random
import struct
import threading
import time

import pytest

import frames as f
from frames import ICMPV6, UDP, icmp6, ip4, ip6, udp
from machine_link import KINDS, OWN_MAC
from program import SANITIZED, read_proc
from test_guest_frames import DENIED4, EVERYBODY, GuestAttack, eth
from test_guest_link import DISCOVER, REQUEST, dhcp, option

LINK6, ROUTERS6 = "fe80::73:67ff:fe00:2", "ff02::2"
GREW_MAX = (32 if SANITIZED else 1) << 20  # AddressSanitizer keeps what was freed
ROUNDS = 12


@pytest.fixture(params=KINDS)
def attack(request, world, sandgate):
    made = GuestAttack(world, sandgate, request.param)
    yield made
    made.close()


def asks():
    """Of every kind that is read, each of another client: by number, by name, with as many options as there is room for."""
    n = random.randrange(1 << 32)
    other = bytes([2]) + random.randbytes(5)
    messages = [dhcp(DISCOVER), dhcp(DISCOVER, mac=other), dhcp(REQUEST, option(50, f.SANDBOX4), option(54, f.GATE4)),
                dhcp(REQUEST, option(50, f"192.0.0.{n % 250 + 1}"), mac=other),
                dhcp(DISCOVER, (12, random.randbytes(200)), (61, random.randbytes(250)), (55, bytes(range(1, 250)))),
                dhcp(DISCOVER, *[(43, bytes(250))] * 4)]
    numbered = [message[:4] + struct.pack("!I", n + i & 0xFFFFFFFF) + message[8:] for i, message in enumerate(messages)]
    solicit = icmp6(LINK6, ROUTERS6, 133, body=bytes(4) + b"\1\1" + OWN_MAC)
    return [eth(ip4("0.0.0.0", "255.255.255.255", UDP, udp("0.0.0.0", "255.255.255.255", 67, one, source_port=68)),
                to=EVERYBODY) for one in numbered] + [
        eth(ip6(LINK6, ROUTERS6, ICMPV6, solicit, hops=255), to=bytes.fromhex("333300000002"))]


class Flood:
    def __init__(self, attack):
        self.attack, self.sent, self.over = attack, 0, threading.Event()
        self.many = [ask for _ in range(20) for ask in asks()]
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        many = self.many
        while not self.over.is_set():
            self.attack.send(*many)
            self.sent += len(many)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def resident(pid):
    return int(read_proc(pid, "statm").split()[1]) * 4096


def test_connections_go_on(attack):
    assert attack.answered_syn(attack.listed4, 50001) == f.SYN | f.ACK
    attack.world.left_the_host(dns=True)
    before = resident(attack.gate_pid)
    with Flood(attack) as flood:
        while flood.sent < 2000:
            time.sleep(0.01)
        for port in range(51000, 51000 + ROUNDS):
            assert attack.answered_syn(attack.listed4, port) == f.SYN | f.ACK
            assert attack.answered_syn(DENIED4, port) & f.RST
    assert resident(attack.gate_pid) - before < GREW_MAX
    assert attack.net.gate_pid == attack.gate_pid
