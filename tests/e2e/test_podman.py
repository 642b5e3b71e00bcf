# SPDX-License-Identifier: Apache-2.0
"""Podman's containers, of a person and of root: put behind a gate by an annotation, or by `run`."""

import json
import os
import signal
import subprocess

import pytest

from engines.engine import supervisor_of
from engines.podman import HOOKS, NEEDS, Podman
from internet.machine import RUNTIME, UID
from program import HANGS, Result, Terminal, descendants, holds, ns_of, read_proc, wait_until

REGISTRY = {"dev": f"{RUNTIME['dev']}/sandgate", "root": "/run/sandgate"}
EVERYBODY = pytest.mark.parametrize("person", ["dev", "root"])
SHELL = "python3 -c 'import time; time.sleep(600)'"


@pytest.fixture(scope="module", autouse=True)
def installed():
    for program, package in NEEDS:
        if subprocess.run(["which", program], capture_output=True, check=False).returncode:
            pytest.skip(f"{program} is not installed ({package})")


@pytest.fixture(scope="module")
def podmans():
    made = {}
    yield made
    for one in made.values():
        one.close()


@pytest.fixture
def podman(podmans, world, sandgate, person):
    if (world, person) not in podmans:
        podmans[world, person] = Podman(world, sandgate.path, person)
    yield podmans[world, person]
    for name in podmans[world, person].names():
        podmans[world, person].remove(name)
    wait_until(lambda: not rows(sandgate), what="the end of all sandboxes")


def rows(sandgate):
    return sandgate.json("ls")


def annotated(*items, policy="deny", **more):
    """The words of `podman run` for a policy and items that it allows."""
    given = {"policy": policy, **({"allow": " ".join(items)} if items else {}), **more}
    return [f"--annotation=sandgate.{key}={value}" for key, value in given.items()]


def inside(podman, name, code, *arguments, **more):
    """Python in a container, after the helpers of inside/probe.py."""
    path = os.path.join(os.path.dirname(__file__), "inside", "probe.py")
    with open(path, encoding="utf-8") as f:
        source = f.read() + "\n" + code
    done = podman.try_run("exec", "--interactive", name, "python3", "-c", source, *map(str, arguments), **more)
    return Result(done.returncode, done.stdout, done.stderr, 0)


def start(podman, *words, name, command=("sh", "-c", SHELL)):
    podman.run("run", "--detach", "--name", name, *words, "guest", *command)
    return name


# --- by an annotation ---

@EVERYBODY
@pytest.mark.parametrize("network", ["none", "default"])
def test_an_annotation_puts_a_container_behind_a_gate(world, sandgate, podman, network):
    """With --network none, and with what podman does else, whose device is taken away."""
    good, bad = world.site("good.example.com"), world.site("bad.example.com")
    world.start_watching()
    words = ["--network", "none"] if network == "none" else []
    done = podman.try_run("run", "--rm", *words, *annotated("good.example.com"), "guest", "sh", "-c", """
        ls /sys/class/net | sort | tr '\\n' ' '; ip -o route show default | wc -l
        curl -sS -m 10 https://good.example.com/; curl -sS -m 10 https://bad.example.com/""")
    assert done.stdout.startswith("eth0 lo 1\nhello from good.example.com"), done
    assert "Could not resolve host: bad.example.com" in done.stderr, done
    assert world.left_the_host(to=good.addresses[0]) and not world.left_the_host(to=bad.addresses[0])
    assert {p.destination for p in world.left_the_host()} == {good.addresses[0]}


@EVERYBODY
def test_the_first_instruction_of_a_container_is_behind_the_gate(world, sandgate, podman):
    """Not even a moment of podman's own network: it dials at once, and again and again."""
    address = world.address()
    world.tcp(address, 80, None)
    world.start_watching()
    done = podman.try_run("run", "--rm", *annotated("other.example.com"), "guest", "python3", "-c", f"""
import socket, time
end = time.monotonic() + 0.5
while time.monotonic() < end:
    s = socket.socket(); s.settimeout(1)
    try: s.connect(("{address}", 80)); print("connected")
    except OSError: pass""")
    assert done.returncode == 0 and not done.stdout, done
    assert world.left_the_host() == []


