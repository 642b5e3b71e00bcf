# SPDX-License-Identifier: Apache-2.0
"""broker.md 6: a host that has to use its company's proxy. Every connection goes through it, and
never directly; the capture on the host's link is the judge."""

import os
import signal

import pytest

from internet.capture import TCP
from internet.parent import ParentProxy
from internet.web import Response
from program import descendants, read_proc, wait_until
from test_handover import broker_of

NAME = "api.example.com"
SEEN = "seen.example.com"
INSPECTING = f"network: deny\nallow: [{NAME}, {SEEN}]\ninspect: [{SEEN}]\n"
SECRET = "the-parents-password"


def hello(request):
    return Response("hello " + request.header("host"))


def settings(world, text, person="dev"):
    folder = "/home/dev/.config/sandgate"
    world.machine.run(f"mkdir -p {folder}", person=person)
    world.machine.write(f"{folder}/config.yaml", text, person)
    world.on_reset(lambda: world.machine.run(f"rm -rf {folder}"))


def parent_of(world, *names, more="", **options):
    sites = {name: world.site(name, handler=hello) for name in names}
    proxy = ParentProxy(world, world.address(), {n: s.address for n, s in sites.items()}, **options)
    settings(world, f"upstream_proxy: http://{'me@' if options.get('user') else ''}"
                    f"{proxy.address}:3128\n" + more)
    return proxy, sites


def box_of(sandgate, text=INSPECTING, **more):
    return sandgate.box("--policy", "policy.yaml", files={"policy.yaml": text}, **more)


def direct(world, proxy):
    """What left by another way than the proxy, the host's own questions to its resolver aside."""
    return [p for p in world.left_the_host() if p.destination != proxy.address]


def test_every_connection_goes_through_it_and_none_directly(world, sandgate):
    proxy, _ = parent_of(world, NAME, SEEN)
    box = box_of(sandgate)
    world.start_watching()
    for url in f"http://{NAME}/", f"https://{NAME}/", f"https://{SEEN}/", f"http://{SEEN}/":
        got = box.curl(url)
        assert got.out == "hello " + url.split("/")[2], (got, proxy.heads)
    assert proxy.tunnels == [f"{NAME}:80", f"{NAME}:443", f"{SEEN}:443", f"{SEEN}:80"]
    assert all(b"Proxy-Authorization" not in head for head in proxy.heads)
    assert direct(world, proxy) == []


def test_many_requests_and_large_bodies(world, sandgate):
    proxy, sites = parent_of(world, NAME, SEEN, interim=True)
    box = box_of(sandgate)
    sites[NAME].handler = sites[SEEN].handler = lambda request: Response("x" * 3_000_000)
    for name in NAME, SEEN:
        urls = " ".join([f"https://{name}/"] * 3)
        got = box.run(f"curl -sS {urls} | wc -c")
        assert got.out.strip() == "9000000", got


def test_a_server_that_speaks_first_is_heard_whole(world, sandgate):
    """What follows the parent's answer in one segment belongs to the far side."""
    far = world.address()

    async def greet(reader, writer):
        writer.write(b"220 hello\r\n")
        await writer.drain()
        await reader.read(4)
        writer.close()
    world.tcp(far, 25, greet)
    proxy, _ = parent_of(world)
    box = sandgate.box("--only", f"{far}:25")
    world.start_watching()
    got = box.python("s = dial(sys.argv[1], 25); report(said=s.recv(100).decode()); s.send(b'quit')",
                     far)
    assert got.json["said"] == "220 hello\r\n"
    assert proxy.tunnels == [f"{far}:25"]
    assert direct(world, proxy) == []


@pytest.mark.parametrize("source", ["env:PARENT_PASSWORD", "file:~/parent-password"])
def test_its_password_comes_from_outside_and_is_nowhere_inside(world, sandgate, source):
    proxy, _ = parent_of(world, NAME, user="me", password=SECRET,
                         more=f"upstream_proxy_from: {source}\n")
    world.machine.write("/home/dev/parent-password", SECRET + "\n", "dev")
    world.machine.run("chmod 600 /home/dev/parent-password")
    box = box_of(sandgate, f"network: deny\nallow: [{NAME}]\n",
                 env={"PARENT_PASSWORD": SECRET} if source.startswith("env") else None)
    assert box.curl(f"https://{NAME}/").out == f"hello {NAME}"
    assert len(proxy.heads) == 1 and b"Proxy-Authorization: Basic " in proxy.heads[0]
    assert SECRET not in box.run("env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'").out
    for pid in descendants(box.process.pid):
        assert SECRET not in read_proc(pid, "environ"), read_proc(pid, "comm")
    assert SECRET not in read_proc(box.process.pid, "cmdline")


def test_a_wrong_password_is_told_to_the_person_and_nothing_goes_directly(world, sandgate):
    proxy, _ = parent_of(world, NAME, user="me", password=SECRET,
                         more="upstream_proxy_from: env:PARENT_PASSWORD\n")
    box = box_of(sandgate, f"network: deny\nallow: [{NAME}]\n", env={"PARENT_PASSWORD": "wrong-one"})
    world.start_watching()
    assert not box.curl(f"https://{NAME}/").ok
    wait_until(lambda: "407" in box.err, what="the words for the person")
    assert "upstream_proxy_from" in box.err and "wrong-one" not in box.err
    assert proxy.tunnels == [] and direct(world, proxy) == []


