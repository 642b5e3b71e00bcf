# SPDX-License-Identifier: Apache-2.0
"""Limits: each is a policy key; reaching one is a refusal with its own reason."""

import time

from internet.services import echo_tcp


def limited(world, sandgate, address, limits):
    world.machine.write("/home/dev/limits.yaml", f"network: deny\nallow: ['{address}']\n"
                        f"limits: {{{limits}}}\n", "dev")
    return sandgate.box("--policy", "/home/dev/limits.yaml")


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


def test_octets_out(world, sandgate):
    """A sandbox sends no more than it should; the flow is reset and says so."""
    address = world.address()
    heard = []

    async def hear(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                heard.append(len(data))
        except ConnectionError:
            pass
        writer.close()
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
