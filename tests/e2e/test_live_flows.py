# SPDX-License-Identifier: Apache-2.0
"""A policy that changes while connections are open: what was taken away ends, the rest streams on."""

import os
import signal
import threading

import pytest

from internet.services import echo_tcp, echo_udp
from program import wait_until
from test_udp import QUIC, quic_allowed

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

# Streams numbered octets to an echo and compares what comes back, until told to stop or cut.
STREAM = """
import hashlib, select
s = dial(sys.argv[1], int(sys.argv[2]))
s.settimeout(10)
sent = got = 0
problem = None
there, back = hashlib.sha256(), hashlib.sha256()
try:
    while not os.path.exists("/tmp/stop"):
        part = struct.pack("!Q", sent) * 256
        s.sendall(part)
        there.update(part)
        sent += len(part)
        while got < sent:
            part = s.recv(65536)
            if not part: raise OSError(0, "end")
            back.update(part)
            got += len(part)
        time.sleep(0.002)
except OSError as e:
    problem = errname(e)
report(problem=problem, whole=there.digest() == back.digest(), octets=got)
"""


def stop_streams(box):
    assert box.run("touch /tmp/stop").ok


@pytest.mark.engines
def test_a_denied_flow_is_reset_and_the_other_streams_on(world, sandgate):
    address = world.address()
    ends, begun = [], threading.Event()

    async def echo(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                begun.set()  # the client knows that it is connected
                writer.write(data)
                await writer.drain()
            ends.append("end")
        except ConnectionError:
            ends.append("reset")
        writer.close()
    world.tcp(address, 7000, echo)
    echo_tcp(world, address, 7001)
    box = sandgate.box("--only", f"{address}:7000-7001")
    goes, stays = (box.start_python(STREAM, address, port) for port in (7000, 7001))
    wait_until(lambda: box.egress()["flows"]["open"] == 2, what="both flows")
    assert begun.wait(60)
    assert sandgate("net", "deny", box.name, f"{address}:7000").ok
    assert goes.wait(60).json["problem"] in ("ECONNRESET", "EPIPE")
    wait_until(lambda: ends == ["reset"], what="the reset at the far side")
    assert box.python("report(r=try_dial(sys.argv[1], 7000)[0])", address).json["r"] == "ECONNREFUSED"
    # Changes that are not about it, one after the other, do not touch the other one.
    for n in range(5):
        assert sandgate("net", "allow", box.name, f"host{n}.example.com").ok
    stop_streams(box)
    got = stays.wait(60).json
    assert got["problem"] is None and got["whole"] and got["octets"] > 0, got
    assert box.egress()["generation"] == 7


@pytest.mark.engines
def test_a_name_is_allowed_and_denied_between_two_lookups(world, sandgate):
    world.site("api.example.com")
    box = sandgate.box("--net", "deny", "--allow", "other.example.com")
    assert "Could not resolve" in box.curl("https://api.example.com/").err
    assert sandgate("net", "allow", box.name, "api.example.com").ok
    assert box.curl("https://api.example.com/").ok
    assert sandgate("net", "deny", box.name, "api.example.com").ok
    assert "Could not resolve" in box.curl("https://api.example.com/").err


# A request every tenth of a second on one connection, as an agent's client keeps it open.
REQUESTS = """
import ssl
s = dial(socket.gethostbyname(sys.argv[1]), 443)
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
s = context.wrap_socket(s, server_hostname=sys.argv[1])
f, answers, problem = s.makefile("rb"), 0, None
try:
    while not os.path.exists("/tmp/stop"):
        http_get(s, sys.argv[1])
        if not read_response(f): raise OSError(0, "end")
        answers += 1
        open("/tmp/" + sys.argv[1], "w").close()
        time.sleep(0.05)
except OSError as e:
    problem = errname(e)
report(problem=problem, answers=answers)
"""


def test_two_names_on_one_address_are_told_apart_inside(world, sandgate):
    """Each TLS connection goes by the server name that was read in it."""
    world.site("a.example.com", "b.example.com")
    box = sandgate.box("--only", "a.example.com,b.example.com")
    goes, stays = (box.start_python(REQUESTS, f"{n}.example.com") for n in "ab")
    wait_until(lambda: box.run("ls /tmp/a.example.com /tmp/b.example.com").ok, what="both answers")
    assert sandgate("net", "deny", box.name, "a.example.com").ok
    ended = goes.wait(60)
    assert ended.ok and ended.json["problem"], ended  # ssl has its own words for a reset
    stop_streams(box)
    assert stays.wait(60).json["problem"] is None


def test_a_flow_by_address_ends_when_its_name_is_denied(world, sandgate):
    """Under `any` nothing is looked into: the name that was asked for speaks for the flow."""
    address = world.address()
    echo_tcp(world, address, 7000)
    world.name("tracker.example.net", address)
    box = sandgate.box("--net", "any", "--yes")
    flow = box.start_python("sys.argv[1] = socket.gethostbyname(sys.argv[1])\n" + STREAM,
                            "tracker.example.net", 7000)
    wait_until(lambda: box.egress()["flows"]["open"] == 1, what="the flow")
    assert sandgate("net", "deny", box.name, "tracker.example.net").ok
    assert flow.wait(60).json["problem"] in ("ECONNRESET", "EPIPE")


@pytest.mark.engines
def test_an_exchange_of_datagrams_ends_too(world, sandgate):
    address = world.address()
    echo_udp(world, address, 5000)
    box = sandgate.box("--only", f"{address}:5000/udp")
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(30)
s.connect((sys.argv[1], 5000))
problem, answers = None, 0
try:
    while True:
        s.send(b"x")
        s.recv(10)
        answers += 1
        time.sleep(0.02)
except OSError as e:
    problem = errname(e)
report(problem=problem, answers=answers)
"""
    exchange = box.start_python(code, address)
    wait_until(lambda: box.egress()["flows"]["open"] == 1, what="the exchange")
    assert sandgate("net", "deny", box.name, f"{address}:5000/udp").ok
    got = exchange.wait(60).json
    assert got["answers"] > 0 and got["problem"] in ("EHOSTUNREACH", "EACCES"), got


def test_quic_ends_with_its_name(world, sandgate):
    """`quic: allow`: the exchange goes by the server name that was read in its first packet."""
    site, box, _ = quic_allowed(world, sandgate)
    exchange = box.start_python(QUIC + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(30)
s.connect((sys.argv[1], 443))
s.send(quic_initial("api.example.com"))
problem, answers = None, 0
try:
    while True:
        s.recv(100)
        answers += 1
        time.sleep(0.02)
        s.send(b"\\x40" + os.urandom(60))
except OSError as e:
    problem = errname(e)
report(problem=problem, answers=answers)
""", site.address)
    wait_until(lambda: box.egress()["flows"]["open"] >= 1, what="the exchange")
    assert sandgate("net", "deny", box.name, "api.example.com").ok
    got = exchange.wait(60).json
    assert got["answers"] > 0 and got["problem"] in ("EHOSTUNREACH", "EACCES"), got


