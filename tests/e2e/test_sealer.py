# SPDX-License-Identifier: Apache-2.0
"""The audit log of a sandbox that is refused much, while its processes are killed."""

import base64
import json
import os
import signal
import struct
import time
from subprocess import DEVNULL

import pytest

from program import Kept, descendants, read_proc, wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
REFUSALS_A_MINUTE = 20
# One SYN to a port that nothing allows, and again at once.
FLOOD = """
import errno, select, socket, time
end, n = time.monotonic() + {seconds}, 0
while time.monotonic() < end and n < {most}:
    for _ in range(50):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(("93.184.9.9", 1000))
        try:
            s.send(b"x")
            n += 1
            select.select([s], [], [], 1)
            s.recv(1)
        except OSError as problem:
            assert problem.errno in (errno.ECONNREFUSED, errno.EACCES, errno.EHOSTUNREACH,
                                     errno.ENETUNREACH, errno.EPERM), problem
        s.close()
print(n)
"""


def entries(one):
    folder = one.sandgate.world.machine.run(
        f"cat $( [ $(id -u) = 0 ] && echo /var/lib || echo ~/.local/state )/sandgate/sandboxes/{one.name}"
        "/audit/*.jsonl", one.sandgate.person)
    return [json.loads(line) for line in folder.stdout.splitlines()]


def actions(one, action):
    return [e for e in entries(one) if e["action"] == action]


def refused(one):
    """What the log has: entries of refusals, and what they say was suppressed."""
    found = actions(one, "sandgate.egress.deny")
    return len(found), sum(e.get("suppressed", 0) for e in found)


def totals(one):
    return [e["totals"] for e in entries(one) if "totals" in e][-1]


def ring_file(one, name):
    base = "/var/lib" if one.sandgate.person == "root" else "/home/dev/.local/state"
    return f"{base}/sandgate/sandboxes/{one.name}/{name}"


def head_of(one, name):
    """The first page of a ring's file (src/audit/ring_page.h)."""
    def read():
        with open(ring_file(one, name), "rb") as f:
            return f.read(4096)
    return one.sandgate.world.machine.place.call(read)


def counted(one, *rings):
    """How many refusals gates and brokers have counted, each before anything else."""
    total = 0
    for name in rings or ("ring",):
        head = head_of(one, name)
        reasons, = struct.unpack_from("<I", head, 20)
        total += sum(struct.unpack_from(f"<{reasons}Q", head, 144))
    return total


def process(one, name):
    """A process of the sandbox by what ps calls it; the gate has the name of its supervisor."""
    for pid in descendants(one.supervisor):
        if read_proc(pid, "comm").strip() == name:
            return pid
    return None


def gate(one):
    host = os.readlink(f"/proc/{one.supervisor}/ns/net")
    for pid in descendants(one.supervisor):
        try:
            if pid != one.supervisor and os.readlink(f"/proc/{pid}/ns/net") == host and any(
                    os.readlink(f"/proc/{pid}/fd/{fd}").endswith("/tun") for fd in os.listdir(f"/proc/{pid}/fd")):
                return pid
        except OSError:
            continue
    return None


def flood(one, seconds=60, most=10 ** 9):
    return one.exec(["python3", "-c", FLOOD.format(seconds=seconds, most=most)], timeout=seconds + 60)


def verified(one):
    done = one.sandgate("audit", "verify", one.name)
    assert done.ok, done
    return done.out


def private_key(one):
    """The private part of the key, as it stands in its file."""
    base = "/var/lib" if one.sandgate.person == "root" else "/home/dev/.local/state"
    pem = one.sandgate.world.machine.read(f"{base}/sandgate/sandboxes/{one.name}/audit/key")
    return base64.b64decode("".join(pem.splitlines()[1:-1]))[-32:]


