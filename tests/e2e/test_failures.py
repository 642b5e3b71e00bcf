# SPDX-License-Identifier: Apache-2.0
"""What happens when a part dies or is missing: closed, said, and nothing left."""

import json
import os
import signal
import subprocess
import threading
import time

import pytest

from internet.services import echo_tcp
from program import descendants, ns_of, read_proc, wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])


def gone(pid):
    stat = read_proc(pid, "stat")
    return not stat or stat.rpartition(")")[2].split()[0] == "Z"


@BOTH
def test_the_gate_killed_in_the_middle_of_a_flow(world, sandgate, person):
    """kill -9 of the gate: the flow dies as a reset, nothing leaves while it is dead; it comes back
    with the same policy and says so."""
    address = world.address()
    ends = []

    async def read(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                ends.append(len(data))
            ends.append("end")
        except ConnectionError:
            ends.append("reset")
        writer.close()
    world.tcp(address, 7000, read)
    echo_tcp(world, address, 7001)
    box = sandgate.box("--only", f"{address}:7000-7001")
    flow = box.start_python("""
s = dial(sys.argv[1], 7000)
try:
    while True: s.sendall(b"x" * 10000); time.sleep(0.01)
except OSError as problem:
    report(r=errname(problem))
""", address)
    wait_until(lambda: len(ends) > 5, 5, "the flow")
    gate = box.gate_pid
    os.kill(gate, signal.SIGKILL)
    assert flow.wait(60).json["r"] in ("ECONNRESET", "EPIPE")
    wait_until(lambda: isinstance(ends[-1], str), what="the far side's end")
    assert ends[-1] == "reset"  # a cut upload does not look complete

    def works_again():
        return box.python("report(r=try_dial(sys.argv[1], 7001, 2)[0])", address).json["r"] == "connected"
    wait_until(works_again, 10, "the gate's return")
    assert box.gate_pid != gate
    assert box.python('report(r=try_dial("93.184.9.9", 80)[0])').json["r"] == "ECONNREFUSED"
    wait_until(lambda: "gate" in box.err, what="the words for the person")


def test_no_packet_passes_while_the_gate_is_dead_or_dying(world, sandgate):
    """The gate is killed again and again under traffic: what leaves is only what it dialled."""
    address = world.address()
    echo_tcp(world, address, 7000)
    box = sandgate.box("--only", f"{address}:7000")
    world.start_watching()
    storm = box.start_python("""
import threading
stop = time.monotonic() + 4
def allowed():
    while time.monotonic() < stop: try_dial(sys.argv[1], 7000, 1)
def denied():
    while time.monotonic() < stop:
        for port in 80, 443, 7000: try_dial("93.184.9.9", port, 1)
        ask_udp("93.184.9.9", 53, dns_question("secret.example.net"), 0.1)
        ask_udp("93.184.9.9", 5000, b"x", 0.1)
threads = [threading.Thread(target=t) for t in (allowed, denied, denied)]
[t.start() for t in threads]; [t.join() for t in threads]
report(done=True)
""", address)
    for _ in range(8):
        time.sleep(0.4)
        try:
            os.kill(box.gate_pid, signal.SIGKILL)
        except (AssertionError, ProcessLookupError):
            pass
    storm.wait(30)
    assert world.left_the_host(dns=True, where=lambda p: p.destination != address) == []


@BOTH
def test_the_supervisor_killed_ends_all_of_it(world, sandgate, person):
    box = sandgate.box("--net", "deny")
    all_of_it = [pid for pid in box.others() if pid != box.process.pid]
    assert len(all_of_it) >= 3
    box.process.kill()
    box.process.wait()
    wait_until(lambda: all(gone(pid) for pid in all_of_it), 5, "the end of gate, keeper and sandbox")


@pytest.mark.parametrize("which", ["keeper", "engine"])
def test_another_part_killed_ends_closed(world, sandgate, which):
    """Without its keeper or its engine a sandbox ends, and nothing is left of it."""
    box = sandgate.box("--net", "deny")
    inside = ns_of(box.inner_pid, "net")
    host = ns_of(box.process.pid, "net")
    if which == "engine":
        chosen = [p for p in box.others() if "bwrap" in read_proc(p, "cmdline").split("\0")[0]]
    else:
        chosen = [p for p in box.others() if ns_of(p, "net") not in (inside, host)]
    assert chosen, box.others()
    world.start_watching()
    os.kill(chosen[0], signal.SIGKILL)
    try:
        box.process.wait(60 if which == "engine" else 10)
    except subprocess.TimeoutExpired:
        assert which == "keeper"  # the airlock may stand without its maker, and closed
        got = box.python('report(r=try_dial("93.184.9.9", 80, 2)[0])').json
        assert got["r"] != "connected"
    assert world.left_the_host(dns=True) == []


def test_many_starts_and_kills_leave_nothing(sandgate):
    machine = sandgate.world.machine

    def folders():
        return machine.listdir("/run/user/1000/sandgate")
    seen = set()
    for i in range(12):
        process = machine.popen([sandgate.path, "run", "--net", "deny", "--", "sleep", "60"], "dev",
                                cwd=machine.new_work(), stdin=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(0.01 * i)
        seen |= set(descendants(process.pid))
        process.send_signal(signal.SIGKILL if i % 2 else signal.SIGTERM)
        process.wait(60)
    wait_until(lambda: all(gone(p) for p in seen), 5, "the end of every process")
    assert sandgate.json("ls") == []
    assert len(folders()) <= 6  # of those that were killed; the next start cleans them


def test_a_start_that_fails_while_the_engine_is_at_work_leaves_nothing(sandgate):
    """The engine is started before the gate; what it has forked at that moment must not stay."""
    sandgate.box("--net", "deny", "--publish", "18999:80")
    mark = f"left-by-{os.getpid()}"

    def left():
        return [p for p in os.listdir("/proc") if p.isdigit() and mark in read_proc(p, "cmdline")]
    for _ in range(60):
        done = sandgate.run("--net", "deny", "--publish", "18999:80", command=["echo", mark])
        assert done.status == 125 and done.out == "" and "18999" in done.err, done
    wait_until(lambda: not left(), 5, "the end of every engine")


# What breaks it, as root in a mount namespace or as root of a user namespace of the person's own.
MISSING = {
    "tun": ("mount --bind /dev/null /dev/net/tun", "tun"),
    "tun-absent": ("mount -t tmpfs none /dev/net", "tun"),
    "tun-shut": ("mount -t tmpfs -o mode=755 none /dev/net && mknod -m 600 /dev/net/tun c 10 200", "tun"),
    "bwrap": ("mount --bind /dev/null /usr/bin/bwrap", "bubblewrap"),
    "userns": ("echo 0 > /proc/sys/user/max_user_namespaces", "user namespace"),
    "netns": ("echo 0 > /proc/sys/user/max_net_namespaces", "network namespace"),
}


@pytest.mark.parametrize("what", MISSING)
def test_set_up_that_fails_half_way_says_what_is_missing(world, sandgate, what):
    """A clear error naming the missing thing and the fix, exit 125, nothing started.
    demands.md, fail-open: a namespace that cannot be made is not run without."""
    breaking, names = MISSING[what]
    work = world.machine.new_work()
    run = f"{sandgate.path} run --net deny -- touch started"
    if "mount" in breaking:
        person, argv = "root", ["unshare", "-m", "sh", "-c", f"{breaking} && exec setpriv --reuid 1000 --regid "
                                "1000 --clear-groups env HOME=/home/dev XDG_RUNTIME_DIR=/run/user/1000 " + run]
    else:
        person, argv = "dev", ["unshare", "-U", "-r", "sh", "-c", f"{breaking} && exec {run}"]
    done = world.machine.run(argv, person=person, cwd=work)
    assert done.returncode == 125, done
    assert names in done.stderr.lower() and done.stderr.startswith("sandgate: "), done
    assert not world.machine.exists(f"{work}/started")
    assert world.machine.listdir("/run/user/1000/sandgate") == []


def test_doctor_names_what_is_missing(world, sandgate):
    """demands.md, DNS 31: `doctor` names the missing part."""
    done = world.machine.run(
        ["unshare", "-m", "sh", "-c", "mount --bind /dev/null /usr/bin/bwrap && exec setpriv --reuid "
         f"1000 --regid 1000 --clear-groups {sandgate.path} doctor --json"], person="root")
    row = next(row for row in json.loads(done.stdout) if row["check"] == "bubblewrap")
    assert done.returncode == 1 and row["status"] == "missing", done
    assert "apt-get install bubblewrap" in row["fix"]


def test_a_runtime_folder_that_is_not_the_persons_is_not_used(world, sandgate):
    env = world.machine.environment("dev", XDG_RUNTIME_DIR="/run/user/0")
    done = sandgate("run", "--net", "deny", "--", "true", env=env)
    assert done.status == 125 and "/run/user/0" in done.err, done


def test_full_standard_error_does_not_stop_the_sandbox(world, sandgate):
    """Nobody reads standard error: the command's end is still reported."""
    machine = world.machine
    process = machine.popen([sandgate.path, "run", "--net", "deny", "--", "sh", "-c", "exit 9"], "dev",
                            cwd=machine.new_work(), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    timer = threading.Timer(15, process.kill)
    timer.start()
    process.stderr.close()
    assert process.wait() == 9
    timer.cancel()
