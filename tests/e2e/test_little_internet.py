# SPDX-License-Identifier: Apache-2.0
"""The ground that the other tests stand on, tried with direct clients and no sandbox."""

import asyncio
import socket
import struct
import time
from types import SimpleNamespace

from internet.capture import ACK, FIN, RST, SYN, TCP
from internet.world import (BLACKHOLE4, PROHIBITED4, UNREACHABLE4, World, begun,
                            without_endings)


def test_a_world_is_up_in_well_under_a_second():
    def took():
        started = time.monotonic()
        world = World()
        ended = time.monotonic()
        world.close()
        return ended - started
    assert any(took() < 1.0 for _ in range(10))


def test_names_resolve_and_every_question_is_logged(world):
    world.zone.add("alias.example.com", "CNAME", "real.cdn.net.")
    world.name("real.cdn.net", "93.184.200.1", "2a00:1::99")
    got = world.machine.run("dig +short alias.example.com A; dig +short +tcp alias.example.com AAAA")
    assert got.stdout == "real.cdn.net.\n93.184.200.1\nreal.cdn.net.\n2a00:1::99\n"
    assert [(q.type, q.transport) for q in world.zone.asked("alias.example.com")] == [
        ("A", "udp"), ("AAAA", "tcp")]


def test_a_name_that_is_not_there_and_a_server_that_is_dead(world):
    world.name("here.example.com", "93.184.200.1")
    assert "status: NXDOMAIN" in world.machine.run("dig gone.example.com").stdout
    assert "status: NOERROR" in world.machine.run("dig here.example.com AAAA").stdout
    world.zone.behave("bad.example.com", rcode="SERVFAIL")
    assert "status: SERVFAIL" in world.machine.run("dig bad.example.com").stdout
    world.zone.dead = True
    assert world.machine.run("dig +time=1 +tries=1 here.example.com").returncode != 0


def test_a_site_answers_over_http_and_trusted_tls_on_both_families(world):
    site = world.site("www.example.com", v6=True)
    for family in "46":
        for scheme in ("http", "https"):
            got = world.machine.run(f"curl -{family} -sS {scheme}://www.example.com/path")
            assert got.stdout == "hello from www.example.com\n", got
    assert [r.server_name for r in site.requests] == [None, "www.example.com"] * 2


def test_the_capture_sees_what_leaves_and_nothing_when_nothing_does(world):
    world.start_watching()
    assert world.left_the_host(dns=True) == []
    world.machine.run("ping -c1 -W1 93.184.0.1")
    assert [(p.destination, p.protocol) for p in world.left_the_host()] == [("93.184.0.1", 1)]


def test_ends_that_are_closed_unreachable_prohibited_or_silent(world):
    for address, status in ((world.address(), 7), (UNREACHABLE4, 7), (PROHIBITED4, 7),
                            (BLACKHOLE4, 28)):
        assert world.machine.run(f"curl -m1 -sS http://{address}/").returncode == status, address


def test_the_persons_machine_keeps_its_secrets_and_its_own_resolver(world):
    assert "a-secret" in world.machine.run("cat ~/.ssh/id_ed25519").stdout
    world.machine.use_resolver("192.168.77.1", search="corp.example")
    assert "corp.example" in world.machine.read("/etc/resolv.conf")


def test_a_machine_behind_nat_shows_another_address(worlds):
    world = worlds.get(nat=True)
    world.start_watching()
    site = world.site("www.example.com")
    assert world.machine.run("curl -sS http://www.example.com/").returncode == 0
    assert site.connections[0].client[0] == "93.188.0.2"
    assert {p.source for p in world.left_the_host()} == {"192.168.77.2"}
    world.reset()


def test_only_what_ends_an_earlier_connection_is_passed_over():
    def packet(port, flags, payload=b""):
        return SimpleNamespace(source="192.168.77.2", source_port=port, destination="93.184.0.9",
                               port=7000, protocol=TCP, flags=flags, payload=payload)
    earlier = begun([packet(1, SYN), packet(2, SYN), packet(3, ACK)])
    since = [packet(1, ACK), packet(1, FIN | ACK), packet(1, RST), packet(1, RST, b"x"), packet(1, ACK, b"x"),
             packet(2, SYN), packet(2, RST), packet(3, RST)]
    assert without_endings(since, earlier, begun(since)) == since[3:]


def test_a_connection_of_a_test_that_is_over_may_still_be_reset(world):
    """A gate that ends after its test was cleared away resets what it had open."""
    address = world.address()

    async def keep(reader, writer):
        await asyncio.sleep(30)
    world.tcp(address, 7000, keep)
    client = world.machine.place.socket()
    client.settimeout(30)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() resets
    client.connect((address, 7000))
    assert any(p.destination == address for p in world.left_the_host())
    world.reset()
    world.start_watching()
    client.close()
    assert [p.flags & RST for p in world.capture.since() if p.destination == address] == [RST]
    assert world.left_the_host() == []
