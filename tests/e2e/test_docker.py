# SPDX-License-Identifier: Apache-2.0
"""Containers of a real dockerd, each behind a gate of the network driver's."""

import json
import os
import shutil
import signal
import socket

import pytest

from engines.docker import IMAGE, Docker, Dockerd
from engines.engine import supervisor_of
from internet.services import echo_tcp
from internet.world import ROUTER4
from program import wait_until, _source
from test_broker_life import brokers

SUBNET = "10.77.0.0/24"
TRUST = "/run/sandgate-docker"
INSIDE = "/run/sandbox-files/ca"


@pytest.fixture
def person():
    return "root"


@pytest.fixture(scope="module")
def dockers(worlds, program, kept_engines):
    """One dockerd for all tests of this file."""
    why = Docker.missing()
    if why:
        pytest.skip(why)
    kept_engines.end("docker")
    world = worlds.get()
    made = Dockerd(world, world.machine.install(program))
    try:
        made.load_image()
        yield made
    finally:
        made.close()


@pytest.fixture
def docker(dockers, world):
    """Daemons as they should be, and nothing left of a test."""
    if dockers.driver.poll() is not None:
        dockers.start_driver()
    if dockers.dockerd.poll() is not None:
        dockers.start_dockerd()
    yield dockers
    if dockers.driver.poll() is not None:
        dockers.start_driver()
    if dockers.dockerd.poll() is not None:
        dockers.start_dockerd()
    containers = dockers("ps", "-aq").stdout.split()
    if containers:
        dockers.ok("rm", "-f", *containers)
    networks = dockers("network", "ls", "-q", "--filter", "type=custom").stdout.split()
    if networks:
        dockers.ok("network", "rm", *networks)
    assert_nothing_left(dockers)


def assert_nothing_left(docker):
    machine = docker.machine
    assert machine.listdir("/var/lib/sandgate/docker/networks") == []
    assert machine.listdir("/var/lib/sandgate/docker/endpoints") == []
    assert machine.listdir(TRUST) == []
    wait_until(lambda: [n for n in machine.listdir("/run/sandgate")] == [], 20, "the sandboxes' end")
    devices = machine.place.run(["ip", "-o", "link"]).stdout
    assert ": sg" not in devices, devices


def network(docker, *options, name="agents", subnet=SUBNET):
    return docker("network", "create", "-d", "sandgate",
                  *[word for option in options for word in ("-o", option)], "--subnet", subnet, name)


def made_network(docker, *options, **more):
    done = network(docker, *options, **more)
    assert done.returncode == 0, done.stderr


def python(docker, container, code, *arguments, timeout=60):
    done = docker("exec", container, "python3", "-c", _source("probe.py") + "\n" + code,
                  *map(str, arguments), timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().rsplit("\n", 1)[-1])


def run(docker, *words, name="box", command=("sleep", "1000")):
    docker.ok("run", "-d", "--network", "agents", "--name", name, *words, IMAGE, *command)
    return name


def dials(docker, container, address, port=80):
    return python(docker, container, "report(r=try_dial(sys.argv[1], sys.argv[2], 20)[0])", address,
                  port)["r"]


def listed(sandgate):
    return {row["name"]: row for row in sandgate.json("ls")}


def err_of(done):
    assert done.returncode != 0, done.stdout
    return done.stderr


SERVE = ("python3", "-c", """
import socket
s = socket.create_server(("0.0.0.0", 80)); t = socket.create_server(("", 81), family=socket.AF_INET)
import threading
def serve(l, text):
    while True:
        c, _ = l.accept(); c.sendall(text); c.close()
threading.Thread(target=serve, args=(t, b"81")).start()
serve(s, b"80")
""")


# --- networks ---

@pytest.mark.parametrize("option, words", [
    ("polcy=deny", "-o polcy: there is no such option; did you mean -o policy?"),
    ("policy=dny", "did you mean `deny`?"),
    ("policy=/nowhere.yaml", "/nowhere.yaml: there is no such file"),
    ("policy=here/file.yaml", "a policy file is named by its absolute path"),
    ("policy=none", "the network `none` has no link"),
    ("allow=not a host", "--allow"),
    ("pcap=here", "it has to be an absolute path"),
    ("allow=", "it is empty"),
])
def test_a_network_whose_options_are_not_right_is_refused(docker, option, words):
    assert words in err_of(network(docker, option))
    assert docker("network", "inspect", "agents").returncode != 0


def test_a_policy_that_does_not_parse_refuses_the_network_with_the_place(docker):
    docker.machine.write("/run/policy.yaml", "network: deny\nallow: [7]\n")
    assert "/run/policy.yaml:2:" in err_of(network(docker, "policy=/run/policy.yaml"))