@EVERYBODY
def test_a_sandbox_of_a_container_is_one_like_any_other(world, sandgate, podman):
    """ls, egress, net: and it is gone with its container, which podman can start again."""
    world.site("more.example.com")
    start(podman, "--network=none", *annotated(name="web"), name="box")
    row, = rows(sandgate)
    assert (row["name"], row["engine"], row["network"]) == ("web", "podman", "deny")
    assert podman.try_run("exec", "box", "curl", "-sS", "-m", "30", "http://more.example.com/").returncode != 0
    assert sandgate("net", "allow", "web", "more.example.com").ok
    assert podman.run("exec", "box", "curl", "-sS", "-m", "30", "http://more.example.com/") == \
        "hello from more.example.com"
    assert sandgate.json("egress", "web")["flows"]["opened"] == 1
    podman.run("restart", "--time", "0", "box")
    assert [r["name"] for r in rows(sandgate)] == ["web"]
    podman.run("rm", "--force", "--time", "0", "box")
    wait_until(lambda: rows(sandgate) == [], what="the sandbox's end")
    assert world.machine.listdir(REGISTRY[sandgate.person]) == []


@EVERYBODY
def test_a_policy_file_is_named_by_its_whole_path(world, sandgate, podman):
    world.site("good.example.com")
    path = f"{world.machine.new_work(sandgate.person)}/policy.yaml"
    world.machine.write(path, "network: deny\nallow: [good.example.com]\n", sandgate.person)
    assert podman.run("run", "--rm", "--network=none", *annotated(policy=path), "guest",
                      "curl", "-sS", "-m", "30", "http://good.example.com/") == "hello from good.example.com"


REFUSED = {
    "host": (["--network=host"], {}, "the network of the host"),
    "unknown": ([], {"polcy": "deny"}, "did you mean sandgate.policy?"),
    "no-preset": ([], {"policy": "dney"}, "dney"),
    "no-file": ([], {"policy": "/nowhere.yaml"}, "/nowhere.yaml: there is no such file"),
    "relative": ([], {"policy": "policy.yaml"}, "policy.yaml"),
    "asks": ([], {"policy": "open"}, "--unattended asks nobody"),
    "no-policy": ([], {"policy": None, "allow": "a.example.com"}, "sandgate.policy is missing"),
    "bad-item": ([], {"policy": "deny", "allow": "a..b"}, "a..b"),
    "no-name": ([], {"policy": "deny", "name": "Not a name"}, "is no name"),
    "no-waiting": ([], {"policy": None, "sandbox": "x/" + "0" * 32}, "x"),
    "ticket": ([], {"policy": None, "sandbox": "x"}, "is for `sandgate run --engine podman` to write"),
}


@EVERYBODY
@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_held_is_refused_in_words(world, sandgate, podman, why):
    """The container does not run, and nothing of it is left."""
    words, given, says = REFUSED[why]
    world.start_watching()
    given = {"policy": "deny", **given}
    annotations = [f"--annotation=sandgate.{k}={v}" for k, v in given.items() if v is not None]
    done = podman.try_run("run", "--rm", *words, *annotations, "guest", "echo", "it runs")
    assert done.returncode != 0 and "it runs" not in done.stdout, done
    assert says in done.stderr and "sandgate: " in done.stderr, done
    assert done.stderr.strip().count("\n") == 0, done
    assert rows(sandgate) == [] and podman.names() == [] and world.left_the_host() == []


@EVERYBODY
def test_a_container_that_asks_for_nothing_pays_nothing(world, sandgate, podman):
    """The hook is not run: podman knows by the annotations whom it is for."""
    hook = json.loads(world.machine.read(f"{HOOKS}/sandgate.json"))
    assert hook["when"] == {"annotations": {"^sandgate\\.": ".*"}}
    assert hook["stages"] == ["createRuntime"] and hook["hook"]["path"] == sandgate.path
    assert podman.run("run", "--rm", "--network=none", "guest", "ls", "/sys/class/net") == "lo"


def test_a_state_without_our_annotations_lets_the_container_go(sandgate):
    state = {"ociVersion": "1.0.2", "id": "a", "pid": 1, "bundle": "/nowhere", "status": "creating",
             "annotations": {"io.container.manager": "libpod"}}
    assert sandgate("oci-hook", input=json.dumps(state)).ok
    done = sandgate("oci-hook", input="{")
    assert done.status == 125 and "not JSON" in done.err


