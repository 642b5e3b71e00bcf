# SPDX-License-Identifier: Apache-2.0
"""UDP, ICMP and QUIC."""

import os
import socket
import time

import pytest

from internet.services import echo_udp
from program import AT_ONCE

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

# A QUIC version 1 client Initial, sealed as RFC 9001 5.2 says, with a client hello for a name.
QUIC = """
from hashlib import sha256
import hmac
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
def expand(secret, label, n):
    full = b"tls13 " + label
    info = struct.pack("!HB", n, len(full)) + full + b"\\0"
    return hmac.new(secret, info + b"\\1", sha256).digest()[:n]
def crypto(hello, start, end):  # a CRYPTO frame (RFC 9000, 19.6)
    part = hello[start:end]
    return b"\\x06" + struct.pack("!HH", 0x4000 | start, 0x4000 | len(part)) + part
def quic_initial(name, version=1):
    return quic_packet([crypto(client_hello(name)[5:], 0, 1 << 13)], os.urandom(8), 0, version)
def quic_packet(frames, destination, number, version=1):
    salt, first, prefix = {1: ("38762cf7f55934b34d179ae6a4c80cadccbb7f0a", 0xc3, b"quic "),
                           2: ("0dede3def700a6db819381be6e269dcbf9bd2ed9", 0xd3, b"quicv2 ")}[version]
    wire = {1: 1, 2: 0x6b3343cf}[version]
    secret = expand(hmac.new(bytes.fromhex(salt), destination, sha256).digest(), b"client in", 32)
    key, iv, hp = (expand(secret, prefix + w, n) for w, n in ((b"key", 16), (b"iv", 12), (b"hp", 16)))
    frames = b"".join(frames)
    frames += bytes(1162 - len(frames))
    header = bytes([first]) + struct.pack("!I", wire) + b"\\x08" + destination + b"\\0\\0" \\
        + struct.pack("!H", 0x4000 | len(frames) + 20) + struct.pack("!I", number)
    nonce = iv[:8] + bytes(a ^ b for a, b in zip(iv[8:], struct.pack("!I", number)))
    sealed = AESGCM(key).encrypt(nonce, frames, header)
    mask = Cipher(algorithms.AES(hp), modes.ECB()).encryptor().update(sealed[:16])
    header = bytearray(header)
    header[0] ^= mask[0] & 15
    for i in range(4):
        header[-4 + i] ^= mask[1 + i]
    return bytes(header) + sealed
"""


@pytest.mark.engines
def test_a_listed_udp_destination_is_relayed(world, sandgate):
    address = world.address()
    world.name("ntp.example.org", address)
    echo_udp(world, address, 123)
    echo_udp(world, address, 124)
    box = sandgate.box("--only", "ntp.example.org:123/udp")
    got = box.python("""
address = socket.gethostbyname("ntp.example.org")
for size in 0, 1, 1200, 1472, 9000, 40000:
    data = os.urandom(size)
    answer, problem, seconds = ask_udp(address, 123, data)
    report(size=size, same=answer == data, problem=problem)
report(other=ask_udp(address, 124, b"x"), tcp=try_dial(address, 123)[0])
""")
    assert all(line["same"] for line in got.lines[:-1]), got
    other = got.lines[-1]["other"]
    assert other[0] is None and other[1] in ("ECONNREFUSED", "EACCES", "EHOSTUNREACH") and other[2] < AT_ONCE
    assert got.lines[-1]["tcp"] == "ECONNREFUSED"


@pytest.mark.engines
@pytest.mark.parametrize("family", ["v4", "v6"])
def test_a_refused_datagram_is_an_error_and_not_a_time_out(world, sandgate, family):
    """ICMP(v6) administratively prohibited, at once; nothing leaves."""
    address = "93.184.9.9" if family == "v4" else "2a00:1::9"
    box = sandgate.box("--net", "deny")
    world.start_watching()
    got = box.python("""
for port in 53000, 123, 443, 3478, 5353:
    report(r=ask_udp(sys.argv[1], port, b"hello"))
""", address)
    for line in got.lines:
        assert line["r"][1] in ("EACCES", "EHOSTUNREACH", "ECONNREFUSED") and line["r"][2] < AT_ONCE, line
    assert world.left_the_host() == []
    got = box.python("""
s = socket.socket(family_of(sys.argv[1]), socket.SOCK_DGRAM)
level, option = (41, 25) if ":" in sys.argv[1] else (0, 11)  # IPV6_RECVERR, IP_RECVERR
s.setsockopt(level, option, 1)
s.connect((sys.argv[1], 5000))
s.send(b"x")
time.sleep(0.2)
said = s.recvmsg(100, 1000, socket.MSG_ERRQUEUE)[1][0][2]
report(type=said[5], code=said[6])
""", address)
    assert got.json == ({"type": 3, "code": 13} if family == "v4" else {"type": 1, "code": 1})