def test_internal_is_told_what_to_take(docker):
    done = docker("network", "create", "-d", "sandgate", "--internal", "agents")
    assert "-o policy=deny" in err_of(done)


# --- a container ---

def test_a_container_reaches_what_the_policy_says_and_nothing_else(docker, world, sandgate):
    allowed, denied = world.address(), world.address()
    echo_tcp(world, allowed, 80)
    echo_tcp(world, denied, 80)
    world.name("allowed.example", allowed)
    world.name("denied.example", denied)
    made_network(docker, "policy=deny", "allow=allowed.example:80/raw")
    run(docker)
    world.start_watching()
    got = python(docker, "box", """
report(yes=try_dial("allowed.example", 80, 20)[0], no=try_dial(sys.argv[1], 80, 20)[0],
       resolv=open("/etc/resolv.conf").read(), devices=sorted(os.listdir("/sys/class/net")))
""", denied)
    assert got["yes"] == "connected" and got["no"] == "ECONNREFUSED"
    assert "nameserver 127.0.0.11" in got["resolv"]
    assert got["devices"] == ["eth0", "lo"]
    assert "REFUSED" in docker("exec", "box", "dig", "+tries=1", "denied.example").stdout
    assert world.left_the_host(to=denied) == []
    row = listed(sandgate)["box"]
    assert row["engine"] == "docker" and row["network"] == "deny" and row["refused"] >= 2
    shown = sandgate("net", "box")
    assert "sandgate net allow box site:denied.example" in shown.out, shown
    assert sandgate("net", "allow", "box", "denied.example:80/raw").ok
    assert dials(docker, "box", "denied.example") == "connected"
    docker.ok("rm", "-f", "box")
    assert listed(sandgate) == {}


def test_the_first_instruction_stands_behind_a_ready_gate(docker, world):
    address = world.address()
    echo_tcp(world, address, 80)
    made_network(docker, "policy=deny", f"allow={address}:80")
    for _ in range(5):
        done = docker("run", "--rm", "--network", "agents", IMAGE, "nc", "-z", "-w", "5", address, "80")
        assert done.returncode == 0, done.stderr


def test_both_families_are_behind_the_gate(docker, world):
    four, six = world.address(), world.address6()
    echo_tcp(world, four, 80)
    echo_tcp(world, six, 80)
    docker.ok("network", "create", "-d", "sandgate", "-o", "policy=deny", "-o",
              f"allow={four}:80,[{six}]:80", "--subnet", SUBNET, "--ipv6", "--subnet",
              "fd00:77::/64", "agents")
    run(docker)
    assert dials(docker, "box", four) == "connected"
    assert dials(docker, "box", six) == "connected"
    assert dials(docker, "box", "2a00:1::ffff") == "ECONNREFUSED"
    assert dials(docker, "box", "fd00:77::99") == "ECONNREFUSED"


def test_a_policy_file_is_kept_as_it_was_when_the_network_was_made(docker, world, sandgate):
    docker.machine.write("/run/policy.yaml", "network: deny\n")
    made_network(docker, "policy=/run/policy.yaml")
    docker.machine.write("/run/policy.yaml", "network: any\n")
    run(docker)
    assert listed(sandgate)["box"]["network"] == "deny"


def test_the_name_of_another_sandbox_is_left_to_it(docker, sandgate, kept):
    other = kept("--net", "deny")
    made_network(docker, "policy=deny")
    run(docker, name=other.name)
    names = list(listed(sandgate))
    assert len([n for n in names if n.startswith("docker-")]) == 1, names


def test_containers_of_one_network_do_not_reach_each_other(docker, world):
    made_network(docker, "policy=deny", "allow=10.77.0.0/24")
    run(docker, name="one", command=SERVE)
    run(docker, name="two")
    address = docker.ok("inspect", "--format", "{{.NetworkSettings.Networks.agents.IPAddress}}", "one")
    assert python(docker, "two", "report(a=socket.gethostbyname('one'))")["a"] == address
    assert dials(docker, "two", address) != "connected"


# --- whom programs inside trust ---

FETCH = "import urllib.request; print(urllib.request.urlopen('https://%s/', timeout=15).read().decode())"


def trusting(docker, sandgate, name="box", command=("sleep", "1000")):
    """As `docker run $(sandgate docker-args agents)`."""
    words = sandgate("docker-args", "agents")
    assert words.ok, words
    return docker("run", "-d", "--name", name, *words.out.split(), IMAGE, *command)


def authorities(docker, container):
    return docker.ok("exec", container, "cat", f"{INSIDE}/bundle.pem").count("BEGIN CERTIFICATE")


