# SPDX-License-Identifier: Apache-2.0
"""Containers that run already, by the engines that started them: `sandgate attach --container`."""

import json

import pytest

from internet.services import echo_tcp
from program import _source, wait_until

PODMANS = pytest.mark.parametrize("engine_name", ["podman-rootless", "podman-rootful"])


def row(sandgate, name):
    return next((r for r in sandgate.json("ls") if r["name"] == name), None)


@pytest.fixture
def container(engine, sandgate):
    """container(WORDS...) of podman; the names that it has."""
    made = []

    def start(*words, name=None):
        name = name or sandgate.new_name()
        made.append(name)
        engine.podman.run("run", "--detach", "--name", name, *words, "guest", "sleep", "1000")
        return name
    yield start
    for name in made:
        engine.podman.remove(name)


def attach(sandgate, engine, name, *options):
    return sandgate("attach", "--yes", *options, "--container", name,
                    env=engine.podman.env)


def dials(engine, name, *targets):
    code = _source("probe.py") + "\nreport(r=[try_dial(*t.split(' '), 3)[0] for t in sys.argv[1:]])"
    done = engine.podman.try_run("exec", name, "python3", "-c", code,
                                 *[f"{a} {p}" for a, p in targets])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["r"]


# Root's own network is CNI's: test_cni.py is about that.
@pytest.mark.parametrize("engine_name, network", [
    ("podman-rootless", "none"), ("podman-rootless", "slirp4netns"), ("podman-rootful", "none")])
def test_a_container_of_podman_is_put_behind_a_gate(world, sandgate, engine, container, network):
    """With the network that its engine gave it, which is taken away, and with none."""
    address = world.address()
    echo_tcp(world, address, 7000)
    name = container("--network", network, "--cap-add", "NET_ADMIN,NET_RAW")
    world.start_watching()
    done = attach(sandgate, engine, name, "--only", f"{address}:7000")
    assert done.ok, done
    assert ("taken away" in done.err) == (network != "none"), done
    shown = row(sandgate, name)
    assert (shown["engine"], shown["state"]) == ("podman", "running"), shown
    assert dials(engine, name, (address, 7000), (address, 7001)) == ["connected", "ECONNREFUSED"]
    assert world.left_the_host(where=lambda p: p.destination != address) == []
    devices = engine.podman.run("exec", name, "ip", "-o", "link", "show").splitlines()
    assert sorted(d.split(":")[1].strip().split("@")[0] for d in devices) == ["eth0", "lo"]
    assert sandgate("detach", name).ok
    assert dials(engine, name, (address, 7000)) == ["ENETUNREACH"]


@PODMANS
def test_it_ends_with_its_container(sandgate, engine, container):
    name = container("--network", "none")
    assert attach(sandgate, engine, name, "--net", "deny").ok
    assert row(sandgate, name)["state"] == "running"
    engine.podman.remove(name)
    wait_until(lambda: row(sandgate, name) is None, 20, "the end of the sandbox")


@pytest.mark.parametrize("engine_name", ["podman-rootless"])
def test_containers_that_are_not_to_be_had_say_why(sandgate, engine, container):
    name = container("--network", "none", name="twin-one")
    container("--network", "none", name="twin-two")
    ids = [engine.podman.run("container", "inspect", "--format", "{{.Id}}", n)
           for n in ("twin-one", "twin-two")]
    unknown = attach(sandgate, engine, "nobody", "--net", "deny")
    assert unknown.status == 125 and "--container nobody: podman: " in unknown.err, unknown
    assert "no such container" in unknown.err, unknown
    short = attach(sandgate, engine, ids[0][:12], "--net", "deny", "--name", sandgate.new_name())
    assert short.ok, short
    engine.podman.run("stop", "--time", "0", name)
    stopped = attach(sandgate, engine, name, "--net", "deny")
    assert stopped.status == 125 and "it does not run" in stopped.err, stopped
    host = container("--network", "host")
    refused = attach(sandgate, engine, host, "--net", "deny")
    assert refused.status == 125, refused
    assert "of sandgate itself" in refused.err or "of the host" in refused.err, refused


@pytest.mark.parametrize("engine_name", ["docker"])
@pytest.mark.parametrize("person", ["root"])
def test_a_container_of_docker_is_put_behind_a_gate(world, sandgate, engine):
    docker = engine.docker
    docker.load_image()
    address, name = world.address(), sandgate.new_name()
    echo_tcp(world, address, 7000)
    docker.ok("run", "--detach", "--name", name, "--network", "none", "guest", "sleep", "1000")
    try:
        done = sandgate("attach", "--only", f"{address}:7000", "--container", name)
        assert done.ok, done
        assert row(sandgate, name)["engine"] == "docker"
        code = _source("probe.py") + "\nreport(r=[try_dial(sys.argv[1], p, 20)[0] for p in (7000, 7001)])"
        got = docker.ok("exec", name, "python3", "-c", code, address)
        assert json.loads(got)["r"] == ["connected", "ECONNREFUSED"]
    finally:
        docker("rm", "--force", name)
    wait_until(lambda: row(sandgate, name) is None, 20, "the end of the sandbox")
