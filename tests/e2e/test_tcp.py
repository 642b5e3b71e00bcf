# SPDX-License-Identifier: Apache-2.0
"""Other TCP: server-first protocols, the far side's own answers, ends, and much of everything."""

import asyncio
import hashlib
import os
import resource
import socket
import struct
import threading
import time

import pytest

from internet.services import Postgres, Redis, Ssh, echo_tcp, greeter
from internet.web import Response
from internet.world import BLACKHOLE4, PROHIBITED4, UNREACHABLE4, UNREACHABLE6
from program import AT_ONCE, SANITIZED, read_proc, wait_until

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

FULL = os.environ.get("SANDGATE_FULL") == "1"
# Two descriptors of the gate a flow, beside those for datagrams and pipes.
DESCRIPTORS = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
MANY = 9000 if DESCRIPTORS >= 20000 else DESCRIPTORS // 4


def named(world, name, port, *, v6=False):
    """An address under a name, for a server of the test's own."""
    address = world.address6() if v6 else world.address()
    world.name(name, address)
    return address


@pytest.mark.engines
def test_server_first_protocols_flow_at_once(world, sandgate):
    """SMTP, MySQL, FTP control: the server speaks first, nothing is waited for."""
    address = named(world, "srv.example.com", 25)
    for port, greeting in ((25, b"220 mail ready\r\n"), (3306, b"J\0\0\0\n8.0.32"), (21, b"220 ftp\r\n")):
        greeter(world, address, port, greeting)
    box = sandgate.box("--only", "srv.example.com:25,srv.example.com:3306,srv.example.com:21")
    got = box.python("""
for port in 25, 3306, 21:
    started = time.monotonic()
    s = dial("srv.example.com", port)
    first = s.recv(100)
    s.sendall(b"HELO me\\r\\n")
    report(port=port, first=first.decode(), echo=s.recv(100).decode(),
           seconds=time.monotonic() - started)
""")
    assert [line["first"] for line in got.lines] == ["220 mail ready\r\n", "J\0\0\0\n8.0.32", "220 ftp\r\n"]
    assert all(line["echo"] == "250 HELO me\r\n" and line["seconds"] < 1 for line in got.lines)


@pytest.mark.engines
def test_a_name_opens_its_default_ports_and_no_other(world, sandgate):
    """demands.md, names 11: default ports 80 and 443; clients 5: the denial names the port."""
    site = world.site("api.example.com")
    greeter(world, site.address, 22, b"SSH-2.0-x\r\n")
    box = sandgate.box("--only", "api.example.com")
    assert box.curl("http://api.example.com/").ok
    world.start_watching()
    got = box.python('report(r=try_dial(sys.argv[1], 22))', site.address)
    assert got.json["r"][0] == "ECONNREFUSED" and got.json["r"][1] < AT_ONCE
    assert world.left_the_host() == []
    done = box.stop()
    assert "api.example.com:22" in done.err, done.err


def test_port_lists_ranges_and_any(world, sandgate):
    address = named(world, "api.example.com", 0)
    for port in (22, 443, 1000, 1500, 2000, 2001, 9999):
        echo_tcp(world, address, port)
    def reachable(box):
        got = box.python("""
socket.getaddrinfo("api.example.com", 1)
report(open=[p for p in (22, 1000, 1500, 2000, 2001, 9999)
             if try_dial(sys.argv[1], p)[0] == "connected"])""", address)
        return got.json["open"]
    assert reachable(sandgate.box("--only", "api.example.com:22,443")) == [22]
    assert reachable(sandgate.box("--only", "api.example.com:1000-2000")) == [1000, 1500, 2000]
    assert reachable(sandgate.box("--only", "api.example.com:*")) == [22, 1000, 1500, 2000, 2001, 9999]
    assert reachable(sandgate.box("--only", "api.example.com:22/udp")) == []