@BOTH
def test_a_flood_of_refusals_is_counted_and_not_written(world, sandgate, started, person):
    """20 entries in the minute, exact totals, and a log that stays small."""
    one = started("--net", "deny")
    sent = int(flood(one, seconds=20, most=10000).out)
    wait_until(lambda: one.row()["refused"] >= sent, 20, "all of them")
    assert refused(one)[0] <= REFUSALS_A_MINUTE
    one.stop()
    written, suppressed = refused(one)
    assert written <= REFUSALS_A_MINUTE + 1
    assert written + suppressed == sum(totals(one).values()) == sent
    size = sum(len(json.dumps(e)) for e in entries(one))
    assert size < 30000, size
    verified(one)


def test_what_the_audit_log_tells(world, sandgate, started):
    world.site("api.example.com", "b.example.com")
    one = started("--only", "api.example.com")
    assert sandgate("net", "allow", one.name, "b.example.com").ok
    os.kill(gate(one), signal.SIGKILL)
    wait_until(lambda: actions(one, "sandgate.gate.restart"), 10, "the entry")
    one.exec("curl -s4 http://93.184.9.9:81/")
    one.stop()
    told = entries(one)
    assert [e["seq"] for e in told] == list(range(len(told)))
    start, = actions(one, "sandgate.sandbox.start")
    assert start["after"]["allow"] == ["api.example.com"] and start["who"].startswith("dev ")
    change, = actions(one, "sandgate.policy.change")
    assert change["who"].startswith("dev ") and change["generation"] == start["generation"] + 1
    assert "b.example.com" in json.dumps(change["after"]) and "b.example.com" not in json.dumps(change["before"])
    restart, = actions(one, "sandgate.gate.restart")
    assert "signal 9" in restart["why"]
    deny, = actions(one, "sandgate.egress.deny")
    assert (deny["address"], deny["port"], deny["reason"]) == ("93.184.9.9", 81, "not-in-policy")
    stop, = actions(one, "sandgate.sandbox.stop")
    assert stop["totals"] == {"not-in-policy": 1}
    verified(one)


def test_a_sealer_that_is_killed_is_replaced(world, sandgate, started):
    """Nothing of the sandbox waits for it, and nothing is lost."""
    world.site("api.example.com")
    one = started("--only", "api.example.com")
    for n in range(3):
        killed = process(one, "sandgate-sealer")
        os.kill(killed, signal.SIGKILL)
        assert one.exec("curl -sS4 -m 5 http://api.example.com/").ok
        one.exec(f"curl -s4 http://93.184.9.9:{81 + n}/")
        wait_until(lambda: process(one, "sandgate-sealer") not in (None, killed), 10, "a new sealer")
    one.stop()
    assert sum(totals(one).values()) == 3
    assert [e["port"] for e in actions(one, "sandgate.egress.deny")] == [81, 82, 83]
    assert len(actions(one, "sandgate.sealer.restart")) == 3
    verified(one)


def test_a_sealer_that_cannot_live_ends_the_sandbox(world, sandgate, started):
    one = started("--net", "deny")
    supervisor = one.supervisor
    for _ in range(30):
        pid = process(one, "sandgate-sealer") if one.row()["state"] == "running" else None
        if pid:
            os.kill(pid, signal.SIGKILL)
        if one.row()["state"] != "running":
            break
        time.sleep(0.2)
    wait_until(lambda: not os.path.exists(f"/proc/{supervisor}"), 20, "the end")
    said = world.machine.run("cat ~/.local/state/sandgate/sandboxes/*/supervisor.log", "dev").stdout
    assert "the sandbox is ended: the logs cannot be kept, the sealer has ended 11 times in 60 s" in said
    verified(one)


def goes_on(one, last, before):
    """Its supervisor was killed, and `last` was its sealer: the log holds, and the next start counts on from the
    totals. What they are now."""
    if last:
        wait_until(lambda: not os.path.exists(f"/proc/{last}"), 20, "the sealer's end")
    verified(one)
    one.start()
    wait_until(lambda: actions(one, "sandgate.sandbox.start")[-1].get("totals") is not None, 10, "totals")
    now = sum(totals(one).values())
    assert now > before
    return now