def test_a_policy_that_is_refused_leaves_the_flow_and_the_policy(world, sandgate):
    address = world.address()
    echo_tcp(world, address, 7000)
    box = sandgate.box("--only", f"{address}:7000")
    flow = box.start_python(STREAM, address, 7000)
    wait_until(lambda: box.egress()["flows"]["open"] == 1, what="the flow")
    assert not sandgate("net", "allow", box.name, "*.com").ok
    assert not sandgate("net", "deny", box.name, f"{address}:7000", "a..example").ok
    stop_streams(box)
    assert flow.wait(60).json["problem"] is None
    assert box.egress()["generation"] == 1


@pytest.mark.engines
def test_numbers_are_exact_across_a_killed_gate(world, sandgate):
    """kill -9 of the gate, three times: nothing that was counted is lost or counted twice."""
    address = world.address()
    echo_tcp(world, address, 7000)
    box = sandgate.box("--only", f"{address}:7000")
    code = """
refused = sum(try_dial(sys.argv[1], port)[0] == "ECONNREFUSED" for port in range(8000, 8005))
answer, _, _ = ask_udp("192.0.0.1", 53, dns_question("host.sandgate.internal"))
s = dial(sys.argv[1], 7000)
s.sendall(b"x" * 1000)
report(refused=refused, octets=len(read_all(s, 1000)), rcode=dns_rcode(answer))
"""
    for n in range(1, 4):
        wait_for_gate(box)
        assert box.python(code, address).json == {"refused": 5, "octets": 1000, "rcode": 0}
        wait_until(lambda: box.egress()["flows"]["open"] == 0, what="the end of the flow")
        counted = box.egress()
        assert counted["flows"] == {"opened": n, "refused": 5 * n, "open": 0}
        assert counted["dns"]["answered"] == n
        os.kill(box.gate_pid, signal.SIGKILL)
        wait_for_gate(box)
        again = box.egress()
        for key in ("flows", "dns", "requests"):
            assert again[key] == counted[key], key
    assert "refused 15 times" in box.stop().err


def wait_for_gate(box):
    """Until a gate is there and answers: a sandbox without one has opened nothing."""
    def answers():
        try:
            return box.gate_pid and box.egress()["generation"] > 0
        except AssertionError:
            return False
    wait_until(answers, what="the gate")