@pytest.mark.engines
@pytest.mark.parametrize("family", ["v4", "v6"])
def test_connecting_reproduces_the_far_side(world, sandgate, family):
    """Refused → RST, unreachable → ICMP or RST; no "connected" before the destination said so.
    demands.md, relay 42: no SYN-ACK before upstream connects."""
    if family == "v4":
        closed, unreachable = world.address(), UNREACHABLE4
    else:
        closed, unreachable = world.address6(), UNREACHABLE6
    rule = f"[{closed}],[{unreachable}]" if family == "v6" else f"{closed},{unreachable}"
    box = sandgate.box("--only", rule)
    got = box.python("report(closed=try_dial(sys.argv[1], 81), unreachable=try_dial(sys.argv[2], 81))",
                     closed, unreachable).json
    assert got["closed"][0] == "ECONNREFUSED" and got["closed"][1] < AT_ONCE
    assert got["unreachable"][0] in ("EHOSTUNREACH", "ENETUNREACH", "ECONNREFUSED")
    assert got["unreachable"][1] < 3  # Linux asks an IPv6 route twice, a second apart


def test_prohibited_and_silent_destinations(world, sandgate):
    box = sandgate.box("--only", f"{BLACKHOLE4},{PROHIBITED4}")
    got = box.python("report(silent=try_dial(sys.argv[1], 80, 2)[0], said=try_dial(sys.argv[2], 80))",
                     BLACKHOLE4, PROHIBITED4).json
    assert got["silent"] == "TimeoutError" or got["silent"] == "ETIMEDOUT"
    assert got["said"][0] in ("EHOSTUNREACH", "EACCES", "ECONNREFUSED") and got["said"][1] < 1


@pytest.mark.engines
def test_a_refusal_is_immediate_on_both_families(world, sandgate):
    """demands.md, IPv6 33: a refused IPv6 destination ends in under 250 ms, as IPv4 does."""
    box = sandgate.box("--net", "deny")
    world.start_watching()
    got = box.python("""
for address in "93.184.9.9", "10.0.0.1", "169.254.169.254", "8.8.8.8", "2a00:1::9", "fd00::1", "2606:4700::1111":
    report(address=address, r=try_dial(address, 443))
""")
    for line in got.lines:
        assert line["r"][0] == "ECONNREFUSED" and line["r"][1] < AT_ONCE, line
    for ipv6 in False, True:   # the quickest: a busy machine may hold one up
        assert min(line["r"][1] for line in got.lines if (":" in line["address"]) == ipv6) < 0.25, got
    assert world.left_the_host() == []


def test_a_dead_v6_falls_back_to_v4_at_once(world, sandgate):
    """demands.md, IPv6 34: an upstream IPv6 that does not answer does not hold clients up."""
    site = world.site("dual.example.com", dns=False, https=False)
    world.name("dual.example.com", site.address, "2a00:3::77")
    box = sandgate.box("--only", "dual.example.com")
    got = box.curl("http://dual.example.com/")
    assert got.ok and got.seconds < box.engine.at_once, got


@pytest.mark.engines
def test_half_close_both_ways(world, sandgate):
    """demands.md, relay 41: shutdown(WR), then a large reply; and the other way about."""
    address = named(world, "half.example.com", 7000)
    size = 10 << 20
    heard = []

    async def after_end(reader, writer):
        data = await reader.read(-1)
        heard.append(len(data))
        writer.write(hashlib.sha256(data).digest() + b"r" * size)
        await writer.drain()
        writer.close()

    async def end_first(reader, writer):
        writer.write(b"bye")
        writer.write_eof()
        heard.append(len(await reader.read(-1)))
        writer.close()
    world.tcp(address, 7000, after_end)
    world.tcp(address, 7001, end_first)
    box = sandgate.box("--only", "half.example.com:7000-7001")
    got = box.python("""
import hashlib
data = os.urandom(1 << 20)
s = dial("half.example.com", 7000)
s.sendall(data)
s.shutdown(socket.SHUT_WR)
reply = read_all(s)
report(same=reply[:32] == hashlib.sha256(data).digest(), size=len(reply) - 32)
s = dial("half.example.com", 7001)
first = read_all(s)
time.sleep(0.2)
s.sendall(b"x" * 100000)
s.close()
report(first=first.decode())
""")
    assert got.lines[0] == {"same": True, "size": size}
    assert got.lines[1] == {"first": "bye"}
    wait_until(lambda: len(heard) == 2, what="what was sent after the server's end")
    assert heard == [1 << 20, 100000]