@pytest.mark.engines
def test_replies_come_only_from_the_peer(world, sandgate):
    address, stranger = world.address(), world.address()
    box = sandgate.box("--only", f"{address}:4000/udp")
    strange = world.internet.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    strange.bind((stranger, 4000))

    def answer(data, client):
        strange.sendto(b"from a stranger", client)
        return b"from the peer"
    world.udp(address, 4000, answer)
    got = box.python("""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)
s.sendto(b"x", (sys.argv[1], 4000))
seen = []
try:
    while True: seen.append(s.recvfrom(100)[0].decode())
except TimeoutError: pass
report(seen=seen)
""", address)
    strange.close()
    assert got.json["seen"] == ["from the peer"]


def test_many_datagrams_of_many_flows(world, sandgate):
    address = world.address()
    echo_udp(world, address, 4100)
    box = sandgate.box("--only", f"{address}:4100/udp")
    got = box.python("""
flows = []
for n in range(300):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(30); s.connect((sys.argv[1], 4100))
    flows.append(s)
good = 0
for round in range(3):
    for n, s in enumerate(flows):
        s.send(b"%d/%d" % (n, round))
        good += s.recv(100) == b"%d/%d" % (n, round)
report(good=good)
""", address, timeout=60)
    assert got.json["good"] == 900


@pytest.mark.engines
def test_fragments_are_put_together(world, sandgate):
    """The kernel reassembles; the far side gets the whole datagram, over v4 and v6."""
    four, six = world.address(), world.address6()
    for address in (four, six):
        echo_udp(world, address, 4200)
    box = sandgate.box("--only", f"{four}:4200/udp,[{six}]:4200/udp")
    got = box.python("""
for address in sys.argv[1:]:
    data = os.urandom(30000)
    report(same=ask_udp(address, 4200, data)[0] == data)
""", four, six)
    assert all(line["same"] for line in got.lines), got


def test_quic_is_refused_at_once_and_named(world, sandgate, needs):
    """443/udp gets ICMP at once, so that clients fall back; the name in the Initial is in the log."""
    site = world.site("api.example.com")
    seen = []
    world.udp(site.address, 443, lambda data, client: seen.append(data))
    box = sandgate.box("--only", "api.example.com")
    assert box.curl("https://api.example.com/").ok
    got = box.python(QUIC + """
report(r=ask_udp(sys.argv[1], 443, quic_initial("hidden.example.com")))""", site.address)
    assert got.json["r"][1] in ("EACCES", "EHOSTUNREACH", "ECONNREFUSED") and got.json["r"][2] < AT_ONCE
    assert seen == []
    assert "hidden.example.com" in box.stop().err


def test_the_name_in_a_quic_initial_is_found_in_every_shape(world, sandgate):
    """Version 2 (RFC 9369); frames out of order; a hello over two packets. demands.md, 46b."""
    site = world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    assert box.curl("https://api.example.com/").ok
    got = box.python(QUIC + """
def send(*datagrams):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.5)
    s.connect((sys.argv[1], 443))
    result = "nothing"
    for datagram in datagrams:
        try: s.send(datagram); s.recv(10)
        except OSError as problem: result = errname(problem)
    return result
def hello(name, size=0):
    return client_hello(name, extensions=struct.pack("!HH", 0x5555, size) + bytes(size) if size else b"")[5:]
two = hello("v2.example.net")
report(r=send(quic_initial("v2.example.net", 2)))
mixed = hello("mixed.example.net")
report(r=send(quic_packet([crypto(mixed, 100, 1 << 13), b"\\1", crypto(mixed, 50, 100), crypto(mixed, 0, 60)], os.urandom(8), 0)))
large, to = hello("large.example.net", 1500), os.urandom(8)
cut = 1100
report(r=send(quic_packet([crypto(large, 0, cut)], to, 0), quic_packet([crypto(large, cut, 1 << 13)], to, 1)))
""", site.address)
    assert all(line["r"] in ("EACCES", "EHOSTUNREACH", "ECONNREFUSED") for line in got.lines), got
    err = box.stop().err
    for name in ("v2.example.net", "mixed.example.net"):
        assert name in err, err


def quic_allowed(world, sandgate):
    """(site, a sandbox with `quic: allow` that has looked the site up, what arrives on 443/udp)"""
    site = world.site("api.example.com", "other.example.com")
    seen = []

    def take(data, client):
        seen.append(data)
        return b"answer"
    world.udp(site.address, 443, take)
    world.machine.write("/home/dev/quic.yaml", "network: deny\nallow: [api.example.com]\n"
                        "quic: allow\n", "dev")
    box = sandgate.box("--policy", "/home/dev/quic.yaml")
    assert box.curl("https://api.example.com/").ok
    return site, box, seen