@EVERYBODY
def test_an_image_cannot_choose_its_policy(world, sandgate, podman):
    """podman gives a container the annotations of its image's manifest: an image that has ours is
    refused, whatever the person wrote. A label is no annotation."""
    folder = world.machine.new_work(sandgate.person)
    world.machine.write(f"{folder}/Containerfile", "FROM guest\nLABEL sandgate.policy=any\n", sandgate.person)
    build = ["build", "--quiet", "--no-cache", "--isolation=chroot"]
    podman.run(*build, "--annotation=sandgate.allow=evil.example.com", "-t", "evil", folder, timeout=120)
    podman.run(*build, "-t", "labelled", folder, timeout=120)
    try:
        for words in [], annotated("good.example.com"):
            done = podman.try_run("run", "--rm", "--network=none", *words, "evil", "echo", "it runs")
            assert done.returncode != 0 and "it runs" not in done.stdout, done
        assert "the image itself carries an annotation" in done.stderr, done
        assert podman.run("run", "--rm", "--network=none", "labelled", "ls", "/sys/class/net") == "lo"
    finally:
        podman.run("rmi", "--force", "evil", "labelled")


def published(world, port):
    """What a person of the machine gets from a published port; empty as long as nobody listens."""
    got = world.machine.run(["curl", "-sS", "-m", "30", f"http://127.0.0.1:{port}/hello"], "dev")
    return got.stdout