@pytest.mark.engines
def test_resets_both_ways(world, sandgate):
    address = named(world, "rst.example.com", 7100)
    ends = []

    async def reset(reader, writer):
        await reader.read(10)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER{1, 0}
        writer.transport.abort()

    async def wait_for_reset(reader, writer):
        try:
            await reader.read(-1)
            ends.append("end")
        except ConnectionResetError:
            ends.append("reset")
        writer.close()
    world.tcp(address, 7100, reset)
    world.tcp(address, 7101, wait_for_reset)
    box = sandgate.box("--only", "rst.example.com:7100-7101")
    got = box.python("""
s = dial("rst.example.com", 7100)
s.sendall(b"x")
try:
    s.recv(10); result = "end"
except OSError as problem:
    result = errname(problem)
report(r=result)
s = dial("rst.example.com", 7101)
s.sendall(b"x" * 1000)
time.sleep(0.2)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
""")
    assert got.json["r"] == "ECONNRESET"
    wait_until(lambda: ends, what="the far side's end")
    assert ends == ["reset"]


def test_urgent_data_passes(world, sandgate):
    address = named(world, "urg.example.com", 7200)
    seen = []

    async def hear(reader, writer):
        seen.append(await reader.read(-1))
        writer.close()
    server = world.tcp(address, 7200, hear)
    server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    box = sandgate.box("--only", "urg.example.com:7200")
    box.python("""
s = dial("urg.example.com", 7200)
s.sendall(b"before")
s.send(b"!", socket.MSG_OOB)
time.sleep(0.1)
s.sendall(b"after")
s.shutdown(socket.SHUT_WR)
read_all(s)
""")
    assert seen == [b"before!after"]


def test_a_thousand_close_delimited_bodies_arrive_whole(world, sandgate):
    """demands.md, relay 36: `Connection: close` does not truncate."""
    def body(request):
        n = int(request.target[1:])
        return Response(bytes([n & 255]) * (n * 37 + 1), length=False)
    world.site("close.example.com", handler=body, https=False)
    box = sandgate.box("--only", "close.example.com")
    got = box.python("""
address = socket.gethostbyname("close.example.com")
wrong = []
for n in range(1000):
    s = dial(address, 80)
    s.sendall(f"GET /{n} HTTP/1.1\\r\\nHost: close.example.com\\r\\nConnection: close\\r\\n\\r\\n".encode())
    head, _, body = read_all(s).partition(b"\\r\\n\\r\\n")
    if body != bytes([n & 255]) * (n * 37 + 1):
        wrong.append((n, len(body)))
    s.close()
report(wrong=wrong)
""", timeout=120)
    assert got.json["wrong"] == []