def test_quic_can_be_admitted_for_its_name(world, sandgate):
    """`quic: allow` admits it when that name is allowed and was looked up for that address."""
    site, box, seen = quic_allowed(world, sandgate)
    got = box.python(QUIC + """
for name in "api.example.com", "other.example.com":
    answer, problem, _ = ask_udp(sys.argv[1], 443, quic_initial(name))
    report(name=name, answer=answer and answer.decode(), problem=problem)
answer, problem, _ = ask_udp(sys.argv[1], 443, os.urandom(1200))
report(name="noise", answer=answer and answer.decode(), problem=problem)
""", site.address)
    answers = {line["name"]: line["answer"] for line in got.lines}
    assert answers == {"api.example.com": "answer", "other.example.com": None, "noise": None}
    assert len(seen) == 1


def test_another_quic_connection_between_the_same_ports_is_looked_at(world, sandgate):
    """What follows on an admitted flow passes; a new connection in it is admitted by its own name."""
    site, box, seen = quic_allowed(world, sandgate)
    got = box.python(QUIC + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.connect((sys.argv[1], 443))
again = quic_initial("api.example.com")
for what, data in (("first", again), ("sent again", again), ("short header", b"\\x40" + os.urandom(60)),
                   ("long header of this one", b"\\xc3\\0\\0\\0\\1\\x08" + os.urandom(1200)),
                   ("another", quic_initial("other.example.com")), ("after it", b"\\x40" + os.urandom(60))):
    try: s.send(data); answer = s.recv(100).decode()
    except OSError as problem: answer = errname(problem)
    report(what=what, answer=answer)
""", site.address)
    answers = {line["what"]: line["answer"] for line in got.lines}
    refused = answers.pop("another")
    assert refused in ("EACCES", "EHOSTUNREACH", "ECONNREFUSED"), refused
    assert set(answers.values()) == {"answer"}, answers
    assert len(seen) == 5
    assert "other.example.com" in box.stop().err


@pytest.mark.engines
def test_ping_of_what_is_listed_by_address_or_any_port(world, sandgate, needs):
    """ICMP echo to an admitted `:*` or address target is relayed; the rest is refused."""
    needs("ping")
    four, six, other = world.address(), world.address6(), world.address()
    world.name("any.example.com", other)
    world.name("web.example.com", world.address())
    box = sandgate.box("--only", f"{four},[{six}],any.example.com:*,web.example.com")
    for target in (four, six, "any.example.com"):
        got = box.run(["ping", "-n", "-c", "2", "-i", "0.2", "-W", "2", target])
        assert "2 received" in got.out, got
    world.start_watching()
    refused = box.run(["ping", "-n", "-c", "1", "-W", "20", "web.example.com"])
    assert not refused.ok and refused.seconds < 15, refused
    refused = box.run(["ping", "-n", "-c", "1", "-W", "2", "93.184.9.9"])
    assert not refused.ok and "filtered" in refused.out.lower() + refused.err.lower(), refused
    assert world.left_the_host() == []


def test_large_pings_and_sizes(world, sandgate, needs):
    needs("ping")
    address = world.address()
    box = sandgate.box("--only", address)
    for size in (0, 56, 1472, 8000):
        got = box.run(["ping", "-n", "-c", "1", "-W", "2", "-s", str(size), address])
        assert "1 received" in got.out, got


def test_traceroute_tells_nothing_and_sends_nothing(world, sandgate):
    """A probe with a small TTL to a refused place leaves nothing."""
    box = sandgate.box("--net", "deny")
    world.start_watching()
    box.python("""
for ttl in 1, 2, 3:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
    s.sendto(b"x", ("93.184.9.9", 33434 + ttl))
""")
    time.sleep(0.1)
    assert world.left_the_host() == []


def test_the_table_of_udp_flows_is_bounded(world, sandgate):
    """demands.md, relay 42: no leak of sockets or memory, whatever is sent."""
    address = world.address()
    echo_udp(world, address, 4300)
    box = sandgate.box("--only", f"{address}:4300/udp")
    gate = box.gate_pid
    box.python("""
for n in range(6000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.sendto(b"x", (sys.argv[1], 4300))
    except OSError: pass
    s.close()
""", address, timeout=60)
    assert len(os.listdir(f"/proc/{gate}/fd")) < 5000
    assert box.curl(f"http://{address}/").status == 7  # the gate goes on