@EVERYBODY
def test_a_published_port_leads_into_a_container(world, sandgate, podman):
    """By an annotation, and by `run`: a port of the container's own address, of no other machine's."""
    serve = ["sh", "-c", "cd /tmp; echo served >hello; exec python3 -c 'import http.server as h; "
             "h.ThreadingHTTPServer((\"\", 8000), h.SimpleHTTPRequestHandler).serve_forever()'"]
    start(podman, "--network=none", *annotated("a.example.com", publish="18081:8000"), name="box", command=serve)
    wait_until(lambda: published(world, 18081) == "served\n", 20, "the server in the container")
    podman.remove("box")
    wait_until(lambda: rows(sandgate) == [], what="the sandbox's end")
    process = world.machine.popen(
        [sandgate.path, "run", "--engine", "podman", "--image", "guest", "--net", "deny", "--publish", "18082:8000", "--",
         *serve], sandgate.person, cwd=world.machine.new_work(sandgate.person), env=podman.env,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(lambda: published(world, 18082) == "served\n", 20, "the server in the container")
    finally:
        process.terminate()
        process.wait(HANGS)


# --- what podman does later ---

def test_a_second_network_is_no_way_out(world, sandgate, podmans):
    """`podman network connect`: its device is taken away, and the container stays behind its gate."""
    root = sandgate.as_person("root")
    podman = podmans.setdefault((world, "root"), Podman(world, sandgate.path, "root"))
    world.site("good.example.com")
    start(podman, *annotated("good.example.com"), name="box")
    podman.run("network", "create", "second")
    listener = world.machine.listen("0.0.0.0", 4999)
    try:
        podman.try_run("network", "connect", "second", "box")

        def devices():
            return podman.run("exec", "box", "ls", "/sys/class/net").split()
        wait_until(lambda: devices() == ["eth0", "lo"], what="the second device's end")
        world.start_watching()
        got = inside(podman, "box", """
report(hit=[a for a in ("10.89.0.1", "10.88.0.1", "192.168.77.2") if try_dial(a, 4999, 1)[0] == "connected"])""")
        assert got.json["hit"] == [] and world.left_the_host() == []
        assert podman.run("exec", "box", "curl", "-sS", "-m", "30", "http://good.example.com/") == \
            "hello from good.example.com"
    finally:
        listener.close()
        podman.remove("box")
        podman.try_run("network", "rm", "--force", "second")
        wait_until(lambda: not rows(root), what="the sandbox's end")


def test_a_network_of_roots_and_rights_over_it_do_not_go_together(world, sandgate, podmans):
    """A namespace that had a link to the host knows it by a number, and CAP_NET_ADMIN makes devices there."""
    root = sandgate.as_person("root")
    podman = podmans.setdefault((world, "root"), Podman(world, sandgate.path, "root"))
    done = podman.try_run("run", "--rm", "--cap-add=NET_ADMIN", *annotated("a.example.com"), "guest", "echo", "it runs")
    assert done.returncode != 0 and not done.stdout and "--network none" in done.stderr, done
    assert podman.run("run", "--rm", "--network=none", "--cap-add=NET_ADMIN", *annotated("a.example.com"), "guest",
                      "echo", "it runs") == "it runs"
    try:
        start(podman, *annotated("a.example.com"), name="box")
        done = podman.try_run("run", "--rm", "--network=container:box", "--cap-add=NET_ADMIN",
                              *annotated("a.example.com"), "guest", "echo", "it runs")
        assert done.returncode != 0 and not done.stdout and "CAP_NET_ADMIN" in done.stderr, done
    finally:
        podman.remove("box")
        wait_until(lambda: not rows(root), what="the sandbox's end")


def test_a_person_s_network_of_containers_and_rights_over_it_do_not_go_together(world, sandgate, podmans):
    """It is a namespace of the same owner as the container's, and leads to the host."""
    podman = podmans.setdefault((world, "dev"), Podman(world, sandgate.path, "dev"))
    podman.run("network", "create", "shared")
    try:
        done = podman.try_run("run", "--rm", "--network=shared", "--cap-add=NET_ADMIN", *annotated("a.example.com"),
                              "guest", "echo", "it runs")
        assert done.returncode != 0 and not done.stdout and "another network namespace" in done.stderr, done
        assert podman.run("run", "--rm", "--network=shared", *annotated("a.example.com"), "guest", "echo",
                          "it runs") == "it runs"
    finally:
        podman.try_run("network", "rm", "--force", "shared")
        wait_until(lambda: not rows(sandgate.as_person("dev")), what="the sandbox's end")


def test_podmans_own_clean_up_leaves_nothing(world, sandgate, podmans):
    """netavark takes eth0 away by its name: it finds one, and takes its rules away as well."""
    root = sandgate.as_person("root")
    podman = podmans.setdefault((world, "root"), Podman(world, sandgate.path, "root"))

    def rules():
        return world.machine.run(["iptables-save"], "root").stdout.count("10.88.")
    podman.run("run", "--rm", "guest", "true")
    before = rules()
    start(podman, "--publish=8080:80", *annotated("good.example.com"), name="box")
    done = podman.try_run("stop", "--time", "0", "box")
    assert done.returncode == 0 and "level=error" not in done.stderr, done
    podman.remove("box")
    wait_until(lambda: rules() == before, what="the end of netavark's rules")
    assert world.machine.listdir("/run/netns") == []
    wait_until(lambda: not rows(root), what="the sandbox's end")


@EVERYBODY
def test_all_of_a_pod_is_behind_one_gate(world, sandgate, podman):
    world.site("good.example.com")
    podman.run("pod", "create", "--name", "pod", "--infra-image", "guest", "--infra-command",
               "/usr/bin/sleep 600")
    try:
        start(podman, "--pod=pod", *annotated("good.example.com"), name="one")
        row, = rows(sandgate)
        assert row["name"].startswith("pod-")
        start(podman, "--pod=pod", *annotated("good.example.com"), name="two")
        assert [r["name"] for r in rows(sandgate)] == [row["name"]]
        other = podman.try_run("run", "--rm", "--pod=pod", *annotated("other.example.com"), "guest", "true")
        assert other.returncode != 0 and "with another policy" in other.stderr, other
        podman.remove("one")
        assert podman.run("exec", "two", "curl", "-sS", "-m", "30", "http://good.example.com/") == \
            "hello from good.example.com"
    finally:
        podman.run("pod", "rm", "--force", "--time", "0", "pod")
    wait_until(lambda: rows(sandgate) == [], what="the sandbox's end")


@EVERYBODY
def test_the_network_of_another_container(world, sandgate, podman):
    """One without a gate is not taken from it; one behind a gate is joined by who asks for the same."""
    start(podman, "--network=none", name="open")
    done = podman.try_run("run", "--rm", "--network=container:open", *annotated("a.example.com"), "guest", "true")
    assert done.returncode != 0 and "is not behind a gate" in done.stderr, done
    start(podman, "--network=none", *annotated("a.example.com"), name="gated")
    assert podman.run("run", "--rm", "--network=container:gated", *annotated("a.example.com"), "guest",
                      "ls", "/sys/class/net").split() == ["eth0", "lo"]
    done = podman.try_run("run", "--rm", "--network=container:gated", *annotated("b.example.com"), "guest", "true")
    assert done.returncode != 0 and "with another policy" in done.stderr, done


@EVERYBODY
def test_the_supervisors_death_leaves_a_container_without_a_link(world, sandgate, podman):
    world.site("good.example.com")
    start(podman, "--network=none", *annotated("good.example.com", name="web"), name="box")
    supervisor = supervisor_of(world.machine, sandgate.person, "web")
    os.kill(supervisor, signal.SIGKILL)
    world.start_watching()
    wait_until(lambda: podman.run("exec", "box", "ls", "/sys/class/net") == "lo", what="the link's end")
    assert podman.try_run("exec", "box", "curl", "-sS", "-m", "3", "http://good.example.com/").returncode != 0
    assert world.left_the_host(where=lambda p: p.port == 80) == []


# --- from inside ---

ATTACK = """
import ctypes
out = {}
def tried(name, work):
    try: out[name] = str(work())
    except Exception as e: out[name] = type(e).__name__
def raw():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind(("eth0", 0))
    ether = b"\\xff" * 6 + b"\\x02sg\\0\\0\\2"
    udp = bytes.fromhex("4500001d0001000040110000c0000002") + socket.inet_aton(sys.argv[1])
    for kind in (b"\\x08\\x00", b"\\x81\\x00\\x00\\x01\\x08\\x00", b"\\x86\\xdd", b"\\x88\\x47"):
        s.send(ether + kind + udp + bytes.fromhex("03e8003500090000") + b"x")
    return "sent"
def links():
    got = []
    for command in ("ip link add out type veth peer name outer netns 1", "ip link add m link eth0 type macvlan",
                    "ip link set eth0 netns 1", "ip route add 192.168.77.0/24 dev eth0",
                    "ip addr add 192.168.77.9/24 dev eth0", "ip link set eth0 address 02:00:00:00:77:02"):
        got.append(os.system(command + " 2>/dev/null") == 0)
    return got
def other():
    libc = ctypes.CDLL(None)
    if libc.unshare(0x40000000): raise OSError("unshare")
    return sorted(os.listdir("/sys/class/net"))
tried("raw", raw)
tried("links", links)
tried("dial", lambda: try_dial(sys.argv[1], 53, 2)[0])
tried("host", lambda: try_dial("192.168.77.2", 4999, 2)[0])
tried("other", other)
tried("dial again", lambda: try_dial(sys.argv[1], 53, 2)[0])
report(**out)
"""


@EVERYBODY
@pytest.mark.parametrize("rights", ["--cap-add=ALL", "--privileged"])
def test_root_with_every_capability_sends_nothing_out(world, sandgate, podman, rights):
    """The way out is not a rule in the container. --privileged of root's is root on the host (SECURITY.md):
    what it does to the host's own files is not tried here, what it does on its link is."""
    target = world.address()
    world.tcp(target, 53, None)
    listener = world.machine.listen("0.0.0.0", 4999)
    try:
        start(podman, "--network=none", rights, *annotated("other.example.com"), name="box")
        world.start_watching()
        got = inside(podman, "box", ATTACK, target).json
        assert got["dial"] != "connected" and got["dial again"] != "connected", got
        assert got["host"] != "connected", got
        assert world.left_the_host() == [], got
    finally:
        listener.close()


# --- both runtimes ---

@EVERYBODY
def test_crun_runs_the_hook_as_well(world, sandgate, podman, needs):
    """What a hook says crun throws away: the refusal is in the system's log, and podman says that it was
    the hook. crun does not take a machine with both kinds of control groups: one is hidden from it."""
    needs("crun")
    good = world.site("good.example.com")
    uid = UID[sandgate.person]
    script = ("umount /sys/fs/cgroup/unified; exec setpriv --reuid $0 --regid $0 --clear-groups "
              "podman --runtime crun \"$@\"")

    def run(*argv):
        return world.machine.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(uid),
                                  "run", "--rm", "--network=none", *argv], "root", env=podman.env, cwd="/",
                                 timeout=HANGS)
    podman.let_go()
    try:
        world.start_watching()
        done = run(*annotated("good.example.com"), "guest", "curl", "-sS", "-m", "30", "http://good.example.com/")
        assert done.stdout == "hello from good.example.com\n", done
        assert {p.destination for p in world.left_the_host()} == {good.addresses[0]}
        policy = f"{world.machine.new_work(sandgate.person)}/policy.yaml"
        world.machine.write(policy, "network: deny\nallow: [good.example.com]\ninspect: [good.example.com]\n",
                            sandgate.person)
        done = run(*annotated(policy=policy), "guest", "env", "-i", "/bin/curl", "-sS", "https://good.example.com/")
        assert done.stdout == "hello from good.example.com\n", done
        done = run(*annotated(policy="dney"), "guest", "echo", "it runs")
        assert done.returncode != 0 and not done.stdout and "hook" in done.stderr, done
    finally:
        podman.let_go()


