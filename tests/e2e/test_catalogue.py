# SPDX-License-Identifier: Apache-2.0
"""Permissions of the catalogue, as real programs meet them: their hosts, all of them, and no other."""

import pytest

from internet.services import echo_udp

FOLDER = "/home/dev/.config/sandgate"

# Permission → hosts that are near it and not of it.
BESIDE = {
    "install:python": ["upload.pypi.org", "pypi.org.example.com", "xpypi.org"],
    "install:rust": ["crates.io", "docs.rs"],
    "model:anthropic": ["claude.ai", "api.openai.com"],
    "error-reports": ["ingest.us.sentry.io", "o1.ingest.us.sentry.io"],
}


@pytest.fixture(autouse=True)
def no_overrides_left(world):
    yield
    world.machine.run(f"rm -rf {FOLDER}", person="root")


def hosts_of(sandgate, permission):
    return sandgate.json("net", "permissions", permission)[0]["hosts"]


@pytest.mark.parametrize("permission", sorted(BESIDE))
def test_a_permission_admits_its_hosts_and_nothing_beside_them(world, sandgate, permission):
    hosts = hosts_of(sandgate, permission)
    assert hosts and not any("*" in host or ":" in host for host in hosts)
    for host in hosts + BESIDE[permission]:
        world.site(host)
    box = sandgate.box("--net", "deny", "--allow", permission)
    for host in hosts:
        assert box.curl(f"https://{host}/").ok, host
    world.start_watching()
    for host in BESIDE[permission]:
        assert not box.curl(f"https://{host}/").ok, host
    got = box.python("report(r=try_dial(sys.argv[1], 22)[0])", hosts[0])
    assert got.json["r"] != "connected"
    assert world.left_the_host() == []


def test_a_wildcard_and_a_port_of_a_permission(world, sandgate):
    """`time` is UDP 123 of the pool and of every name below it."""
    address = world.address()
    world.name("2.debian.pool.ntp.org", address)
    echo_udp(world, address, 123)
    box = sandgate.box("--net", "deny", "--allow", "time")
    got = box.python("""
address = socket.gethostbyname("2.debian.pool.ntp.org")
report(r=ask_udp(address, 123, b"what time is it")[0] == b"what time is it", tcp=try_dial(address, 443)[0])
""").json
    assert got["r"] is True and got["tcp"] != "connected", got


def test_a_permission_for_a_port_of_this_machine(world, sandgate):
    """`model:ollama` is TCP 11434 of the host's loopback, and no other port of it."""
    for port in 11434, 11435:
        world.tcp("127.0.0.1", port, lambda sock: sock.sendall(b"hello"), place=world.machine.place)
    with_it, without = sandgate.box("--net", "deny", "--allow", "model:ollama"), sandgate.box("--net", "deny")
    dial = 'report(r=try_dial("host.sandgate.internal", int(sys.argv[1]))[0])'
    assert with_it.python(dial, "11434").json["r"] == "connected"
    assert with_it.python(dial, "11435").json["r"] != "connected"
    assert without.python(dial, "11434").json["r"] != "connected"


def test_what_the_catalogue_gains_reaches_a_sandbox_that_has_the_permission(world, sandgate):
    """A sandbox keeps the id, not the hosts."""
    world.site("pypi.corp.example")
    name = sandgate.new_name()
    assert sandgate("create", name, "--only", "install:python").ok
    fetch = ["curl", "-sS", "-m5", "https://pypi.corp.example/"]
    before = sandgate("run", "--name", name, "--", *fetch)
    assert not before.ok and "site:pypi.corp.example" in before.err, before
    world.machine.run(["mkdir", "-p", f"{FOLDER}/catalogue"])
    world.machine.write(f"{FOLDER}/catalogue/corp.yaml", "permissions:\n  install:python:\n"
                        "    says: install Python packages of ours\n"
                        "    attempt: install Python packages of ours\n"
                        "    hosts: {pypi.org: ['@'], corp.example: [pypi]}\n", "dev")
    after = sandgate("run", "--name", name, "--", *fetch)
    assert after.out == "hello from pypi.corp.example\n", after
    assert sandgate("rm", "--force", name).ok
