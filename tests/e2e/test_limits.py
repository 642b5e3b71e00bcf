# SPDX-License-Identifier: Apache-2.0
"""Limits: each is a policy key; reaching one is a refusal with its own reason."""

import asyncio
import os
import time

import pytest

from internet.services import echo_tcp
from program import read_proc, wait_until

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])


def limited(world, sandgate, address, limits):
    world.machine.write("/home/dev/limits.yaml", f"network: deny\nallow: ['{address}']\n"
                        f"limits: {{{limits}}}\n", "dev")
    return sandgate.box("--policy", "/home/dev/limits.yaml")


@pytest.mark.engines
def test_flows_open_at_once(world, sandgate):
    """demands.md, policy 57: connections of a sandbox are limited."""
    address = world.address()
    echo_tcp(world, address, 7000)
    box = limited(world, sandgate, address, "flows: 20")
    got = box.python("""
flows, refused = [], 0
for n in range(30):
    try: flows.append(dial(sys.argv[1], 7000, 3))
    except OSError: refused += 1
for s in flows: s.close()
time.sleep(0.5)
report(open=len(flows), refused=refused, again=try_dial(sys.argv[1], 7000)[0])
""", address)
    assert got.json == {"open": 20, "refused": 10, "again": "connected"}
    assert "limit" in box.stop().err


def test_new_flows_a_second(world, sandgate):
    address = world.address()
    echo_tcp(world, address, 7000)
    box = limited(world, sandgate, address, "flows_per_second: 20, flows_burst: 50")
    code = """
results = [try_dial(sys.argv[1], 7000, 3)[0] for n in range(200)]
report(connected=results.count("connected"), refused=results.count("ECONNREFUSED"))
"""
    got = box.python(code, address)
    assert 50 <= got.json["connected"] <= 90 and sum(got.json.values()) == 200, got
    time.sleep(1.5)
    assert box.python("report(r=try_dial(sys.argv[1], 7000)[0])", address).json["r"] == "connected"


def test_a_flood_of_refused_things_is_answered_and_costs_nothing(world, sandgate):
    """Each refusal stays exact in the count while the table of groups is bounded."""
    box = sandgate.box("--net", "deny")
    world.start_watching()
    got = box.python("""
started = time.monotonic()
for n in range(3000):
    try_dial(f"93.184.{n // 250}.{n % 250}", 1000 + n % 50, 2)
report(seconds=time.monotonic() - started)
""", timeout=60)
    assert got.json["seconds"] < 20
    assert box.refused() == 3000
    assert world.left_the_host() == []
    err = box.stop().err
    assert len(err.splitlines()) < 60, len(err.splitlines())


