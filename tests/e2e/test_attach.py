# SPDX-License-Identifier: Apache-2.0
"""A network namespace that is there already is put behind a gate; the machine's forwarding is its
other way out, which the capture would show. Inside, the tests are root with every capability."""

import json
import os
import signal
import subprocess
import time

import pytest

from internet.netns import Place
from internet.services import echo_tcp
from program import descendants, holds, ns_of, read_proc, wait_until, _source

pytestmark = pytest.mark.parametrize("person", ["root"])

POD, BRIDGE = "172.31.9.2", "172.31.9.1"


class Pod:
    """A namespace as an engine makes one: eth0, and a route over the machine to everywhere."""

    def __init__(self, world):
        self.world, self.place = world, Place()
        machine = world.machine.place
        machine.ip(f"link add pod0 type veth peer name eth0 netns {self.place.path}",
                   f"addr add {BRIDGE}/24 dev pod0", "link set pod0 up")
        self.place.ip("link set lo up", f"addr add {POD}/24 dev eth0", "link set eth0 up",
                      f"route add default via {BRIDGE}")
        machine.sysctl(net__ipv4__ip_forward=1)
        world.on_reset(self.close)

    def close(self):
        self.world.machine.place.sysctl(net__ipv4__ip_forward=0)
        try:
            self.world.machine.place.ip("link del pod0")
        except RuntimeError:
            pass  # it went with its other end
        self.place.close()

    def plug(self, name):
        """What `docker network connect` does: one more device, with a way to everywhere."""
        self.world.machine.place.ip(
            f"link add plug0 type veth peer name {name}", "addr add 172.31.8.1/24 dev plug0",
            "link set plug0 up", f"link set {name} netns {self.place.path}")

    def python(self, code, *arguments, timeout=60):
        done = self.place.run(["python3", "-c", _source("probe.py") + "\n" + code,
                               *map(str, arguments)], view=self.world.machine.view, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.strip().rsplit("\n", 1)[-1])

    def ip(self, words):
        return self.place.run(["ip", *words.split()]).stdout

    def devices(self):
        return sorted(line.split(":")[1].strip().split("@")[0]
                      for line in self.ip("-o link show").splitlines())

    def dials(self, address, port=80):
        return self.python("report(r=try_dial(sys.argv[1], sys.argv[2], 20)[0])", address, port)["r"]


class Attached:
    def __init__(self, sandgate, *options, name=None, cwd=None):
        self.sandgate, self.name = sandgate, name or sandgate.new_name()
        self.done = sandgate("attach", "--yes", "--name", self.name, *options, cwd=cwd)

    @property
    def family(self):
        found = set()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            argv = read_proc(pid, "cmdline").split("\0")
            if argv[1:2] == ["attach"] and self.name in argv:
                found.add(pid)
        return found

    @property
    def supervisor(self):
        family = self.family
        for pid in family:
            if int(read_proc(pid, "stat").rpartition(")")[2].split()[1]) not in family:
                return pid
        raise AssertionError("no supervisor runs")

    def part(self, which):
        parts = descendants(self.supervisor)[1:]
        if which == "gate":
            host = ns_of("self", "net") and ns_of(self.supervisor, "net")
            return next(p for p in parts if ns_of(p, "net") == host and holds(p, "tun"))
        return next(p for p in parts if read_proc(p, "comm").strip() == f"sandgate-{which}")

    def row(self):
        return next((r for r in self.sandgate.json("ls") if r["name"] == self.name), None)

    def detach(self):
        return self.sandgate("detach", self.name)


@pytest.fixture
def pod(world):
    return Pod(world)


@pytest.fixture
def attach(sandgate, pod):
    """attach(OPTION...) of the pod; ended at the end."""
    made = []

    def start(*options, **more):
        made.append(Attached(sandgate, *(options or ("--net", "deny")), "--netns", pod.place.path,
                             **more))
        return made[-1]
    yield start
    for one in made:
        if one.done.ok and one.row():
            one.detach()


def left_the_pod(world):
    return world.left_the_host(where=lambda p: p.source in (POD, "172.31.8.2", "192.0.0.2"))