# --- by `run` ---

@pytest.fixture
def run(sandgate, podman):
    """run(OPTION..., command=) is `sandgate run --engine podman --image guest`."""
    def go(*options, command="true", image="guest", **more):
        return sandgate.run("--engine", "podman", "--image", image, *options, command=command, env=podman.env, **more)
    return go


@EVERYBODY
def test_run_makes_a_container_behind_a_gate(world, run, podman):
    good = world.site("good.example.com")
    world.site("bad.example.com")
    world.start_watching()
    done = run("--only", "good.example.com", command="id -u; curl -sS -m 9 https://good.example.com/; "
               "curl -sS -m 9 https://bad.example.com/; exit 7")
    assert done.status == 7, done
    assert done.out == f"{UID[podman.person]}\nhello from good.example.com\n", done
    assert done.first_line == "sandgate: network limited to good.example.com"
    assert "bad.example.com" in done.err.rpartition("refused")[2], done
    assert {p.destination for p in world.left_the_host()} == {good.addresses[0]}
    assert podman.names() == []


@EVERYBODY
@pytest.mark.parametrize("command, status, says", [
    (["nosuch"], 127, "nosuch: not found in the sandbox"),
    (["/etc/passwd"], 126, "/etc/passwd: cannot be executed"),
    (["sh", "-c", "kill -9 $$"], 137, ""),
    ([""], 127, "the command is empty"),
])
def test_the_exit_status_is_the_commands(run, command, status, says):
    done = run("--net", "deny", command=command)
    assert done.status == status and says in done.err, done