def test_a_source_that_fails_is_told_and_nothing_goes_directly(world, sandgate):
    proxy, _ = parent_of(world, NAME, user="me", password=SECRET,
                         more="upstream_proxy_from: file:~/no-such-file\n")
    box = box_of(sandgate, f"network: deny\nallow: [{NAME}]\n")
    world.start_watching()
    assert not box.curl(f"https://{NAME}/").ok
    wait_until(lambda: "no-such-file" in box.err, what="the words for the person")
    assert proxy.heads == [] and direct(world, proxy) == []


@pytest.mark.parametrize("status", [403, 502, 504])
def test_what_the_parent_refuses_fails_at_once(world, sandgate, status):
    proxy, _ = parent_of(world, NAME, status=status)
    box = box_of(sandgate, f"network: deny\nallow: [{NAME}]\n")
    patience, end = (2, 28) if status == 504 else (5, 7)  # 504 is silence, as of a far side that is down
    got = box.run(f"curl -sS -m{patience} https://{NAME}/")
    assert got.status == end, got
    wait_until(lambda: str(status) in box.err, what="the words for the person")


def test_without_the_parent_nothing_leaves(world, sandgate):
    site = world.site(NAME, handler=hello)
    closed = world.address()
    settings(world, f"upstream_proxy: http://{closed}:3128\n")
    box = box_of(sandgate, f"network: deny\nallow: [{NAME}]\n")
    world.start_watching()
    assert box.run(f"curl -sS -m5 https://{NAME}/").status == 7
    assert {p.destination for p in world.left_the_host()} == {closed}
    assert site.requests == []


def test_what_is_not_tcp_is_refused(world, sandgate):
    proxy, _ = parent_of(world, NAME)
    far = world.address()
    box = sandgate.box("--only", far)
    world.start_watching()
    got = box.python("report(udp=str(ask_udp(sys.argv[1], 7000, b'x', 2)))", far)
    assert "93." not in got.json["udp"]
    assert not box.run(f"ping -c1 -W2 {far}").ok
    assert direct(world, proxy) == []
    wait_until(lambda: {e["proto"] for e in box.sandgate("net", "log", box.name, "--json").lines
                        if e.get("reason") == "parent-proxy"} == {"udp", "icmp"}, what="the log")


def test_no_proxy_goes_directly(world, sandgate):
    office = world.site("git.corp.example", handler=hello)
    lab = world.site("x.lab.example", handler=hello)
    proxy, _ = parent_of(world, NAME, more="no_proxy: [git.corp.example, '*.lab.example']\n")
    box = box_of(sandgate, f"network: deny\nallow: [{NAME}, git.corp.example, x.lab.example]\n")
    world.start_watching()
    for name in NAME, "git.corp.example", "x.lab.example":
        assert box.curl(f"https://{name}/").out == f"hello {name}"
    assert proxy.tunnels == [f"{NAME}:443"]
    went = {p.destination for p in world.left_the_host() if p.protocol == TCP}
    assert went == {proxy.address, office.address, lab.address}


def test_the_proxy_port_goes_through_it_too(world, sandgate):
    proxy, _ = parent_of(world, NAME, SEEN)
    box = box_of(sandgate, INSPECTING.replace("deny", "brokered"))
    world.start_watching()
    for url in f"https://{NAME}/", f"https://{SEEN}/", f"http://{NAME}/":
        assert box.curl(url).out == "hello " + url.split("/")[2]
    assert [t.split(":")[0] for t in proxy.tunnels] == [NAME, SEEN, NAME]
    assert direct(world, proxy) == []


def test_a_new_gate_and_a_new_broker_use_it_again(world, sandgate):
    proxy, _ = parent_of(world, NAME, user="me", password=SECRET,
                         more="upstream_proxy_from: env:PARENT_PASSWORD\n")
    box = box_of(sandgate, f"network: deny\nallow: [{NAME}]\n", env={"PARENT_PASSWORD": SECRET})
    world.start_watching()
    for kind in "gate", "broker":
        assert box.curl(f"https://{NAME}/").ok
        os.kill(broker_of(box) if kind == "broker" else box.gate_pid, signal.SIGKILL)
        wait_until(lambda: f"a new {kind} has taken over" in box.err, what=f"a new {kind}")
        wait_until(lambda: box.curl(f"https://{NAME}/").ok, what="the parent again")
    assert direct(world, proxy) == []


def test_a_parent_that_cannot_be_found_starts_nothing(world, sandgate):
    settings(world, "upstream_proxy: http://no-such-proxy.example:3128\n")
    done = sandgate("run", "--net", "deny", "--", "echo", "started")
    assert done.status == 125 and done.out == "", done
    assert "upstream_proxy: no-such-proxy.example cannot be looked up" in done.err