def test_programs_inside_trust_what_is_inspected(docker, world, sandgate):
    """From the first instruction, in every container of the network, and after a broker was replaced."""
    site = world.site("api.example.com")
    docker.machine.write("/run/policy.yaml", "network: deny\nallow: [api.example.com]\ninspect: [api.example.com]\n")
    made_network(docker, "policy=/run/policy.yaml")
    folder = sandgate("docker-args", "--folder", "agents").out.strip()
    alone = docker.machine.read(f"{folder}/bundle.pem").count("BEGIN CERTIFICATE")
    words = sandgate("docker-args", "agents").out.split()
    first = docker("run", "--rm", *words, IMAGE, "curl", "-sS", "-m", "30", "https://api.example.com/")
    assert first.stdout == "hello from api.example.com\n", first
    assert docker.machine.read(f"{folder}/bundle.pem").count("BEGIN CERTIFICATE") == alone
    for name in "one", "two":
        assert trusting(docker, sandgate, name).returncode == 0
    assert authorities(docker, "one") == alone + 2
    extra = docker.ok("exec", "two", "sh", "-c", "cat $NODE_EXTRA_CA_CERTS")
    assert extra.count("BEGIN CERTIFICATE") == 2
    for name in "one", "two":
        assert "hello" in docker.ok("exec", name, "python3", "-c", FETCH % "api.example.com")
        assert "hello" in docker.ok("exec", name, "curl", "-sS", "-m", "30", "https://api.example.com/")
    before = docker.machine.read(f"{folder}/bundle.pem")
    (old,) = brokers(supervisor_of(docker.machine, "root", "one"))
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: docker.machine.read(f"{folder}/bundle.pem") != before, 20, "the new authority")
    assert authorities(docker, "one") == alone + 2
    wait_until(lambda: "hello" in docker("exec", "one", "curl", "-sS", "-m", "30", "https://api.example.com/").stdout,
               20, "the new broker")
    assert len(site.requests) >= 6 and world.left_the_host(where=lambda p: p.destination != site.address) == []
    unread = docker("exec", "-u", "0", "one", "sh", "-c", f"echo x >{INSIDE}/bundle.pem; rm {INSIDE}/extra.pem")
    assert unread.stderr.count("Read-only file system") == 2, unread
    docker.ok("rm", "-f", "two")
    assert authorities(docker, "one") == alone + 1
    docker.ok("rm", "-f", "one")
    docker.ok("network", "rm", "agents")
    assert docker.machine.listdir(TRUST) == []


def test_a_driver_that_starts_puts_right_what_is_trusted(docker, world, sandgate):
    """As after a reboot; and what a supervisor that was killed has left is nobody's any more."""
    docker.machine.write("/run/policy.yaml", "network: deny\nallow: [api.example.com]\ninspect: [api.example.com]\n")
    made_network(docker, "policy=/run/policy.yaml")
    folder = sandgate("docker-args", "--folder", "agents").out.strip()
    assert trusting(docker, sandgate).returncode == 0
    bundle = f"{folder}/bundle.pem"

    def trusted():
        return docker.machine.exists(bundle) and docker.machine.read(bundle).count("BEGIN CERTIFICATE")
    with_it = trusted()
    os.kill(supervisor_of(docker.machine, "root", "box"), signal.SIGKILL)
    wait_until(lambda: listed(sandgate) == {}, 20, "the sandbox's end")
    docker.end_driver()
    docker.start_driver()
    wait_until(lambda: trusted() == with_it - 1, 20, "the folder")
    docker.ok("rm", "-f", "box")
    docker.end_driver()
    docker.machine.place.call(lambda: shutil.rmtree(TRUST))
    docker.start_driver()
    wait_until(lambda: trusted() == with_it - 1, 20, "the folder")


@pytest.mark.parametrize("name, words", [
    ("nothing", "docker has no network nothing; docker network create -d sandgate nothing"),
    ("none", "none is a network of the driver `null`"),
    ("../containers/json", "it is no name of a network"),
    ("a b", "it is no name of a network"),
    ("a?b=c", "it is no name of a network"),
    (".", "it is no name of a network"),
    ("x" * 300, "it is no name of a network"),
])
def test_a_network_that_has_no_words(docker, sandgate, name, words):
    done = sandgate("docker-args", name)
    assert done.status == 125 and words in done.err and done.out == "", done


# --- published ports ---

def fetched(docker, address, port):
    def dial():
        with socket.create_connection((address, port), 10) as s:
            return s.recv(100)
    return docker.machine.place.call(dial)


def published(sandgate, name="box"):
    return {(p["host"], p["port"]): p["sandbox"] for p in sandgate.json("egress", name)["published"]}


def serves(docker, address, port, text):
    def ask():
        try:
            return fetched(docker, address, port) == text
        except OSError:
            return False
    return ask


