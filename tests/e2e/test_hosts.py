# SPDX-License-Identifier: Apache-2.0
"""Machines of all kinds: with IPv6 and without, with several links, behind NAT."""

import pytest

from internet.services import echo_tcp, echo_udp
from program import AT_ONCE, Sandgate, curl_refused


@pytest.fixture(params=["dev", "root"])
def person(request):
    return request.param


@pytest.mark.world(ipv6=False)
def test_a_machine_without_ipv6(world, sandgate):
    """demands.md, IPv6 35 and 33: it starts, and IPv6 ends at once inside."""
    site = world.site("dual.example.com", dns=False)
    world.name("dual.example.com", site.address, "2a00:1::dead")
    box = sandgate.box("--only", "dual.example.com")
    got = box.curl("https://dual.example.com/")
    assert got.ok and got.seconds < box.engine.at_once, got
    got = box.python('report(r=try_dial("2a00:1::dead", 443))').json["r"]
    assert got[0] != "connected" and got[1] < AT_ONCE
    assert box.run("getent ahosts dual.example.com").ok


@pytest.mark.world(nat=True)
def test_a_machine_behind_nat(world, sandgate):
    site = world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    assert box.curl("https://api.example.com/").ok
    assert site.connections[0].client[0] == "93.188.0.2"
    world.start_watching()
    assert box.curl("http://93.184.9.9/").status == 7
    assert world.left_the_host() == []


@pytest.mark.world(office=True)
def test_a_machine_with_several_links(world, sandgate):
    """Each destination leaves by the link that the machine's own routes say."""
    async def hello(reader, writer):
        writer.write(b"office\n")
        writer.close()
    world.tcp("10.20.1.1", 8000, hello)
    world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com,10.20.0.0/16")
    world.start_watching()
    assert box.curl("https://api.example.com/").ok
    assert box.python('report(r=dial("10.20.1.1", 8000).recv(10).decode())').json["r"] == "office\n"
    assert {p.device for p in world.left_the_host(to="10.20.1.1")} == {"office0"}
    assert {p.source for p in world.left_the_host(to="10.20.1.1")} == {"10.99.0.2"}


@pytest.mark.world(office=True)
def test_a_name_that_points_into_a_joined_network_is_withheld(world, sandgate):
    """demands.md, names 12: an allowed name that resolves to the VPN needs an opt-in."""
    world.name("sneaky.example.com", "10.20.1.1")
    box = sandgate.box("--only", "sneaky.example.com")
    world.start_watching()
    assert not box.curl("http://sneaky.example.com/").ok
    assert world.left_the_host() == []


def test_the_link_that_goes_away_and_comes_back(world, sandgate):
    site = world.site("api.example.com")
    box = sandgate.box("--only", f"{site.address}")
    assert box.curl(f"http://{site.address}/").ok
    place = world.machine.place
    place.ip("route del default via 192.168.77.1")
    try:
        got = box.curl(f"http://{site.address}/")
        assert curl_refused(got), got
    finally:
        place.ip("route add default via 192.168.77.1")
    assert box.curl(f"http://{site.address}/").ok


def test_two_persons_at_once(world, program):
    site = world.site("api.example.com")
    path = world.machine.install(program)
    pair = [Sandgate(world, path, person) for person in ("dev", "root")]
    try:
        one, two = (s.box("--only", "api.example.com") for s in pair)
        for box in (one, two, one):
            assert box.curl("https://api.example.com/").ok
        assert [row["name"] for row in pair[0].json("ls")] == [one.name]
        assert len(site.requests) == 3
    finally:
        for s in pair:
            s.close()


def test_large_files_of_the_host(world, sandgate):
    """A hosts file of 100,000 lines, a resolver configuration of 5,000."""
    machine = world.machine
    before = machine.read("/etc/hosts")
    site = world.site("last.example.com", dns=False)
    lines = "".join(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255} h{i}.example.org\n" for i in range(100000))
    machine.write("/etc/hosts", f"{before}{site.address} last.example.com\n{lines}")
    machine.write("/etc/resolv.conf", "nameserver 192.168.77.1\n" + "".join(
        f"nameserver 10.0.0.{i % 250}\n" for i in range(5000)))
    try:
        done = sandgate.run("--only", "last.example.com", command="curl -sS http://last.example.com/")
        assert done.out == "hello from last.example.com\n" and done.seconds < 3, done
    finally:
        machine.write("/etc/hosts", before)


@pytest.mark.parametrize("verdict", ["drop", "reject"])
def test_a_machine_with_a_firewall_of_its_own(world, sandgate, verdict):
    """What the machine itself may not reach ends inside as it would outside: at once, or not at all."""
    address, other = world.address(), world.address()
    for a in (address, other):
        echo_tcp(world, a, 7000)
        echo_udp(world, a, 7000)
    machine = world.machine
    machine.run(["nft", f"table ip wall {{ chain o {{ type filter hook output priority 0; ip daddr {address} {verdict}; }}; }}"],
                person="root").check_returncode()
    try:
        box = sandgate.box("--only", f"{address},{other}")
        got = box.python("""
report(shut=try_dial(sys.argv[1], 7000, 20), udp=ask_udp(sys.argv[1], 7000, b"x", 1), open=try_dial(sys.argv[2], 7000)[0])
""", address, other).json
        assert got["shut"][0] != "connected" and got["udp"][0] is None and got["open"] == "connected", got
        if verdict == "reject":
            assert got["shut"][0] == "ECONNREFUSED" and got["shut"][1] < 1, got
    finally:
        machine.run(["nft", "delete table ip wall"], person="root")


def test_a_link_of_a_small_mtu(world, sandgate):
    site = world.site("api.example.com", handler=lambda r: b"x" * 3_000_000 + r.body)
    echo_udp(world, site.address, 7000)
    world.machine.place.ip("link set up0 mtu 1280")
    world.internet.ip("link set down0 mtu 1280")
    try:
        box = sandgate.box("--only", f"api.example.com,{site.address}:7000/udp")
        got = box.run("head -c 2000000 /dev/zero | curl -sS -T - https://api.example.com/ -H 'Content-Length: 2000000' "
                      "-H 'Transfer-Encoding:' | wc -c")
        assert got.out.strip() == "5000000", got
        got = box.python("data = os.urandom(5000); report(same=ask_udp(sys.argv[1], 7000, data)[0] == data)", site.address)
        assert got.json["same"], got
    finally:
        world.machine.place.ip("link set up0 mtu 1500")
        world.internet.ip("link set down0 mtu 1500")