def test_what_leaves_passes_the_gate_and_nothing_else_does(world, sandgate, pod, attach):
    address, other = world.address(), world.address()
    echo_tcp(world, address, 7000)
    pod.dials(other)
    assert left_the_pod(world), "there was no other way out before: the test says nothing"
    world.start_watching()
    one = attach("--only", f"{address}:7000")
    assert one.done.ok and one.done.out.strip() == one.name, one.done
    assert "taken away from the namespace: eth0" in one.done.err
    assert pod.devices() == ["eth0", "lo"]
    assert pod.dials(address, 7000) == "connected"
    assert pod.dials(other) == "ECONNREFUSED"
    assert left_the_pod(world) == []
    row = one.row()
    assert (row["engine"], row["state"], row["network"]) == ("netns", "running", "deny")
    assert sandgate.json("egress", one.name)["flows"]["refused"] == 1


def test_a_policy_is_changed_while_it_is_attached(world, sandgate, pod, attach):
    address = world.address()
    echo_tcp(world, address, 80)
    one = attach()
    assert pod.dials(address) == "ECONNREFUSED"
    assert sandgate("net", "allow", one.name, f"{address}:80").ok
    assert pod.dials(address) == "connected"


def test_root_inside_finds_no_other_way(world, pod, attach):
    """New addresses, routes, devices, raw frames of a foreign source: none of it leaves."""
    attach()
    world.start_watching()
    pod.place.ip(f"addr add {POD}/24 dev eth0", "neigh replace 172.31.9.1 lladdr 02:73:67:00:00:01 "
                 "nud permanent dev eth0", "route replace default via 172.31.9.1 dev eth0 onlink")
    pod.python("""
for target in ("93.184.9.9", "8.8.8.8", "172.31.9.1", "192.168.77.2"):
    for port in (53, 80, 443): try_dial(target, port, 0.2)
    ask_udp(target, 53, dns_question("secret.example.net"), 0.2)
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.bind(("eth0", 0))
for source in ("02:73:67:00:00:02", "02:00:00:00:00:99"):
    head = bytes.fromhex("02736700000102736700000208 00".replace(" ", ""))
    for ethertype in (0x0800, 0x86dd, 0x88b5, 0x8100, 0x0806, 0x8847):
        frame = head[:6] + bytes.fromhex(source.replace(":", "")) + struct.pack("!H", ethertype)
        raw.send(frame + bytes.fromhex("4500002800010000401100005db80909c0a84d01") + bytes(60))
report(done=True)
""")
    pod.place.ip("link add a9 type veth peer name b9")
    assert left_the_pod(world) == []
    assert world.left_the_host(where=lambda p: p.destination in ("93.184.9.9", "8.8.8.8")) == []


def test_a_device_that_comes_later_is_taken_away(world, sandgate, pod, attach):
    """As with `docker network connect`; the audit log has it."""
    one = attach()
    world.start_watching()
    pod.plug("eth1")
    wait_until(lambda: pod.devices() == ["eth0", "lo"], 10, "the end of the device")
    assert one.row()["state"] == "running"
    assert pod.dials(world.address()) == "ECONNREFUSED"
    assert left_the_pod(world) == []
    shown = sandgate("audit", "show", one.name).out
    assert "way-out" in shown or "way out" in shown, shown


def test_devices_again_and_again_end_it(pod, attach):
    one = attach()
    for n in range(40):
        if not one.row():
            break
        pod.place.ip(f"link add d{n} type veth peer name p{n}")
        wait_until(lambda: f"d{n}" not in pod.devices() or not one.row(), 10, "the device's end")
    wait_until(lambda: one.row() is None, 10, "the end of the sandbox")
    wait_until(lambda: "eth0" not in pod.devices(), 10, "the end of the link")


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_link_that_is_taken_away_from_inside_ends_it(world, pod, attach, how):
    """Even where a device of the same name and number comes in its place."""
    one = attach()
    if how == "deleted":
        pod.place.ip("link del eth0")
    else:
        below = Place()
        pod.place.ip(f"link set eth0 netns {below.path}")
        below.close()
    wait_until(lambda: one.row() is None, 10, "the end of the sandbox")
    world.start_watching()
    pod.place.ip("link add eth0 index 100 type veth peer name other")
    pod.place.ip("link set eth0 up")
    pod.dials(world.address())
    assert left_the_pod(world) == []


def test_detach_leaves_a_namespace_without_a_link(world, sandgate, pod, attach):
    one = attach()
    world.start_watching()
    done = one.detach()
    assert done.ok, done
    assert one.row() is None and pod.devices() == ["lo"] and pod.ip("route") == ""
    assert pod.dials(world.address()) == "ENETUNREACH"
    assert left_the_pod(world) == []
    again = sandgate("detach", one.name)
    assert again.status == 125 and "there is no sandbox of that name" in again.err