def test_published_ports(docker, world, sandgate):
    made_network(docker, "policy=deny")
    run(docker, "-p", "8080:80", "-p", "127.0.0.1:8081:81", "-p", "[::1]:8082:80", command=SERVE)
    for address in "127.0.0.1", "192.168.77.2", "::1":
        wait_until(serves(docker, address, 8080, b"80"), 20, f"port 8080 of {address}")
    assert fetched(docker, "127.0.0.1", 8081) == b"81"
    assert fetched(docker, "::1", 8082) == b"80"
    with pytest.raises(ConnectionRefusedError):
        fetched(docker, "192.168.77.2", 8081)
    assert published(sandgate) == {("0.0.0.0", 8080): 80, ("::", 8080): 80, ("127.0.0.1", 8081): 81,
                                   ("::1", 8082): 80}
    docker.ok("rm", "-f", "box")
    with pytest.raises(ConnectionRefusedError):
        fetched(docker, "127.0.0.1", 8080)


def test_ports_that_the_host_chooses(docker, world, sandgate):
    """Of a range the first that is free; without one, any. dockerd does not show them: `egress` does."""
    taken = docker.machine.listen("127.0.0.1", 9000)
    made_network(docker, "policy=deny")
    run(docker, "-p", "127.0.0.1:9000-9010:80", "-p", "127.0.0.1::81", command=SERVE)
    taken.close()
    ports = {inside: port for (_, port), inside in published(sandgate).items()}
    assert ports[80] == 9001
    wait_until(serves(docker, "127.0.0.1", 9001, b"80"), 20, "port 9001")
    wait_until(serves(docker, "127.0.0.1", ports[81], b"81"), 20, "the chosen port")
    assert docker("port", "box").stdout == ""


@pytest.mark.parametrize("words, why", [
    (("-p", "5353:53/udp"), "-p 53/udp: only TCP ports can be published"),
    (("-p", "127.0.0.1:9000:80"), "port 9000 of 127.0.0.1 cannot be listened on"),
    (("-p", "127.0.0.1:9000-9000:80"), "port 9000 of 127.0.0.1 cannot be listened on"),
])
def test_ports_that_cannot_be_refuse_the_container(docker, sandgate, words, why):
    taken = docker.machine.listen("127.0.0.1", 9000)
    made_network(docker, "policy=deny")
    done = docker("run", "--rm", "--network", "agents", *words, IMAGE, "true")
    taken.close()
    assert why in err_of(done)
    assert listed(sandgate) == {}


def test_nobody_inside_listens(docker, world):
    made_network(docker, "policy=deny")
    run(docker, "-p", "127.0.0.1:8080:80")
    with docker.machine.place.call(lambda: socket.create_connection(("127.0.0.1", 8080), 10)) as s:
        s.settimeout(10)
        try:
            assert s.recv(1) == b""
        except ConnectionResetError:
            pass


# --- names ---

@pytest.mark.parametrize("text", ["nameserver 127.0.0.1\n", "nameserver 192.168.77.1\nnameserver ::1\n"])
def test_a_resolver_on_the_hosts_loopback_refuses_the_container(docker, world, sandgate, text):
    """dockerd would ask it from the host's network, so a question would leave past the gate."""
    made_network(docker, "policy=deny")
    docker.machine.replace("/etc/resolv.conf", text)
    done = docker("run", "--rm", "--network", "agents", IMAGE, "true")
    assert "/etc/resolv.conf names a server on the host's loopback" in err_of(done)
    assert '"dns" in /etc/docker/daemon.json' in done.stderr
    assert listed(sandgate) == {}


def test_the_way_past_the_gate_that_is_refused_is_real(docker, world):
    """Without the driver's refusal: on docker's own network the question comes from the host."""
    world.dns_on_machine("127.0.0.1")
    world.zone.add("secret.example", "TXT", "seen")
    docker.machine.replace("/etc/resolv.conf", "nameserver 127.0.0.1\n")
    docker.ok("network", "create", "--subnet", "10.78.0.0/24", "plain")
    done = docker("run", "--rm", "--network", "plain", IMAGE, "dig", "+short", "secret.example", "TXT")
    assert "seen" in done.stdout, done.stdout + done.stderr + docker.log("dockerd")


def test_servers_of_docker_s_own_are_asked_through_the_gate(docker, world, sandgate):
    """`dns` of daemon.json: then it does not matter what resolv.conf says."""
    world.dns_on_machine("127.0.0.1")
    world.name("one.example", "93.184.9.9")
    docker.restart_dockerd(dns=["192.0.2.53"])
    try:
        docker.machine.replace("/etc/resolv.conf", "nameserver 127.0.0.1\n")
        made_network(docker, "policy=deny", "allow=one.example")
        run(docker)
        assert docker.ok("exec", "box", "dig", "+short", "one.example") == "93.184.9.9"
        assert "REFUSED" in docker("exec", "box", "dig", "two.example").stdout
    finally:
        docker("rm", "-f", "box")
        docker("network", "rm", "agents")
        docker.restart_dockerd()