@EVERYBODY
def test_an_image_that_is_not_there_is_said_by_podman(run, sandgate):
    done = run("--net", "deny", image="localhost/nosuch")
    assert done.status == 125 and "Error: " in done.err and "podman says above why" in done.err, done
    assert rows(sandgate) == []


def test_a_machine_without_podman_is_told_the_package(world, sandgate):
    hidden = ("mount --bind /dev/null /usr/bin/podman; exec setpriv --reuid 1000 --regid 1000 --clear-groups "
              "\"$0\" run --engine podman --image guest -- true")
    done = world.machine.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", hidden, sandgate.path],
                             "root", cwd="/", env=world.machine.environment("dev"))
    assert done.returncode == 125, done
    assert done.stderr == "sandgate: podman is not installed; apt-get install podman\n", done


def test_an_image_has_to_be_named(sandgate):
    done = sandgate.run("--engine", "podman", command="true")
    assert done.status in (2, 125) and "--image" in done.err, done


@EVERYBODY
def test_the_working_directory_is_shared_and_what_runs_later_is_not_written(world, run, sandgate):
    work = world.machine.new_work(sandgate.person)
    world.machine.run(["mkdir", "-p", f"{work}/.git/hooks"], sandgate.person, cwd=work)
    world.machine.write(f"{work}/file", "of the host", sandgate.person)
    done = run("--net", "deny", "--no-project", "--env", "A=1 2", cwd=work, command="""
        pwd; cat file; echo made >made; touch .git/hooks/pre-commit || echo kept; echo "$A"; ls -A $HOME
        touch $HOME/mine && echo home""")
    assert done.ok and done.out.split("\n") == [work, "of the hostkept", "1 2", "work", "home", ""], done
    assert world.machine.read(f"{work}/made") == "made\n"
    assert world.machine.listdir(f"{work}/.git/hooks") == []