def test_stop_ends_it_as_detach_does(sandgate, pod, attach):
    one = attach()
    assert sandgate("stop", one.name).ok
    assert one.row() is None
    wait_until(lambda: pod.devices() == ["lo"], 10, "the end of the link")


def test_it_ends_with_the_process_that_it_was_found_by(world, sandgate, pod):
    sleeper = pod.place.popen(["setpriv", "--bounding-set", "-net_admin", "sleep", "1000"])
    wait_until(lambda: read_proc(sleeper.pid, "comm").strip() == "sleep")
    try:
        one = Attached(sandgate, "--net", "deny", "--pid", str(sleeper.pid))
        assert one.done.ok, one.done
        assert one.row()["engine"] == "netns"
    finally:
        sleeper.kill()
        sleeper.wait()
    wait_until(lambda: one.row() is None, 10, "the end of the sandbox")
    wait_until(lambda: not one.family, 10, "the end of its processes")


@pytest.mark.parametrize("which", ["supervisor", "keeper"])
def test_whoever_is_killed_the_namespace_has_no_link(world, pod, attach, which):
    one = attach()
    family = one.family
    os.kill(one.supervisor if which == "supervisor" else one.part(which), signal.SIGKILL)
    wait_until(lambda: not [p for p in family if read_proc(p, "cmdline")], 10, "the end of all of it")
    world.start_watching()
    wait_until(lambda: pod.devices() == ["lo"], 10, "the end of the link")
    pod.dials(world.address())
    assert left_the_pod(world) == []


def test_the_gate_killed_comes_back_with_the_same_policy(world, pod, attach):
    address = world.address()
    echo_tcp(world, address, 7000)
    one = attach("--only", f"{address}:7000")
    gate = one.part("gate")
    os.kill(gate, signal.SIGKILL)
    wait_until(lambda: pod.dials(address, 7000) == "connected", 15, "a new gate")
    assert one.part("gate") != gate and pod.dials(world.address()) == "ECONNREFUSED"


def test_a_gate_that_dies_again_and_again_ends_it_closed(world, sandgate, pod, attach):
    """It is said in the log of the supervisors and in the host's own."""
    one = attach()
    for _ in range(40):
        if not one.row():
            break
        try:
            os.kill(one.part("gate"), signal.SIGKILL)
        except (AssertionError, StopIteration, ProcessLookupError):
            pass
        time.sleep(0.05)
    wait_until(lambda: one.row() is None, 30, "the end of the sandbox")
    wait_until(lambda: pod.devices() == ["lo"], 10, "the end of the link")
    log = world.machine.read("/var/lib/sandgate/supervisor.log")
    assert f"{one.name}: the gate has ended" in log
    wait_until(lambda: "the gate has ended" in sandgate("audit", "show", "--host", "--json").out, 10,
               "the entry in the host's log")


def test_a_namespace_gets_one_gate(sandgate, pod, attach):
    one = attach()
    again = attach()
    assert again.done.status == 125 and one.name in again.done.err, again.done
    assert "behind a gate already" in again.done.err
    # Not a question about the gate's own device, which is nobody's to give up.
    unasked = sandgate("attach", "--net", "deny", "--netns", pod.place.path)
    assert unasked.status == 125 and "behind a gate already" in unasked.err, unasked
    assert one.row()["state"] == "running" and pod.devices() == ["eth0", "lo"]