def test_systemd_resolved_is_such_a_server(docker, world, sandgate):
    """For networks with a name server of its own dockerd asks the stub itself, as this shows."""
    world.dns_on_machine("127.0.0.53")
    world.name("secret.example", "93.184.9.9")
    docker.machine.replace("/etc/resolv.conf", "nameserver 127.0.0.53\n")
    docker.machine.place.call(lambda: os.makedirs("/run/systemd/resolve", exist_ok=True))
    docker.machine.write("/run/systemd/resolve/resolv.conf", f"nameserver {ROUTER4}\n")
    docker.restart_dockerd()
    docker.ok("network", "create", "--subnet", "10.78.0.0/24", "plain")
    done = docker("run", "--rm", "--network", "plain", IMAGE, "dig", "+short", "secret.example")
    assert "93.184.9.9" in done.stdout, done.stdout + done.stderr
    made_network(docker, "policy=deny")
    done = docker("run", "--rm", "--network", "agents", IMAGE, "true")
    assert "/etc/resolv.conf names a server on the host's loopback" in err_of(done)


def test_servers_that_dockerd_has_not_read_yet_do_not_count(docker, world):
    """A daemon.json that was written after dockerd began."""
    made_network(docker, "policy=deny")
    docker.machine.replace("/etc/resolv.conf", "nameserver 127.0.0.1\n")
    docker.machine.write("/etc/docker/daemon.json", '{"dns": ["192.0.2.53"]}')
    done = docker("run", "--rm", "--network", "agents", IMAGE, "true")
    docker.machine.write("/etc/docker/daemon.json", "{}")
    assert "/etc/resolv.conf names a server on the host's loopback" in err_of(done)


# --- another way out ---

def test_a_container_that_is_on_another_network_too_is_refused(docker, sandgate):
    made_network(docker, "policy=deny")
    docker.ok("network", "create", "--subnet", "10.78.0.0/24", "plain")
    docker.ok("create", "--network", "agents", "--name", "two", IMAGE, "sleep", "100")
    docker.ok("network", "connect", "plain", "two")
    done = docker("start", "two")
    assert "the container two is on the network plain as well" in err_of(done)
    assert "docker network disconnect plain two" in done.stderr
    assert listed(sandgate) == {}
    docker.ok("network", "disconnect", "plain", "two")
    docker.ok("start", "two")
    assert list(listed(sandgate)) == ["two"]


def test_another_network_that_is_joined_later_is_taken_away(docker, world, sandgate):
    made_network(docker, "policy=deny")
    docker.ok("network", "create", "--subnet", "10.78.0.0/24", "plain")
    run(docker)
    docker("network", "connect", "plain", "box")
    only_eth0 = lambda: python(docker, "box", "report(d=sorted(os.listdir('/sys/class/net')))")["d"]
    wait_until(lambda: only_eth0() == ["eth0", "lo"], 20, "the device's end")
    assert dials(docker, "box", "10.78.0.1", 22) == "ECONNREFUSED"
    assert list(listed(sandgate)) == ["box"]


def test_a_second_gate_is_refused(docker, sandgate):
    made_network(docker, "policy=deny")
    made_network(docker, "policy=open", name="others", subnet="10.79.0.0/24")
    docker.ok("create", "--network", "agents", "--name", "two", IMAGE, "sleep", "100")
    docker.ok("network", "connect", "others", "two")
    assert "the container two is on the network" in err_of(docker("start", "two"))
    assert listed(sandgate) == {}


# --- closed ---

def test_without_the_driver_no_container_starts(docker, sandgate):
    made_network(docker, "policy=deny")
    run(docker)
    docker.end_driver()
    done = docker("run", "--rm", "--network", "agents", IMAGE, "true", timeout=120)
    assert "sandgate.sock" in err_of(done)
    # The one that runs keeps its gate.
    assert list(listed(sandgate)) == ["box"]
    assert dials(docker, "box", "93.184.9.9") == "ECONNREFUSED"


def test_without_its_supervisor_a_container_has_no_link(docker, world, sandgate):
    made_network(docker, "policy=any")
    run(docker)
    sandgate("stop", "box")
    wait_until(lambda: listed(sandgate) == {}, 20, "its end")
    got = python(docker, "box", "report(d=sorted(os.listdir('/sys/class/net')))")
    assert got["d"] == ["lo"]
    docker.ok("rm", "-f", "box")


