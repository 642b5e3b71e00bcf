# SPDX-License-Identifier: Apache-2.0
"""Seeded random changes of what each parser reads, sent by a program inside.

Each case starts from something that is refused; whatever a change makes of it, none of it may reach
the far side, and the gate goes on. SANDGATE_SEED repeats a run, SANDGATE_FULL=1 makes it longer.
"""

import os
import time

import pytest

from test_udp import QUIC

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

SEED = int(os.environ.get("SANDGATE_SEED", time.time()))
TIMES = 10 if os.environ.get("SANDGATE_FULL") == "1" else 1

MUTATE = """
import random
chance = random.Random(int(sys.argv[1]))
def mutated(octets):
    octets = bytearray(octets)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        kind = chance.randrange(6)
        at = chance.randrange(len(octets) or 1)
        if kind == 0: octets[at:at + 1] = bytes([chance.randrange(256)])
        elif kind == 1: octets[at:at + 1] = bytes([octets[at] ^ 1 << chance.randrange(8)]) if octets else b""
        elif kind == 2: del octets[at:at + chance.randrange(1, 9)]
        elif kind == 3: octets[at:at] = chance.choice((b"\\0", b"\\r\\n", b"\\n", b" ", b"\\xff\\xff", b"\\xc0\\x0c"))
        elif kind == 4: octets[at:at] = octets[at:at + chance.randrange(1, 40)]
        else: octets[at:at + 2] = struct.pack("!H", chance.choice((0, 1, 0x7fff, 0x8000, 0xffff, len(octets))))
    return bytes(octets)
def pieces(octets):
    if chance.random() < 0.5: return [octets]
    cuts = sorted(chance.randrange(len(octets) + 1) for _ in range(chance.randrange(1, 5)))
    return [octets[a:b] for a, b in zip([0] + cuts, cuts + [len(octets)])]
def throw(address, port, octets):
    try:
        s = dial(address, port, 0.5)
        for piece in pieces(octets):
            s.sendall(piece)
        s.shutdown(socket.SHUT_WR)
        s.settimeout(0.15)
        s.recv(1000)
        s.close()
    except OSError:
        pass
# What is right, with all the time it takes: a far side that ends has kept what arrived there.
def ask(address, port, octets):
    s = dial(address, port)
    for piece in pieces(octets):
        s.sendall(piece)
    s.shutdown(socket.SHUT_WR)
    assert read_all(s) == b""
"""


@pytest.fixture
def far_side(world):
    """One address under a listed and an unlisted name; keeps what arrives on it."""
    address = world.address()
    heard = []

    async def hear(reader, writer):
        data = await reader.read(-1)
        if data:
            heard.append(data)
        writer.close()
    for port in (80, 443):
        world.tcp(address, port, hear)

    def hear_datagram(data, client):
        heard.append(data)
        return b"heard"
    world.udp(address, 443, hear_datagram)
    for name in ("api.example.com", "other.example.com"):
        world.name(name, address)
    return address, heard


def open_box(world, sandgate, *options, more=""):
    """Without the limit of new flows, which would keep most of it from the parsers."""
    world.machine.write("/home/dev/noise.yaml", "network: deny\nallow: [api.example.com]\n"
                        f"limits: {{flows_per_second: 100000, flows_burst: 100000}}\n{more}", "dev")
    return sandgate.box("--policy", "/home/dev/noise.yaml", *options)


def throw(box, address, times, code):
    gate = box.gate_pid
    print("SANDGATE_SEED", SEED)
    assert box.run("getent hosts api.example.com").ok
    got = box.python(MUTATE + code, SEED, address, times * TIMES, timeout=300)
    assert got.ok, got
    assert box.gate_pid == gate, "the gate died"


@pytest.mark.engines
def test_questions(world, sandgate, far_side):
    address, _ = far_side
    box = open_box(world, sandgate, "--as-root")
    throw(box, address, 1500, """
bases = [dns_question("other.example.com"), dns_question("other.example.com", 28),
         dns_question("a.b.c.other.example.com", 65, extra=1, tail=b"\\0\\0\\x29\\4\\xd0\\0\\0\\0\\0\\0\\0")]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("192.0.0.1", 53))
s.setblocking(False)
for n in range(int(sys.argv[3])):
    wire = mutated(chance.choice(bases))
    try: s.send(wire)
    except OSError: pass
    if n % 20 == 0:
        throw("192.0.0.1", 53, struct.pack("!H", len(wire)) + wire if n % 3 else mutated(wire))
    try:
        while True: s.recv(4096)
    except OSError: pass
""")
    assert {q.name for q in world.zone.queries} <= {"api.example.com"}
    assert "NOERROR" in box.run("dig api.example.com").out


def test_client_hellos(world, sandgate, far_side):
    address, heard = far_side
    box = open_box(world, sandgate)
    throw(box, address, 600, """
for n in range(int(sys.argv[3])):
    throw(sys.argv[2], 443, mutated(client_hello("other.example.com")))
time.sleep(0.2)
ask(sys.argv[2], 443, client_hello("api.example.com"))
""")
    assert len(heard) == 1 and b"api.example.com" in heard[0]  # the last one, which is right


def test_request_heads(world, sandgate, far_side):
    address, heard = far_side
    box = open_box(world, sandgate)
    throw(box, address, 600, """
bases = [b"GET / HTTP/1.1\\r\\nHost: other.example.com\\r\\nAccept: */*\\r\\n\\r\\n",
         b"GET http://other.example.com/ HTTP/1.1\\r\\nHost: other.example.com\\r\\n\\r\\n",
         b"POST /x HTTP/1.1\\r\\nHost: other.example.com\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n0\\r\\n\\r\\n",
         b"POST /x HTTP/1.0\\r\\nContent-Length: 5\\r\\nHost: other.example.com\\r\\n\\r\\nhello"]
for n in range(int(sys.argv[3])):
    throw(sys.argv[2], 80, mutated(chance.choice(bases)))
time.sleep(0.2)
ask(sys.argv[2], 80, bases[0].replace(b"other", b"api"))
""")
    assert len(heard) == 1 and b"api.example.com" in heard[0]


def test_quic_initials(world, sandgate, far_side):
    address, heard = far_side
    box = open_box(world, sandgate, more="quic: allow\n")
    throw(box, address, 400, QUIC + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[2], 443))
for n in range(int(sys.argv[3])):
    datagram = quic_initial("other.example.com", 1 + n % 2)
    inside = n % 4 == 0  # a change under the seal, so that it is opened
    if inside: datagram = quic_packet([mutated(crypto(client_hello("other.example.com")[5:], 0, 1 << 13))],
                                      os.urandom(8), 0)
    try: s.send(datagram if inside else mutated(datagram))
    except OSError: pass
time.sleep(0.2)
assert ask_udp(sys.argv[2], 443, quic_initial("api.example.com"))[0] == b"heard"
""")
    assert len(heard) == 1