@pytest.mark.slow
def test_fifty_kills_under_refusals(world, sandgate, started):
    """kill -9 of sealer, gate and supervisor while the sandbox is refused as fast as it can try. After
    each run the log holds, and what it accounts for is all that was ever counted."""
    one = started("--net", "deny")
    kills = {"sealer": 0, "gate": 0, "supervisor": 0}
    before = 0
    for _ in range(5):
        pending = world.machine.popen(
            [sandgate.path, "exec", one.name, "--", "python3", "-c",
             FLOOD.format(seconds=60, most=10 ** 9)], sandgate.person, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        for n in range(9):
            time.sleep(0.15 + 0.05 * n % 0.2)
            victim = "gate" if n % 2 else "sealer"
            pid = gate(one) if n % 2 else process(one, "sandgate-sealer")
            if pid:
                os.kill(pid, signal.SIGKILL)
                kills[victim] += 1
        sealer = process(one, "sandgate-sealer")
        os.kill(one.supervisor, signal.SIGKILL)
        kills["supervisor"] += 1
        pending.wait(30)
        before = goes_on(one, sealer, before)
    assert sum(kills.values()) >= 45, kills
    one.stop()
    written, suppressed = refused(one)
    assert written + suppressed == sum(totals(one).values()) == before == counted(one)
    verified(one)
    print(f"{kills}: {before} refusals, {written} written")


def test_the_ring_of_an_earlier_version_goes_on(sandgate, started):
    """38 reasons and shorter records: what it has counted stays counted, and what it held is not misread."""
    one = started("--net", "deny")
    one.exec("curl -s4 http://93.184.9.9:81/")
    one.stop()
    assert counted(one) == 1
    reasons, slots, record = 38, 2048, 840
    refused = [0] * reasons
    refused[1], refused[2] = 6, 2       # not-in-policy, denied-by-rule: more than the log has
    head = bytearray(struct.pack("<8sIIII", b"sgring\r\n", 1, record, slots, reasons).ljust(144, b"\0"))
    struct.pack_into("<Q", head, 64, 3)
    struct.pack_into("<QQ", head, 128, 8, 16)
    head += struct.pack(f"<{reasons}Q3Q{reasons}Q", *refused, 0, 0, 0, *[0] * reasons)

    def write():
        with open(ring_file(one, "ring"), "wb") as f:
            f.write(bytes(head).ljust(4096, b"\0") + b"\xff" * (slots * record))
    sandgate.world.machine.place.call(write)
    one.start()
    one.exec("curl -s4 http://93.184.9.9:81/")
    one.stop()
    assert totals(one) == {"not-in-policy": 7, "denied-by-rule": 2} and counted(one) == 9
    assert not actions(one, "sandgate.audit.garbled")
    assert struct.unpack_from("<I", head_of(one, "ring"), 8) == (2,)
    verified(one)


@BOTH
def test_neither_key_nor_logs_are_within_reach_of_the_gate(sandgate, started, person):
    one = started("--net", "deny")
    open_files = {os.readlink(f"/proc/{gate(one)}/fd/{fd}") for fd in os.listdir(f"/proc/{gate(one)}/fd")}
    assert not any("audit" in path or "connections" in path for path in open_files), open_files
    with open(f"/proc/{gate(one)}/mem", "rb") as memory:
        key = private_key(one)
        for line in read_proc(gate(one), "maps").splitlines():
            where, rights = line.split()[:2]
            first, last = (int(part, 16) for part in where.split("-"))
            if "r" not in rights or "w" not in rights or last - first > 1 << 26:
                continue
            memory.seek(first)
            assert key not in memory.read(last - first), line


def test_checkpoints_reach_the_anchor(world, sandgate, started):
    """While the sandbox runs, and the last one when it ends; the host's log has that, too."""
    anchor = "/home/dev/anchor"
    assert sandgate("config", "set", "audit.anchor", f"file:{anchor}").ok
    world.on_reset(lambda: sandgate("config", "unset", "audit.anchor"))
    one = started("--net", "deny")
    mine = f"/{one.name}\n"
    wait_until(lambda: world.machine.exists(anchor) and mine in world.machine.read(anchor), 20, "a checkpoint")
    one.exec("curl -s4 http://93.184.9.9:81/")
    one.stop()
    last = world.machine.read(f"/home/dev/.local/state/sandgate/sandboxes/{one.name}/audit/checkpoint")
    kept = world.machine.read(anchor)
    assert last in kept and kept.count(mine) >= 2
    checked = sandgate("audit", "verify", "--anchor", anchor, one.name)
    assert checked.ok, checked
    host = [json.loads(line) for line in world.machine.run(
        "cat ~/.local/state/sandgate/host/*.jsonl", "dev").stdout.splitlines()]
    stop = [e for e in host if e["action"] == "sandgate.sandbox.stop" and e["sandbox"] == one.name]
    assert stop[-1]["checkpoint"] == last and stop[-1]["kept"] is True
    assert stop[-1]["totals"] == {"not-in-policy": 1}


# Many exchanges, so that the connection log grows as fast as it may.
SCAN = """
import socket
for n in range({most}):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setblocking(False)
    try: s.sendto(b"x", ("93.184.9.%d" % (n % 100 + 1), 1000 + n % 300))
    except OSError: pass
    s.close()
"""


@pytest.fixture
def small_disk(world, sandgate):
    """A disk of 6 MiB for what is kept; fill(True) fills it, fill(False) makes room again."""
    machine = world.machine
    folder = "/var/lib/sandgate" if sandgate.person == "root" else "/home/dev/.local/state/sandgate"

    def shell(script):
        done = machine.run(script, person="root")
        assert done.returncode == 0, done

    def fill(full):
        shell(f"! dd if=/dev/zero of={folder}/fill bs=1k 2>/dev/null" if full else f"rm {folder}/fill")
    machine.run(["mkdir", "-p", folder], sandgate.person)
    owner = "0" if sandgate.person == "root" else "1000"
    shell(f"mount -t tmpfs -o size=6m,mode=700,uid={owner},gid={owner} small {folder}")
    yield fill
    shell(f"umount --lazy {folder}")


@BOTH
def test_a_full_disk_under_a_sandbox_that_runs(world, sandgate, small_disk, person):
    """It is refused and served as before, no change is half made, and every refusal is in the sum."""
    world.site("full.example.com")
    one = Kept(sandgate, sandgate.new_name(), "--only", "full.example.com")
    try:
        one.start()
        # More than what a minute has entries for, and not before the disk is full: something has to be
        # written then.
        assert one.exec(["python3", "-c", SCAN.format(most=1)]).ok
        small_disk(True)
        assert one.exec(["python3", "-c", SCAN.format(most=4499)], timeout=60).ok
        assert one.exec("curl -sS http://full.example.com/").ok
        change = sandgate("net", "allow", one.name, "new.example.com")
        assert change.status == 125 and change.err == (
            f"sandgate: {one.name}: what is to be kept of it cannot be written: no space left; "
            "make room there\n"), change
        assert sandgate.json("net", "policy", one.name)["generation"] == 1
        small_disk(False)
        wait_until(lambda: actions(one, "sandgate.audit.recovered"), what="the log to go on")
        recovered, = actions(one, "sandgate.audit.recovered")
        assert recovered["why"] == "No space left on device" and recovered["since"] < recovered["time"]
        assert sandgate("net", "allow", one.name, "new.example.com").ok
        seen = sandgate.json("egress", one.name)["flows"]["refused"]
        one.stop()
        # The scan, and nothing else: the lookups of a name that is allowed are no refusals.
        assert seen == 4500 and totals(one) == {"not-in-policy": 4500}
        written, suppressed = refused(one)
        assert written + suppressed == 4500 and written <= 3 * REFUSALS_A_MINUTE
        verified(one)
        one.start()
        one.stop()
        verified(one)
    finally:
        assert sandgate("rm", "--force", one.name).ok