def test_much_each_way(world, sandgate):
    """1 GiB each way at once (96 MiB unless SANDGATE_FULL=1, and where each instruction is emulated), byte-exact, the
    gate's memory flat."""
    much = (1 << 30) if FULL and not sandgate.engine.own_kernel else (96 << 20)
    address = named(world, "bulk.example.com", 7300)
    sums, arrived = {}, threading.Event()

    async def exchange(reader, writer):
        async def send():
            block = bytes(range(256)) * 4096
            left = much
            while left:
                writer.write(block[:min(left, len(block))])
                await writer.drain()
                left -= min(left, len(block))
            writer.write_eof()
        sending = asyncio.ensure_future(send())
        digest, total = hashlib.sha256(), 0
        while data := await reader.read(1 << 20):
            digest.update(data)
            total += len(data)
        sums["up"] = (total, digest.hexdigest())
        arrived.set()
        await sending
        writer.close()
    world.tcp(address, 7300, exchange)
    box = sandgate.box("--only", "bulk.example.com:7300")
    code = """
import hashlib, threading
total = int(sys.argv[1])
block = bytes(reversed(range(256))) * 4096
s = dial("bulk.example.com", 7300, 120)
def send():
    left = total
    while left:
        s.sendall(block[:min(left, len(block))]); left -= min(left, len(block))
    s.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send); sender.start()
digest, got = hashlib.sha256(), 0
while part := s.recv(1 << 20):
    digest.update(part); got += len(part)
sender.join()
report(got=got, sha=digest.hexdigest())
"""
    got = box.python(code, much, timeout=300).json
    whole = bytes(range(256)) * (much // 256)
    assert (got["got"], got["sha"]) == (much, hashlib.sha256(whole).hexdigest())
    backwards = bytes(reversed(range(256))) * (much // 256)
    assert arrived.wait(60)   # the last of it may be on its way when the command has ended
    assert sums["up"] == (much, hashlib.sha256(backwards).hexdigest())
    peak = int(read_proc(box.gate_pid, "status").split("VmHWM:")[1].split()[0])
    assert peak < 64 * 1024 or SANITIZED, f"{peak} kB"


def test_a_peer_that_does_not_read_stops_the_sender_and_no_other(world, sandgate):
    """Zero-window peers: back-pressure reaches the sender; other flows go on."""
    address = named(world, "slow.example.com", 7400)
    release = asyncio.Event()
    total = []

    async def stall(reader, writer):
        writer.transport.pause_reading()
        await release.wait()
        writer.transport.resume_reading()
        total.append(len(await reader.read(-1)))
        writer.close()
    world.tcp(address, 7400, stall)
    echo_tcp(world, address, 7401)
    box = sandgate.box("--only", "slow.example.com:7400-7401")
    sending = box.start_python("""
s = dial("slow.example.com", 7400, 30)
s.sendall(b"x" * (64 << 20))
s.shutdown(socket.SHUT_WR)
read_all(s)
report(done=True)
""")
    time.sleep(1.5)
    quick = box.python("""
s = dial("slow.example.com", 7401); started = time.monotonic(); s.sendall(b"ping"); s.recv(4)
report(seconds=time.monotonic() - started)""")
    assert quick.json["seconds"] < AT_ONCE
    rss = int(read_proc(box.gate_pid, "status").split("VmRSS:")[1].split()[0])
    assert rss < 64 * 1024 or SANITIZED, f"{rss} kB"
    world.loop.call_soon_threadsafe(release.set)
    assert sending.wait().json["done"]
    assert total == [64 << 20]


def test_many_flows_at_once(world, sandgate):
    """9,000 flows open at the same time, all alive: what 20,000 descriptors have room for."""
    address = named(world, "many.example.com", 7500)
    echo_tcp(world, address, 7500)
    world.machine.write("/home/dev/many.yaml", "network: deny\nallow: [\"many.example.com:7500\"]\n"
                        "limits: {flows: 10000, flows_per_second: 10000, flows_burst: 10000}\n", "dev")
    box = sandgate.box("--policy", "/home/dev/many.yaml")
    got = box.python("""
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
address = socket.gethostbyname("many.example.com")
flows = []
for n in range(int(sys.argv[1])):
    flows.append(dial(address, 7500))
for n, s in enumerate(flows):
    s.sendall(b"%06d" % n)
alive = sum(s.recv(6) == b"%06d" % n for n, s in enumerate(flows))
report(alive=alive)
""", MANY, timeout=90)
    assert got.json["alive"] == MANY, got
    assert box.egress()["flows"]["opened"] == MANY


def test_ten_thousand_flows_one_after_the_other(world, sandgate):
    """demands.md, relay 42: ports wrap, slots are used again, nothing stalls, memory is stable."""
    address = named(world, "churn.example.com", 7600)
    count = 20000 if FULL else 4000

    async def close(reader, writer):
        writer.write(b"ok")
        writer.close()
    world.tcp(address, 7600, close)
    world.machine.write("/home/dev/churn.yaml", "network: deny\nallow: [\"churn.example.com:7600\"]\n"
                        "limits: {flows_per_second: 100000, flows_burst: 100000}\n", "dev")
    box = sandgate.box("--policy", "/home/dev/churn.yaml")
    code = """
address = socket.gethostbyname("churn.example.com")
slow, failed = 0, 0
for n in range(int(sys.argv[1])):
    started = time.monotonic()
    try:
        s = dial(address, 7600)
        failed += s.recv(10) != b"ok"
        s.close()
    except OSError:
        failed += 1
    slow += time.monotonic() - started > 1
report(failed=failed, slow=slow)
"""
    box.python(code, 500, timeout=120)
    before = int(read_proc(box.gate_pid, "status").split("VmRSS:")[1].split()[0])
    got = box.python(code, count, timeout=300)
    after = int(read_proc(box.gate_pid, "status").split("VmRSS:")[1].split()[0])
    assert got.json == {"failed": 0, "slow": 0}, got
    assert after - before < 2048 or SANITIZED, (before, after)


def test_an_idle_flow_lives(world, sandgate):
    """Idle for a minute and more (SANDGATE_FULL=1), a few seconds otherwise. demands.md, relay 38."""
    address = named(world, "idle.example.com", 7700)
    echo_tcp(world, address, 7700)
    box = sandgate.box("--only", "idle.example.com:7700")
    got = box.python("""
s = dial("idle.example.com", 7700)
s.sendall(b"a"); s.recv(1)
time.sleep(float(sys.argv[1]))
s.sendall(b"b")
report(r=s.recv(1).decode())
""", 130 if FULL else 4, timeout=200)
    assert got.json["r"] == "b"


def test_ssh_with_the_port_listed(world, sandgate, needs):
    """demands.md, clients 5, 6: allow host:22 gives a full SSH session; no ProxyCommand."""
    needs("/usr/sbin/sshd", "ssh")
    address = named(world, "git.example.com", 22)
    server = Ssh(world, address)
    box = sandgate.box("--only", "git.example.com:22")
    box.bring("key", server.private_key.encode(), mode=600)
    options = "-i key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    got = box.run(f"ssh {options} dev@git.example.com 'id -un; head -c 3000000 /dev/zero' | wc -c")
    assert got.out.strip() == str(3000000 + 4), got


def test_postgresql_by_name(world, sandgate, needs):
    """demands.md, clients 7: host:5432, not TLS, the address pinned by DNS."""
    needs("psql")
    address = named(world, "db.example.com", 5432)
    Postgres(world, address)
    box = sandgate.box("--only", "db.example.com:5432")
    box.needs("psql")
    got = box.run("psql -h db.example.com -U postgres -Atc \"select count(*) from generate_series(1,100000)\"")
    assert got.out == "100000\n", got


def test_redis_by_name(world, sandgate, needs):
    needs("redis-cli", "redis-server")
    address = named(world, "cache.example.com", 6379)
    Redis(world, address)
    box = sandgate.box("--only", "cache.example.com:6379")
    box.needs("redis-cli")
    assert box.run("redis-cli -h cache.example.com set a 1; redis-cli -h cache.example.com get a").out == "OK\n1\n"


def test_an_address_and_port_work_without_dns(world, sandgate):
    """demands.md, names 15: an IP:port rule works without any look-up."""
    address = world.address()
    echo_tcp(world, address, 9000)
    box = sandgate.box("--only", f"{address}:9000")
    got = box.python("report(right=try_dial(sys.argv[1], 9000)[0], wrong=try_dial(sys.argv[1], 9001)[0])",
                     address).json
    assert got == {"right": "connected", "wrong": "ECONNREFUSED"}
    assert world.zone.queries == []


@pytest.mark.engines
def test_sent_and_closed_at_once_arrives(world, sandgate):
    """A client that sends and closes without waiting: the octets still arrive."""
    address = named(world, "push.example.com", 7800)
    heard = []

    async def hear(reader, writer):
        heard.append(await reader.read(-1))
        writer.close()
    world.tcp(address, 7800, hear)
    box = sandgate.box("--only", "push.example.com:7800")
    box.python("""
for n in range(50):
    s = dial("push.example.com", 7800); s.sendall(b"%05d" % n * 1000); s.close()
""")
    wait_until(lambda: len(heard) == 50, what="all that was sent")
    assert sorted(heard) == [b"%05d" % n * 1000 for n in range(50)]