@EVERYBODY
def test_folders_are_shared_as_the_options_say(world, run, sandgate):
    work, other = (world.machine.new_work(sandgate.person) for _ in range(2))
    world.machine.write(f"{other}/file", "shared", sandgate.person)
    world.machine.write(f"{work}/secret", "hidden", sandgate.person)
    done = run("--net", "deny", "--ro", other, "--hide", "secret", cwd=work,
               command=f"cat {other}/file; touch {other}/new; cat secret; echo end")
    assert done.out == "sharedend\n" and "Read-only" in done.err and "hidden" not in done.out, done


@EVERYBODY
def test_no_way_out_but_ip_and_no_capability_over_the_network(world, run):
    """AF_VSOCK, which podman's filter of system calls leaves open, and the others: closed as with bwrap."""
    code = """
import ctypes, socket
for family, kind in ((40, 1), (17, 3), (2, 3), (10, 3), (44, 3), (30, 1), (21, 5), (16, 3)):
    try: socket.socket(family, kind, 0 if family != 16 else 15); print("open", family)
    except OSError: pass
print(ctypes.CDLL(None).syscall(425, 1, 0) >= 0 and "io_uring")
print(*[l.split()[1] for l in open("/proc/self/status") if l.startswith(("CapEff", "CapBnd", "NoNewPrivs"))])"""
    done = run("--net", "deny", command=["python3", "-c", code])
    assert done.out == "False\n0000000000000000 0000000000000000 1\n", done
    done = run("--net", "deny", "--as-root", command="id -u; grep CapEff /proc/self/status")
    assert done.out.split()[0] == "0" and int(done.out.split()[-1], 16) & (1 << 12 | 1 << 13 | 1 << 21) == 0, done


@EVERYBODY
def test_requests_are_inspected_in_a_container(world, run, podman, sandgate):
    """The bundle is mounted, its variables are set, a placeholder stands for the secret."""
    site = world.site("api.example.com")
    work, own = (world.machine.new_work(sandgate.person) for _ in range(2))
    world.machine.write(f"{own}/token", "a-token-of-the-person\n", sandgate.person, 0o600)
    world.machine.write(f"{work}/policy.yaml", f"""network: deny
allow: [api.example.com]
credentials:
  - host: api.example.com
    header: Authorization
    value: "Bearer ${{secret}}"
    from: "file:{own}/token"
    env: API_TOKEN
""", sandgate.person)
    done = run("--policy", f"{work}/policy.yaml", "--yes", cwd=work, command="""
        echo "$API_TOKEN" | grep -c a-token-of; curl -sS -m 9 -H "Authorization: Bearer $API_TOKEN" https://api.example.com/""")
    assert done.out.startswith("0\nhello from api.example.com"), done
    assert any("Bearer a-token-of-the-person" in str(r.headers) for r in site.requests), site.requests


@EVERYBODY
def test_more_commands_run_inside(world, sandgate, podman, run):
    """`exec` finds its way in; a sandbox that is kept is started again, with its HOME."""
    env = podman.env
    world.site("good.example.com")
    name = sandgate.new_name()
    made = sandgate("create", "--engine", "podman", "--image", "guest", "--only", "good.example.com", name, env=env)
    assert made.ok, made
    try:
        for turn in range(2):
            assert sandgate("start", name, env=env).ok
            row, = rows(sandgate)
            assert (row["name"], row["engine"]) == (name, "podman")
            done = sandgate("exec", name, "--", "sh", "-c", f"cat $HOME/note; echo {turn} >>$HOME/note; "
                            "curl -sS -m 9 http://good.example.com/; exit 3", env=env)
            assert done.status == 3 and done.out == ("0\n" if turn else "") + "hello from good.example.com\n", done
            assert sandgate("stop", "--time", "1", name, env=env).ok
            wait_until(lambda: podman.names() == [], what="the container's end")
    finally:
        sandgate("rm", "--force", name, env=env)


@EVERYBODY
def test_a_signal_reaches_the_command(world, sandgate, podman):
    process = world.machine.popen(
        [sandgate.path, "run", "--engine", "podman", "--image", "guest", "--net", "deny", "--", "sh", "-c",
         "trap 'echo got it; exit 9' TERM; echo ready; while :; do sleep 0.1; done"], sandgate.person,
        cwd=world.machine.new_work(sandgate.person), env=podman.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=HANGS)
    assert (process.returncode, out) == (9, "got it\n"), err