def test_a_gate_that_cannot_be_made_refuses_the_container(docker, sandgate):
    """The organisation's policy is not right: nothing starts."""
    made_network(docker, "policy=deny")
    docker.machine.place.call(lambda: os.makedirs("/etc/sandgate", exist_ok=True))
    docker.machine.write("/etc/sandgate/policy.pub", "no key")
    docker.machine.write("/etc/sandgate/policy.json", "{}")
    try:
        done = docker("run", "--rm", "--network", "agents", IMAGE, "true")
    finally:
        docker.machine.place.call(lambda: (os.unlink("/etc/sandgate/policy.pub"),
                                           os.unlink("/etc/sandgate/policy.json")))
    assert "sandgate: " in err_of(done)
    assert listed(sandgate) == {}


# --- restarts ---

def test_a_driver_that_was_killed_and_another(docker, world, sandgate):
    address = world.address()
    echo_tcp(world, address, 80)
    made_network(docker, "policy=deny", f"allow={address}:80")
    run(docker, "-p", "127.0.0.1:8080:80", command=SERVE)
    run(docker, name="ended")
    docker.end_driver(signal.SIGKILL)
    assert sandgate("stop", "ended").ok
    docker.start_driver()
    assert dials(docker, "box", address) == "connected"
    wait_until(serves(docker, "127.0.0.1", 8080, b"80"), 20, "port 8080")
    assert list(listed(sandgate)) == ["box"]
    assert len(docker.machine.listdir("/var/lib/sandgate/docker/endpoints")) == 1
    docker.ok("rm", "-f", "ended", "box")
    docker.ok("run", "--rm", "--network", "agents", IMAGE, "nc", "-z", "-w", "5", address, "80")


@pytest.mark.parametrize("moment", ["joining", "leaving"])
def test_a_driver_that_was_killed_in_the_middle(docker, world, sandgate, moment):
    """What stands on disk is all that the next one goes by."""
    made_network(docker, "policy=deny")
    run(docker)
    docker.end_driver(signal.SIGKILL)
    folder = "/var/lib/sandgate/docker/endpoints"
    (name,) = docker.machine.listdir(folder)
    kept = json.loads(docker.machine.read(f"{folder}/{name}"))
    docker.machine.write(f"{folder}/{name}", json.dumps({**kept, "state": moment}), mode=0o600)
    docker.machine.write(f"{folder}/half.json.new", "{", mode=0o600)
    docker.start_driver()
    assert listed(sandgate) == {}
    assert docker.machine.listdir(folder) == [name]
    docker.ok("rm", "-f", "box")


def test_a_file_of_a_newer_version_stops_the_driver(docker):
    docker.end_driver()
    path = "/var/lib/sandgate/docker/networks/abc.json"
    docker.machine.write(path, '{"version": 2}', mode=0o600)
    done = docker.machine.run([docker.sandgate, "docker-driver"], "root")
    docker.machine.place.call(lambda: os.unlink(path))
    assert done.returncode == 125
    assert "abc.json: it has format version 2" in done.stderr


def test_a_second_driver_is_refused(docker):
    done = docker.machine.run([docker.sandgate, "docker-driver", "--socket", "/run/other.sock"], "root")
    assert done.returncode == 125 and "another docker driver is running" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_dockerd_is_restarted_and_its_containers_with_it(docker, world, sandgate, number):
    made_network(docker, "policy=deny")
    run(docker, "--restart", "always", "--stop-signal", "KILL", "-p", "127.0.0.1:8080:80", command=SERVE)
    docker.restart_dockerd(number)
    wait_until(serves(docker, "127.0.0.1", 8080, b"80"), 60, "the container's return")
    # dockerd answers nobody while it starts: the container's name is not known.
    (name,) = listed(sandgate)
    assert name.startswith("docker-")
    assert dials(docker, "box", "93.184.9.9") == "ECONNREFUSED"