def listener():
    """(the lengths of what arrives, a handler that takes everything)"""
    heard = []

    async def hear(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                heard.append(len(data))
        except ConnectionError:
            pass
        writer.close()
    return heard, hear


@pytest.mark.engines
def test_octets_out(world, sandgate):
    """A sandbox sends no more than it should; the flow is reset and says so."""
    address = world.address()
    heard, hear = listener()
    world.tcp(address, 7000, hear)
    box = limited(world, sandgate, address, "bytes_out: 1000000")
    got = box.python("""
s = dial(sys.argv[1], 7000)
try:
    for n in range(400):
        s.sendall(b"x" * 10000); time.sleep(0.001)
    s.shutdown(socket.SHUT_WR); s.recv(1)
    result = "sent"
except OSError as problem:
    result = errname(problem)
report(r=result, again=try_dial(sys.argv[1], 7000)[0])
""", address)
    assert got.json["r"] in ("ECONNRESET", "EPIPE")
    time.sleep(0.2)
    assert sum(heard) <= 1_000_000
    assert "limit" in box.stop().err


def test_octets_out_of_one_host(world, sandgate):
    a, b = world.address(), world.address()
    for address in (a, b):
        echo_tcp(world, address, 7000)
    world.machine.write("/home/dev/limits.yaml", f"network: deny\nallow: ['{a}', '{b}']\n"
                        "limits: {bytes_out_per_host: 100000}\n", "dev")
    box = sandgate.box("--policy", "/home/dev/limits.yaml")
    got = box.python("""
def send(address):
    s = dial(address, 7000)
    try:
        for n in range(40):
            s.sendall(b"x" * 5000); read_all(s, 5000)
        return "sent"
    except OSError as problem:
        return errname(problem)
def little(address):
    s = dial(address, 7000); s.sendall(b"hello"); return s.recv(10).decode()
report(much=send(sys.argv[1]), other=little(sys.argv[2]))
""", a, b)
    assert got.json["much"] in ("ECONNRESET", "EPIPE") and got.json["other"] == "hello", got


def test_octets_out_in_datagrams(world, sandgate):
    """The same count holds for UDP: to the octet, with its own reason."""
    a, b = world.address(), world.address()
    heard = {}

    def count(address):
        def take(data, client):
            heard[address] = heard.get(address, 0) + len(data)
            return b"ok"
        return take
    for address in (a, b):
        world.udp(address, 7000, count(address))
    for limit, expected, reason in (("bytes_out", {a: 10000}, "the sandbox has sent as many"),
                                    ("bytes_out_per_host", {a: 10000, b: 10000}, "sent this host as many")):
        heard.clear()
        world.machine.write("/home/dev/limits.yaml", f"network: deny\nallow: ['{a}', '{b}']\n"
                            f"limits: {{{limit}: 10000}}\n", "dev")
        box = sandgate.box("--policy", "/home/dev/limits.yaml")
        got = box.python("""
for address in sys.argv[1:]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.connect((address, 7000))
    error = None
    try:
        for n in range(30): s.send(b"x" * 1000); s.recv(10)
    except OSError as problem: error = errname(problem)
    report(error=error)
""", a, b)
        assert [line["error"] for line in got.lines] == ["EHOSTUNREACH"] * 2, got
        assert heard == expected
        assert reason in box.stop().err


def test_datagrams_and_connections_are_limited_together(world, sandgate):
    """One number of flows for both; and one count of octets for a host, however it is reached."""
    addresses = [world.address() for _ in range(3)]
    world.name("any.example.com", *addresses)
    heard, hear = listener()
    for address in addresses:
        world.tcp(address, 7000, hear)
        world.udp(address, 7000, lambda data, client: heard.append(len(data)) or b"ok")
    world.machine.write("/home/dev/limits.yaml", "network: deny\nallow: ['any.example.com:*']\n"
                        "limits: {flows: 10, bytes_out_per_host: 10000}\n", "dev")
    box = sandgate.box("--policy", "/home/dev/limits.yaml")
    code = """
addresses = sys.argv[1:]
socket.getaddrinfo("any.example.com", 1, socket.AF_INET)
kept, refused = [], 0
for n in range(8):
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        s = socket.socket(socket.AF_INET, kind); s.settimeout(2); kept.append(s)
        try:
            s.connect((addresses[n % 3], 7000))
            if kind == socket.SOCK_DGRAM: s.send(b"x" * 500); s.recv(10)
        except OSError: refused += 1
report(refused=refused)
for s in kept[:10]:
    try:
        for n in range(20): s.send(b"y" * 500); time.sleep(0.002)
    except OSError: pass
"""
    assert box.python(code, *addresses).json["refused"] == 6
    wait_until(lambda: sum(heard) == 10000, 5, "the last octets")
    time.sleep(0.2)
    assert sum(heard) == 10000
    assert "too many connections" in box.stop().err


def test_lengths_under_a_wildcard(world, sandgate):
    """Both are keys of the policy; neither holds for an exact name."""
    world.zone.add("*.example.com", "A", "93.184.223.1")
    world.machine.write("/home/dev/limits.yaml", "network: deny\n"
                        "allow: ['*.example.com', a-long-one.example.com]\n"
                        "limits: {wildcard_name_length: 26, wildcard_label_length: 8}\n", "dev")
    box = sandgate.box("--policy", "/home/dev/limits.yaml")
    names = {"12345678": True, "123456789": False, "b.123456789": False, "12345678.12345": True,
             "12345678.123456": False, "a-long-one": True}
    got = box.python("""
for name in sys.argv[1:]:
    report(name=name, rcode=dns_rcode(ask_udp("192.0.0.1", 53, dns_question(f"{name}.example.com"))[0]))
""", *names)
    assert {line["name"]: line["rcode"] == 0 for line in got.lines} == names
    assert {q.name for q in world.zone.queries} == {f"{n}.example.com" for n, good in names.items() if good}
    assert "too long for one under a wildcard" in box.stop().err


def test_few_descriptors_are_a_limit_and_no_fault(world, sandgate):
    """A machine that gives 90 descriptors: what does not fit is refused with its reason."""
    address = world.address()
    echo_tcp(world, address, 7000)
    work = world.machine.new_work()
    code = f"""
import socket
flows, refused = [], 0
for n in range(85):
    try:
        s = socket.create_connection(("{address}", 7000), 5); s.send(b"x"); s.recv(1); flows.append(s)
    except OSError: refused += 1
for s in flows: s.close()
import time; time.sleep(1)
again = socket.create_connection(("{address}", 7000), 5); again.send(b"y")
print(len(flows), refused, again.recv(1))
"""
    world.machine.write(f"{work}/p.py", code, "dev")
    done = world.machine.run(["bash", "-c", f"ulimit -Sn 90; ulimit -Hn 90; exec {sandgate.path} run --only "
                              f"{address} -- python3 p.py"], cwd=work)
    opened, refused, again = done.stdout.split()
    assert int(opened) >= 10 and int(opened) + int(refused) == 85 and again == "b'y'", done
    assert "too many connections" in done.stderr, done


def test_a_gate_that_has_nothing_to_do_does_nothing(world, sandgate):
    """Flows in every state that can last: none of them makes the gate turn."""
    address = world.address()

    async def stall(reader, writer):
        writer.transport.pause_reading()
        await asyncio.sleep(60)

    async def silent(reader, writer):
        await asyncio.sleep(60)

    async def end_at_once(reader, writer):
        writer.write_eof()
        await asyncio.sleep(60)
    for port, handler in ((7001, stall), (7002, silent), (7003, end_at_once)):
        world.tcp(address, port, handler)
    echo_tcp(world, address, 7004)
    site = world.site("api.example.com", "other.example.com")
    box = sandgate.box("--only", f"{address},api.example.com,93.185.0.1")
    assert box.run("getent hosts api.example.com").ok
    states = box.start_python("""
keep = []
def fill(s):
    s.settimeout(0.5)
    try:
        while True: s.send(b"x" * 65536)
    except OSError: pass
def flow(address, port, first=b"", full=False, end=False, urgent=False):
    s = dial(address, port)
    keep.append(s)
    s.send(first)
    if urgent: s.send(b"!", socket.MSG_OOB); s.send(b"more")
    if full: fill(s)
    if end: s.shutdown(socket.SHUT_WR)
far, site = sys.argv[1:]
flow(far, 7001, full=True)
flow(far, 7002, b"x", end=True)
flow(far, 7002, urgent=True)
flow(far, 7003)
flow(far, 7003, end=True)
flow(far, 7004, full=True)
flow(far, 7004, urgent=True)
s = socket.socket(); s.setblocking(False); s.connect_ex(("93.185.0.1", 80)); keep.append(s)
get = b"GET / HTTP/1.1\\r\\nHost: %s\\r\\n%s\\r\\n"
flow(site, 443)
flow(site, 443, client_hello("other.example.com"))
flow(site, 80, get % (b"other.example.com", b""))
flow(site, 80, get % (b"other.example.com", b"Content-Length: 99999999\\r\\n"), full=True)
flow(site, 80, get % (b"api.example.com", b"Content-Length: 99999999\\r\\n"))
flow(site, 80, get % (b"api.example.com", b"Upgrade: x\\r\\nConnection: Upgrade\\r\\n") + b"more")
flow("192.0.0.1", 53, b"\\0")
flow("192.0.0.1", 53, b"\\0\\x20", end=True)
report(set=len(keep))
time.sleep(20)
""", address, site.address)
    time.sleep(4)
    busy = []
    for _ in range(3):
        before = processor_time(box.gate_pid)
        time.sleep(1)
        busy.append(processor_time(box.gate_pid) - before)
    states.kill()
    assert min(busy) <= 0.02 and max(busy) < 0.3, busy


def processor_time(pid):
    """Seconds of processor time that a process has used."""
    fields = read_proc(pid, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