@EVERYBODY
def test_a_terminal_is_the_commands(world, sandgate, podman):
    env = [f"{k}={v}" for k, v in podman.env.items()]
    terminal = Terminal(sandgate, ["env", "-i", *env, sandgate.path, "run", "--engine", "podman", "--image", "guest",
                                   "--net", "deny", "--", "sh"], rows=31, columns=77)
    try:
        terminal.expect(r"network denied", HANGS)
        terminal.type("stty size; tty; echo en''d\n")
        terminal.expect(r"31 77\r\n/dev/pts/\d+\r\nend", HANGS)
        # It says so itself, that it is there to be interrupted.
        terminal.type("sh -c 'trap \"echo int\"\"errupted; exit\" INT; echo rea\"\"dy; while :; do sleep 0.1; done'\n")
        terminal.expect("ready", HANGS)
        terminal.type("\x03")
        terminal.expect("interrupted", HANGS)
        terminal.type("exit 5\n")
        assert terminal.process.wait(HANGS) == 5
    finally:
        terminal.close()


class Running:
    """A `sandgate run` whose container waits."""

    def __init__(self, world, sandgate, podman):
        self.podman, self.name = podman, sandgate.new_name()
        self.process = world.machine.popen(
            [sandgate.path, "run", "--engine", "podman", "--image", "guest", "--only", "good.example.com",
             "--name", self.name, "--", "sh", "-c", f"echo ready; {SHELL}"], sandgate.person,
            cwd=world.machine.new_work(sandgate.person), env=podman.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout.readline() == "ready\n"
        self.first = podman.pid_of(f"sandgate-{self.name}")

    def child(self, is_it):
        return next(pid for pid in descendants(self.process.pid)[1:] if is_it(pid))

    def await_end(self):
        wait_until(lambda: read_proc(self.first, "stat").split(")")[-1].split()[:1] in ([], ["Z"]),
                   what="the container's end")
        wait_until(lambda: self.podman.names() == [], what="podman's own clean-up")


@pytest.fixture
def running(world, sandgate, podman):
    world.site("good.example.com")
    made = Running(world, sandgate, podman)
    yield made
    if made.process.poll() is None:
        made.process.kill()
    made.process.communicate()
    made.await_end()
    sandgate("rm", "--force", made.name)


@EVERYBODY
def test_the_gates_death_closes_and_a_new_one_takes_over(world, running, podman):
    gate = running.child(lambda pid: holds(pid, "tun") and ns_of(pid, "net") == ns_of(running.process.pid, "net"))
    os.kill(gate, signal.SIGKILL)

    def fetched():
        return podman.try_run("exec", f"sandgate-{running.name}", "curl", "-sS", "-m", "3",
                              "http://good.example.com/").stdout == "hello from good.example.com\n"
    wait_until(fetched, 20, "a new gate")
    assert podman.pid_of(f"sandgate-{running.name}") == running.first


@EVERYBODY
def test_the_supervisors_death_ends_the_container(running):
    running.process.kill()
    running.process.wait()
    running.await_end()


@EVERYBODY
def test_podmans_death_ends_the_container(running):
    """podman is but a client: the container would go on without it."""
    os.kill(running.child(lambda pid: read_proc(pid, "cmdline").startswith("podman\0")), signal.SIGKILL)
    running.process.wait(HANGS)
    running.await_end()


# --- setting it up ---

def test_setup_says_what_podman_still_needs(world, sandgate):
    """A person's podman looks into a folder of theirs when its own configuration says so."""
    machine, folder = world.machine, "/home/dev/.config/containers"
    done = sandgate("setup", "podman")
    try:
        assert done.ok and f'hooks_dir = ["/usr/share/containers/oci/hooks.d", "{folder}/oci/hooks.d"]' in done.out
        assert json.loads(machine.read(f"{folder}/oci/hooks.d/sandgate.json"))["hook"]["path"] == sandgate.path
        machine.write(f"{folder}/containers.conf", f'[engine]\nhooks_dir = ["{folder}/oci/hooks.d"]\n', "dev")
        done = sandgate("setup", "podman")
        assert done.ok and "which your podman reads" in done.out, done
    finally:
        machine.run(["rm", "-rf", folder], "dev")


def test_setup_does_not_write_where_others_can(world, sandgate):
    folder = world.machine.new_work()
    world.machine.run(["chmod", "777", folder], "dev")
    done = sandgate("setup", "podman", "--dir", folder)
    assert done.status == 125 and "everyone may write it" in done.err, done