def test_another_network_of_a_container_that_dockerd_starts_with_itself(docker, world, sandgate):
    """Nobody can be asked then: the container comes back without that network, or not at all."""
    made_network(docker, "policy=deny")
    docker.ok("network", "create", "--subnet", "10.78.0.0/24", "plain")
    run(docker, "--restart", "always", "--stop-signal", "KILL")
    docker("network", "connect", "plain", "box")
    docker.restart_dockerd()
    for _ in range(3):  # dockerd answers when all of them are started, or are not
        if docker("ps", "-q").stdout:
            got = python(docker, "box", "report(d=sorted(os.listdir('/sys/class/net')))")["d"]
            assert got in (["eth0", "lo"], ["lo"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_live_restore(docker, world, sandgate, number):
    """Containers run on while dockerd is away, and keep their gates, names and ports."""
    address = world.address()
    echo_tcp(world, address, 80)
    world.name("one.example", address)
    live = {"live-restore": True}
    docker.restart_dockerd(**live)
    try:
        made_network(docker, "policy=deny", "allow=one.example:80/raw")
        run(docker, "-p", "127.0.0.1:8080:80", command=SERVE)
        before = docker.pid_of("box")
        docker.end_dockerd(number)
        assert list(listed(sandgate)) == ["box"]
        wait_until(serves(docker, "127.0.0.1", 8080, b"80"), 20, "port 8080")
        docker.start_dockerd(**live)
        assert docker.pid_of("box") == before
        assert list(listed(sandgate)) == ["box"]
        assert dials(docker, "box", "one.example") == "connected"
        assert dials(docker, "box", "93.184.9.9") == "ECONNREFUSED"
        docker.ok("rm", "-f", "box")
        assert listed(sandgate) == {}
    finally:
        docker("rm", "-f", "box")
        docker("network", "rm", "agents")
        docker.restart_dockerd()


# --- root inside, with NET_ADMIN and NET_RAW ---

def raw_run(docker, *words):
    return run(docker, "--cap-add", "NET_ADMIN", "--cap-add", "NET_RAW", *words)


def test_root_inside_sends_what_it_likes(docker, world, sandgate):
    """Frames of any source, of a neighbour's, of another MAC; routes past the gate: nothing leaves."""
    made_network(docker, "policy=deny")
    run(docker, name="neighbour")
    other = docker.ok("inspect", "--format", "{{.NetworkSettings.Networks.agents.IPAddress}}", "neighbour")
    raw_run(docker)
    world.start_watching()
    before = sandgate.json("egress", "box")["frames"]["noise"]
    python(docker, "box", """
import subprocess
own = open("/sys/class/net/eth0/address").read().strip()
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("eth0", 0))
def udp(source, destination, port):
    body = struct.pack("!HHHH", 4000, port, 12, 0) + b"data"
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0, 64, 17, 0,
                       socket.inet_aton(source), socket.inet_aton(destination))
    total = sum(struct.unpack("!10H", head)); total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    return head[:10] + struct.pack("!H", ~total & 0xffff) + head[12:] + body
def send(source_mac, packet, kind=0x0800):
    mac = lambda text: bytes.fromhex(text.replace(":", ""))
    s.send(bytes([255] * 6) + mac(source_mac) + struct.pack("!H", kind) + packet)
    s.send(mac("02:73:67:00:00:01") + mac(source_mac) + struct.pack("!H", kind) + packet)
for source in sys.argv[1], "93.184.0.200", "192.168.77.2", "127.0.0.1":
    send(own, udp(source, "93.184.9.9", 53))
send("02:00:00:00:00:99", udp("10.77.0.2", "93.184.9.9", 9999))
send(own, b"x" * 60, 0x88b5)
for command in ("ip addr add 192.168.77.99/24 dev eth0", "ip route add 93.184.0.0/16 dev eth0",
                "ip link add v0 type veth peer name v1", "ip link set eth0 address 02:00:00:00:00:98"):
    subprocess.run(command.split(), check=False, stderr=subprocess.DEVNULL)
try_dial("93.184.9.9", 80, 1)
report(done=True)
""", other)
    wait_until(lambda: sandgate.json("egress", "box")["frames"]["noise"] > before, 20, "the noise")
    assert world.left_the_host() == []
    assert dials(docker, "neighbour", "93.184.9.9") == "ECONNREFUSED"


# Root of a container knows its airlock by a number; by what that knew, it could reach the host in two steps.
BY_NUMBER = """
import os
def attr(kind, octets): return struct.pack("HH", 4 + len(octets), kind) + octets + bytes(-len(octets) % 4)
def made(airlock, host):
    head = struct.pack("BxHiII", 0, 0, 0, 0, 0)
    peer = attr(1, head + attr(3, b"pastgate\\0"))  # in the namespace `host`
    body = head + attr(3, b"way%d%d\\0" % (airlock, host)) + attr(46, struct.pack("i", airlock))
    body += attr(37, struct.pack("i", host)) + attr(18, attr(1, b"veth\\0") + attr(2, peer))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        s.send(struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
        return -struct.unpack_from("i", s.recv(65536), 16)[0]
report(made=[made(a, h) for a in range(3) for h in range(4)])
"""


def test_root_inside_makes_no_device_on_the_host(docker):
    """IFLA_TARGET_NETNSID takes a request to the airlock, IFLA_LINK_NETNSID on to what the airlock knows."""
    made_network(docker, "policy=deny")
    raw_run(docker)
    got = python(docker, "box", BY_NUMBER)["made"]
    assert "pastgate" not in docker.machine.place.run(["ip", "-o", "link"]).stdout, got


def test_docker_s_name_server_is_no_way_past_the_gate(docker, world):
    """Root inside asks its sockets directly, whatever port they have, by UDP and TCP."""
    made_network(docker, "policy=deny")
    raw_run(docker)
    got = python(docker, "box", """
question = dns_question("secret-data.example.net")
answers = []
for table, proto in (("udp", "UDP"), ("tcp", "TCP")):
    for line in open(f"/proc/net/{table}").read().splitlines()[1:]:
        address, port = line.split()[1].split(":")
        if address == "0B00007F" and (table == "udp" or line.split()[3] == "0A"):
            port = int(port, 16)
            if table == "udp":
                answer = ask_udp("127.0.0.11", port, question, 10)[0]
            else:
                s = dial("127.0.0.11", port); s.sendall(struct.pack("!H", len(question)) + question)
                s.settimeout(10); answer = s.recv(600)[2:]
            answers.append(dns_rcode(answer) if answer else None)
report(answers=answers)
""")
    assert len(got["answers"]) == 2 and set(got["answers"]) <= {5, None}, got
    assert world.zone.asked("secret-data.example.net") == []


def test_only_root_may_ask_the_driver(docker):
    docker.machine.place.call(lambda: os.chmod("/run/docker/plugins/sandgate.sock", 0o666))
    asked = docker.machine.run(
        ["curl", "-s", "-w", "%{http_code}", "--unix-socket", "/run/docker/plugins/sandgate.sock", "-d", "{}",
         "http://d/NetworkDriver.CreateNetwork"], "dev")
    docker.machine.place.call(lambda: os.chmod("/run/docker/plugins/sandgate.sock", 0o600))
    assert asked.stdout == '{"Err":"only root may ask"}403'


@pytest.mark.parametrize("argv, answer", [
    (["-d", "{}", "http://d/NetworkDriver.Nothing"], '{"Err":"there is no such request"}404'),
    (["http://d/Plugin.Activate"], '{"Err":"a request is a POST"}405'),
    (["-d", "{}", "http://d/NetworkDriver.CreateNetwork"],
     '{"Err":"sandgate: the request has no NetworkID"}200'),
    (["-d", '{"NetworkID":"n"}', "http://d/NetworkDriver.Join"],
     '{"Err":"sandgate: the request has no EndpointID"}200'),
    (["-d", '{"NetworkID":"n","EndpointID":"e"}', "http://d/NetworkDriver.Join"],
     '{"Err":"sandgate: the driver does not know this endpoint"}200'),
    (["-d", '{"NetworkID":"n","EndpointID":"e"}', "http://d/NetworkDriver.Leave"], "{}200"),
    (["-d", '{"NetworkID":"n","EndpointID":"e"}', "http://d/NetworkDriver.DeleteEndpoint"], "{}200"),
    (["-d", "{}", "http://d/Plugin.Activate"], '{"Implements":["NetworkDriver"]}200'),
    (["-d", "{}", "http://d/NetworkDriver.GetCapabilities"],
     '{"Scope":"local","ConnectivityScope":"local"}200'),
    (["-d", "{}", "http://d/NetworkDriver.DiscoverNew"], "{}200"),
    (["-d", "nonsense", "http://d/NetworkDriver.CreateNetwork"], "is not JSON"),
    (["--data-binary", "@/run/long", "http://d/NetworkDriver.CreateNetwork"],
     '{"Err":"the request is too long"}413'),
])
def test_requests(docker, argv, answer):
    docker.machine.write("/run/long", "x" * (1 << 21))
    asked = docker.machine.run(["curl", "-s", "-H", "Expect:", "-w", "%{http_code}", "--unix-socket",
                                "/run/docker/plugins/sandgate.sock", *argv], "root")
    assert asked.stdout == answer if answer.endswith(("00", "4", "5", "3")) else answer in asked.stdout


def test_a_request_for_a_network_again_is_the_same(docker):
    """dockerd asks again when an answer did not arrive."""
    body = json.dumps({"NetworkID": "again", "Options": {"com.docker.network.generic": {"policy": "deny"}},
                       "IPv4Data": [{"Gateway": "10.99.9.1/24"}], "IPv6Data": []})

    def ask(call):
        return docker.machine.run(["curl", "-s", "--unix-socket", "/run/docker/plugins/sandgate.sock", "-d",
                                   body, f"http://d/NetworkDriver.{call}"], "root").stdout
    assert [ask("CreateNetwork"), ask("CreateNetwork")] == ["{}", "{}"]
    assert docker.machine.listdir("/var/lib/sandgate/docker/networks") == ["again.json"]
    assert [ask("DeleteNetwork"), ask("DeleteNetwork")] == ["{}", "{}"]


def test_the_units_are_right(docker, needs):
    needs("systemd-analyze")
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "systemd")
    made = []
    for name in "sandgate-docker.service", "sandgate-docker.socket":
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = f.read().replace("/usr/bin/sandgate", docker.sandgate)
        docker.machine.write(f"/run/{name}", text.replace("Documentation=", "#"))
        made.append(f"/run/{name}")
    done = docker.machine.run(["systemd-analyze", "verify", *made], "root")
    assert done.returncode == 0 and done.stderr == "", done.stderr