def test_of_several_at_the_same_moment_exactly_one_has_it(world, sandgate, pod):
    """Ten times: never two, never none, and the others name the one."""
    def race():
        running = [world.machine.popen(
            [sandgate.path, "attach", "--yes", "--net", "deny", "--netns", pod.place.path], "root",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        return [(*process.communicate(timeout=60), process.returncode) for process in running]
    for _ in range(10):
        done = race()
        won = [out.strip() for out, _, status in done if status == 0]
        assert len(won) == 1, done
        for out, err, status in done:
            assert status == 0 or (status, out) == (125, "") and \
                f"behind a gate already, that of the sandbox {won[0]};" in err, done
        assert [r["name"] for r in sandgate.json("ls") if r["engine"] == "netns"] == won
        assert pod.devices() == ["eth0", "lo"]
        assert sandgate("detach", won[0]).ok
    wait_until(lambda: (world.machine.listdir("/run/sandgate"), pod.devices()) == ([], ["lo"]), 10,
               "nothing left")


@pytest.fixture
def owned(world):
    """A namespace of a person's own, which root may enter as well: its process."""
    one = world.machine.popen(["unshare", "-Urn", "sh", "-c", "echo; exec sleep 1000"], "dev",
                              stdout=subprocess.PIPE, text=True)
    one.stdout.readline()
    yield one
    one.kill()
    one.wait()
    one.stdout.close()


def _links(world, process):
    return world.machine.run(["nsenter", "-t", str(process.pid), "-n", "ip", "-o", "link"], "root").stdout


def test_of_root_and_its_person_at_the_same_moment_one_has_it(world, sandgate, owned):
    """They have two registries. The other is refused, and takes nothing away from the one."""
    people = {"dev": sandgate.as_person("dev"), "root": sandgate}
    argv = [sandgate.path, "attach", "--yes", "--quiet", "--net", "deny", "--pid", str(owned.pid)]
    for turn in range(10):
        order = ["dev", "root"] if turn % 2 else ["root", "dev"]
        running = {person: world.machine.popen(argv, person, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                               text=True) for person in order}
        done = {person: (*one.communicate(timeout=60), one.returncode) for person, one in running.items()}
        won = [person for person in done if done[person][2] == 0]
        assert len(won) == 1, done
        lost = next(person for person in done if person not in won)
        assert done[lost][2] == 125 and "behind a gate already, that of a sandbox of another user" in done[lost][1], done
        name = done[won[0]][0].strip()
        assert [r["state"] for r in people[won[0]].json("ls") if r["name"] == name] == ["running"]
        assert people[lost].json("ls") == [] and "eth0" in _links(world, owned), done
        # Nor much later.
        again = people[lost](*argv[1:])
        assert again.status == 125 and "another user" in again.err and "eth0" in _links(world, owned), again
        assert people[won[0]]("detach", name).ok


def test_root_takes_no_sandbox_of_a_person_s_away(world, sandgate):
    box = sandgate.as_person("dev").box("--net", "deny")
    done = sandgate("attach", "--yes", "--net", "deny", "--pid", str(box.inner_pid))
    assert done.status == 125 and "behind a gate already" in done.err, done
    assert "eth0" in box.run("ip -o link").out


@pytest.mark.parametrize("locker", ["root", "dev"])
def test_a_lock_from_inside_keeps_nobody_out(world, sandgate, owned, locker):
    """What runs in a namespace can lock it as a gate's supervisor does."""
    code = "import fcntl, os; fcntl.flock(os.open('/proc/self/ns/net', 0), 2); print(flush=True); os.read(0, 1)"
    inside = world.machine.popen(["nsenter", "-t", str(owned.pid), "-U", "-n", "--preserve-credentials", "python3",
                                  "-c", code], locker, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert inside.stdout.readline() == b"\n"
        for one in sandgate, sandgate.as_person("dev"):
            done = one("attach", "--yes", "--net", "deny", "--pid", str(owned.pid))
            assert done.ok, done
            assert one("detach", done.out.strip()).ok
    finally:
        inside.communicate(b"x")


def test_a_lock_of_a_user_without_rights_keeps_nobody_out(world, sandgate, pod):
    """Everybody can open, and so lock, what lies in /run/netns; also one who lets nobody look at his process."""
    code = ("import ctypes, fcntl, os, sys; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
            "fcntl.flock(os.open(f'/proc/self/fd/{sys.argv[1]}', 0), 2); print(flush=True); os.read(0, 1)")
    stranger = world.machine.popen(["python3", "-c", code, str(pod.place.fd)], "dev", stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, pass_fds=[pod.place.fd])
    try:
        assert stranger.stdout.readline() == b"\n"
        done = sandgate("attach", "--yes", "--net", "deny", "--netns", pod.place.path)
        assert done.ok, done
        assert sandgate("detach", done.out.strip()).ok
    finally:
        stranger.communicate(b"x")


def test_an_airlock_and_a_sandbox_s_namespace_are_refused(sandgate, pod, attach):
    one = attach()
    refused = Attached(sandgate, "--net", "deny", "--pid", str(one.part("keeper")))
    assert refused.done.status == 125 and "behind a gate already" in refused.done.err, refused.done
    box = sandgate.box("--net", "deny")
    refused = Attached(sandgate, "--net", "deny", "--pid", str(box.inner_pid))
    assert refused.done.status == 125 and "behind a gate already" in refused.done.err, refused.done


def test_the_host_s_own_network_is_refused(sandgate, pod):
    """That of the first process, and the one that sandgate is in."""
    refused = Attached(sandgate, "--net", "deny", "--netns", sandgate.world.machine.place.path)
    assert refused.done.status == 125 and "of sandgate itself" in refused.done.err, refused.done
    if ns_of("self", "net") == ns_of(1, "net") or \
            os.path.exists("/proc/sys/net/core/netdev_max_backlog"):
        refused = Attached(sandgate, "--refuse-others", "--net", "deny", "--pid", str(os.getpid()))
        assert refused.done.status == 125, refused.done
        assert "the network of the host" in refused.done.err, refused.done


def test_whose_process_it_is_is_said_to_who_asks(world, sandgate):
    """The first process's network is the host's, to whomever; root is not told to be root."""
    def says(*before, pid, person="root"):
        done = world.machine.run([*before, sandgate.path, "attach", "--refuse-others", "--net", "deny", "--pid",
                                  str(pid)], person)
        assert done.returncode == 125, done
        return done.stderr
    for one in says(pid=1), says(pid=1, person="dev"), says("unshare", "-Ur", pid=1, person="dev"):
        assert "the network of the host" in one and "as root" not in one
    assert "or as root" in says(pid=os.getpid(), person="dev")
    above = says("unshare", "-Ur", pid=os.getpid(), person="dev")
    assert "rights that root does not have here" in above and "as root" not in above


def test_the_name_of_a_sandbox_that_is_kept_is_refused(sandgate, pod, kept, attach):
    one = attach(name=kept("--net", "deny").name)
    assert one.done.status == 125 and "is kept; take another name" in one.done.err, one.done
    assert pod.devices() == ["eth0", "lo"]


def test_a_policy_that_a_sandbox_may_have_written_is_asked_about(world, sandgate, pod):
    """As `run` does, although the working directory says nothing here."""
    work = world.machine.new_work("root")
    assert sandgate.run("--net", "deny", command="echo network: deny >policy.yaml", cwd=work).ok
    done = sandgate("attach", "--policy", "policy.yaml", "--netns", pod.place.path, cwd=work)
    assert done.status == 2 and "a sandbox may have written it" in done.err, done
    assert pod.devices() == ["eth0", "lo"]


def test_the_project_of_the_working_directory_says_nothing(world, sandgate, pod):
    work = world.machine.new_work("root")
    world.machine.write(f"{work}/sandgate.yaml", "network: open\n", "root", 0o600)
    one = Attached(sandgate, "--netns", pod.place.path, cwd=work)
    assert one.done.ok, one.done
    assert one.row()["network"] == "standard"
    assert one.detach().ok


def test_nothing_is_taken_away_unasked(world, sandgate, pod):
    """Nobody can be asked here: without --yes, and with --refuse-others, all stays as it was."""
    done = sandgate("attach", "--net", "deny", "--netns", pod.place.path)
    assert done.status == 125 and "eth0" in done.err and "--yes" in done.err, done
    done = sandgate("attach", "--net", "deny", "--refuse-others", "--netns", pod.place.path)
    assert done.status == 125 and "eth0" in done.err, done
    assert pod.devices() == ["eth0", "lo"] and POD in pod.ip("addr")


def test_what_cannot_be_taken_away_is_named(sandgate, pod, attach):
    """Nothing is attached, and nothing claimed."""
    pod.place.run(["ip", "route", "add", "10.77.0.0/16", "encap", "ip", "id", "7", "dst", "10.1.1.1",
                   "dev", "lo"])
    if "10.77" not in pod.ip("route"):
        pytest.skip("this kernel has no lightweight tunnels (lwtunnel)")
    done = attach()
    assert done.done.status == 125 and "10.77.0.0/16" in done.done.err, done.done


def test_a_person_attaches_what_is_theirs_and_nothing_else(world, sandgate, pod):
    """A namespace below a user namespace of their own; root's and its processes are refused."""
    dev = sandgate.as_person("dev")
    own = world.machine.popen(["unshare", "-Urn", "sleep", "1000"], "dev")
    foreign = pod.place.popen(["sleep", "1000"])
    try:
        wait_until(lambda: ns_of(own.pid, "net") not in (None, ns_of("self", "net"),
                                                         os.readlink(world.machine.place.path)),
                   10, "the namespace")
        wait_until(lambda: read_proc(own.pid, "cmdline").startswith("sleep"), 10, "the program")
        address = world.address()
        echo_tcp(world, address, 7000)
        one = Attached(dev, "--only", f"{address}:7000", "--pid", str(own.pid))
        assert one.done.ok, one.done
        assert one.row()["state"] == "running"
        inside = ["nsenter", "-t", str(own.pid), "-U", "-n", "--preserve-credentials", "python3",
                  "-c", _source("probe.py") + "\nreport(a=try_dial(sys.argv[1], 7000, 20)[0], "
                  "b=try_dial(sys.argv[1], 7001, 20)[0])", address]
        done = world.machine.run(inside, "dev")
        assert json.loads(done.stdout) == {"a": "connected", "b": "ECONNREFUSED"}, done
        assert one.detach().ok
        refused = Attached(dev, "--net", "deny", "--pid", str(foreign.pid))
        assert refused.done.status == 125 and "another user's" in refused.done.err, refused.done
    finally:
        for process in (own, foreign):
            process.kill()
            process.wait()


def test_published_ports_lead_to_the_namespace(world, pod, attach):
    """To a server on the namespace's own address."""
    async def echo(reader, writer):
        writer.write(await reader.read(100))
        writer.close()
    world.tcp("0.0.0.0", 3000, echo, place=pod.place)
    attach("--net", "deny", "--publish", "18080:3000")

    def answers():
        with world.machine.place.socket() as s:
            s.settimeout(30)
            s.connect(("127.0.0.1", 18080))
            s.sendall(b"through the door")
            return s.recv(100)
    assert answers() == b"through the door"


def test_exec_is_refused_in_words(sandgate, attach):
    one = attach()
    done = sandgate("exec", one.name, "--", "true")
    assert done.status == 125 and "sandgate does not enter it" in done.err, done


def test_what_is_inspected_is_said_with_the_authority(world, sandgate, attach):
    one = attach("--net", "deny", "--inspect", "api.example.com")
    assert one.done.ok, one.done
    assert "api.example.com" in one.done.err and "/ca/bundle.pem" in one.done.err, one.done
    path = next(word.rstrip(";,") for word in one.done.err.split() if word.startswith("/") and
                "bundle.pem" in word)
    assert "BEGIN CERTIFICATE" in world.machine.read(path)


def test_twenty_in_a_row_leave_nothing(world, sandgate, pod):
    def left():
        return (world.machine.listdir("/run/sandgate"), world.machine.listdir("/var/lib/sandgate/passing"),
                pod.devices())
    for _ in range(20):
        one = Attached(sandgate, "--net", "deny", "--netns", pod.place.path)
        assert one.done.ok, one.done
        assert one.detach().ok
        # A child that holds the slow descriptors ends after the supervisor.
        wait_until(lambda: not one.family, 10, "the end of them all")
    wait_until(lambda: left() == ([], [], ["lo"]), 10, f"nothing left: {left()}")


def test_many_at_once_hold_up_nobody(sandgate):
    """Also those whose names are made: each gets its own."""
    places = [Place() for _ in range(12)]
    running = [sandgate.world.machine.popen(
        [sandgate.path, "attach", "--net", "deny", "--netns", place.path], "root",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for place in places]
    done = [(process.communicate(timeout=60), process.returncode) for process in running]
    names = [out.strip() for (out, _), _ in done]
    try:
        assert [status for _, status in done] == [0] * len(done), done
        assert len(set(names)) == len(names)
        rows = {r["name"]: r["state"] for r in sandgate.json("ls")}
        assert all(rows[name] == "running" for name in names)
    finally:
        for name, place in zip(names, places):
            sandgate("detach", name)
            place.close()
    assert not set(names) & {r["name"] for r in sandgate.json("ls")}


@pytest.mark.parametrize("words", [[], ["--pid", "1", "--netns", "/x"], ["--pid", "x"], ["--pid", "0"],
                                   ["--container", "-x"], ["--container", "a b"]])
def test_a_target_that_is_none_is_a_usage_error(sandgate, words):
    done = sandgate("attach", "--net", "deny", *words)
    assert done.status == 2 and done.err.startswith("sandgate: "), done


@pytest.mark.parametrize("words, says", [
    (["--netns", "/nowhere"], "No such file"), (["--netns", "lab"], "such as /run/netns/lab"), (["--netns", "/etc/passwd"], "no network namespace"),
    (["--netns", "/proc/self/ns/user"], "no network namespace"), (["--pid", "4000000"], "no process"),
    (["--net", "none", "--netns", "/proc/self/ns/net"], "itself")])
def test_what_cannot_be_attached_says_why(sandgate, words, says):
    done = sandgate("attach", *(["--net", "deny"] if "none" not in words else []), *words)
    assert done.status == 125 and says in done.err, done
