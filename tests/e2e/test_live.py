# SPDX-License-Identifier: Apache-2.0
"""Changing what a sandbox may reach while it runs: in force when the command returns, or not at all."""

import concurrent.futures
import json
import os
import signal
import subprocess

import pytest

from internet.services import echo_tcp
from program import wait_until

PROBE = "never.example.com"  # never allowed: after each change it must be refused again


def generation(sandgate, box):
    return sandgate.json("egress", box.name)["generation"]


def allowed(sandgate, name):
    return sandgate.json("net", "policy", name)["policy"].get("allow", [])


def changed(sandgate, *argv):
    """A change that must go well; its answer."""
    done = sandgate("net", *argv, "--json")
    assert done.ok, done
    return json.loads(done.out)


def assert_closed(world, box):
    """claude-code#81572: a change of one thing must not open another. Echoes on 7000 live on."""
    world.start_watching()
    assert "Could not resolve" in box.curl(f"https://{PROBE}/").err
    assert world.left_the_host(dns=True, where=lambda packet: packet.port != 7000) == []


def test_a_program_that_waits_goes_on_when_it_is_allowed(world, sandgate):
    """No restart of anything: the same process looks the name up again, and connects."""
    world.site("api.example.com", PROBE)
    box = sandgate.box("--net", "deny")
    waiting = box.start("n=0; until curl -sS -m5 https://api.example.com/ >/dev/null 2>&1; do "
                        "n=$((n+1)); echo $n >tries; sleep 0.02; done; echo through")
    wait_until(lambda: box.run("cat tries").out.strip() not in ("", "0", "1"), what="a refused try")
    done = sandgate("net", "allow", box.name, "site:api.example.com")
    assert done.ok and done.out == f"{box.name}: allowed site:api.example.com; generation 2\n", done
    assert waiting.wait(60).out == "through\n"
    assert_closed(world, box)


def test_one_without_a_name_is_changed_as_well(world, sandgate):
    """By the name that `ls` shows; nothing of it is kept."""
    world.site("api.example.com")
    process = world.machine.popen(
        [sandgate.path, "run", "--net", "deny", "--", "sh", "-c",
         "until curl -sS -m5 https://api.example.com/ >/dev/null 2>&1; do sleep 0.05; done; echo through"],
        cwd=world.machine.new_work(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: any(row["refused"] for row in sandgate.json("ls")), what="a refused try")
        row, = sandgate.json("ls")
        assert changed(sandgate, "allow", row["name"], "api.example.com")["generation"] == 2
        out, err = process.communicate(timeout=30)
        assert out == "through\n" and "it is allowed by now" in err, err
    finally:
        process.kill()
        process.wait()
    assert sandgate.json("ls") == []


def test_it_is_in_force_when_the_command_returns(world, sandgate):
    """Not one try afterwards meets the policy from before, either way."""
    world.site("api.example.com", PROBE)
    box = sandgate.box("--net", "deny", "--allow", "other.example.com")
    for n in range(5):
        changed(sandgate, "allow", box.name, "api.example.com")
        assert box.curl("https://api.example.com/").ok
        changed(sandgate, "deny", box.name, "api.example.com")
        assert not box.curl("https://api.example.com/").ok
        assert generation(sandgate, box) == 3 + 2 * n
    assert_closed(world, box)


def test_a_permission_is_switched_on_and_off(world, sandgate):
    world.site("pypi.org", "files.pythonhosted.org", PROBE)
    box = sandgate.box("--net", "deny", "--allow", "other.example.com")
    assert not box.curl("https://pypi.org/").ok
    changed(sandgate, "allow", box.name, "install:python")
    assert box.curl("https://pypi.org/").ok and box.curl("https://files.pythonhosted.org/").ok
    # A person's own rule wins over a permission's hosts.
    changed(sandgate, "deny", box.name, "files.pythonhosted.org")
    assert box.curl("https://pypi.org/").ok and not box.curl("https://files.pythonhosted.org/").ok
    changed(sandgate, "deny", box.name, "install:python")
    assert not box.curl("https://pypi.org/").ok
    assert_closed(world, box)


def test_what_is_so_already_changes_nothing(sandgate):
    box = sandgate.box("--net", "deny", "--allow", "api.example.com,github")
    for item in "api.example.com", "site:api.example.com", "github":
        answer = changed(sandgate, "allow", box.name, item)
        assert (answer["changed"], answer["generation"]) == (False, 1), answer
    assert "it was so already" in sandgate("net", "allow", box.name, "github").out
    assert changed(sandgate, "allow", box.name, "*.x.example.com")["generation"] == 2
    assert changed(sandgate, "allow", box.name, "*.x.example.com")["generation"] == 2


@pytest.mark.parametrize("items, says", [
    (["good.example.com", "*.com"], "*.com"),
    (["good.example.com", "instal:python"], "install:python"),
    (["good.example.com", "http://x.example.com/"], "URL"),
    (["good.example.com", "10.0.0.5/8"], "10.0.0.0/8"),
    (["good.example.com", "x.example.com:0"], "port"),
])
def test_a_change_that_is_not_right_changes_nothing(world, sandgate, items, says):
    """All or nothing: the good half of it is not applied, and what was allowed works on."""
    world.site("api.example.com", "good.example.com", PROBE)
    box = sandgate.box("--net", "deny", "--allow", "api.example.com")
    done = sandgate("net", "allow", box.name, *items)
    assert done.status == 2 and says in done.err and done.out == "", done
    assert done.err.count("\n") == 1 and done.err.startswith("sandgate: ")
    assert generation(sandgate, box) == 1 and allowed(sandgate, box.name) == ["api.example.com"]
    assert box.curl("https://api.example.com/").ok
    assert not box.curl("https://good.example.com/").ok
    assert_closed(world, box)


def test_sources_that_cannot_be_read_keep_the_policy(world, sandgate):
    """Each change reads the catalogue's overrides anew; one that does not parse refuses the change."""
    world.site("api.example.com", PROBE)
    machine = world.machine
    box = sandgate.box("--net", "deny", "--allow", "api.example.com")
    folder = "/home/dev/.config/sandgate/catalogue"
    assert machine.run(["mkdir", "-p", folder]).returncode == 0
    world.on_reset(lambda: machine.run(["rm", "-rf", folder]))
    machine.write(f"{folder}/own.yaml", "permissions:\n  corp: {nosuchkey: 1}\n", "dev")
    done = sandgate("net", "allow", box.name, "other.example.com")
    assert not done.ok and "own.yaml" in done.err, done
    assert generation(sandgate, box) == 1 and box.curl("https://api.example.com/").ok
    machine.write(f"{folder}/own.yaml", "permissions:\n  corp:\n    says: reach the company's site\n"
                  "    attempt: reach the company's site\n    hosts: {corp.example: [wiki]}\n", "dev")
    world.site("wiki.corp.example")
    assert changed(sandgate, "allow", box.name, "corp")["generation"] == 2
    assert box.curl("https://wiki.corp.example/").ok
    assert_closed(world, box)


def test_twenty_changes_at_once_are_all_made(world, sandgate):
    world.site(PROBE)
    box = sandgate.box("--net", "deny", "--allow", "api.example.com")
    names = [f"n{i}.example.com" for i in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda name: sandgate("net", "allow", box.name, name), names))
    assert all(one.ok for one in done), done
    assert sorted(int(one.out.rsplit(" ", 1)[1]) for one in done) == list(range(2, 22))
    assert sorted(allowed(sandgate, box.name)) == sorted(["api.example.com", *names])
    assert generation(sandgate, box) == 21
    assert_closed(world, box)


def test_a_new_gate_has_the_changed_policy(world, sandgate):
    """kill -9 of the gate: what takes its place decides by the change, not by the start."""
    world.site("api.example.com", "other.example.com", PROBE)
    box = sandgate.box("--net", "deny", "--allow", "api.example.com")
    changed(sandgate, "policy", box.name, "--remove", "api.example.com", "--allow", "other.example.com")
    gate = box.gate_pid
    os.kill(gate, signal.SIGKILL)
    wait_until(lambda: "new gate has taken over" in box.err, what="a new gate")
    assert box.curl("https://other.example.com/").ok
    assert not box.curl("https://api.example.com/").ok
    assert generation(sandgate, box) == 2
    changed(sandgate, "allow", box.name, "api.example.com")
    assert box.curl("https://api.example.com/").ok
    assert_closed(world, box)


def test_changes_while_gates_are_killed(world, sandgate):
    """Each is made or is refused with words, and what is in force is what the answers said."""
    world.site("api.example.com", PROBE)
    box = sandgate.box("--net", "deny", "--allow", "api.example.com")
    made = ["api.example.com"]
    for n in range(6):
        os.kill(box.gate_pid, signal.SIGKILL)
        done = sandgate("net", "allow", box.name, f"n{n}.example.com")
        if done.ok:
            made.append(f"n{n}.example.com")
        else:
            assert done.status == 125 and "gate" in done.err, done
        wait_until(lambda: box.err.count("new gate has taken over") == n + 1, what="a new gate")
        assert generation(sandgate, box) == len(made)
    assert allowed(sandgate, box.name) == made
    for name in made[1:]:
        world.site(name)
        assert box.curl(f"https://{name}/").ok
    assert_closed(world, box)


def test_what_cannot_be_kept_is_not_in_force(world, sandgate, kept):
    """A definition that cannot be written: the change is refused, and gate, egress and the next start have
    the policy from before."""
    world.site("api.example.com", PROBE)
    one = kept("--net", "deny", "--allow", "other.example.com")
    one.start()
    folder = f"/home/dev/.local/state/sandgate/sandboxes/{one.name}"
    assert world.machine.run(["chmod", "500", folder]).returncode == 0
    done = sandgate("net", "allow", one.name, "api.example.com")
    assert world.machine.run(["chmod", "700", folder]).returncode == 0
    assert done.status == 125 and one.name in done.err, done
    assert sandgate.json("egress", one.name)["generation"] == 1
    assert not one.exec("curl -sS https://api.example.com/").ok
    assert changed(sandgate, "allow", one.name, "api.example.com")["generation"] == 2
    assert one.exec("curl -sS https://api.example.com/").ok


def test_what_cannot_be_written_down_is_taken_back(world, sandgate, kept):
    """A stopped sandbox whose audit log cannot be opened: its definition is as it was."""
    one = kept("--net", "deny", "--allow", "other.example.com")
    one.start()
    one.stop()
    log = f"/home/dev/.local/state/sandgate/sandboxes/{one.name}/audit"
    assert world.machine.run(["chmod", "0", log]).returncode == 0
    done = sandgate("net", "allow", one.name, "api.example.com")
    assert world.machine.run(["chmod", "700", log]).returncode == 0
    assert done.status == 125 and "audit log" in done.err, done
    shown = sandgate.json("net", "policy", one.name)
    assert (shown["generation"], shown["policy"]["allow"]) == (1, ["other.example.com"])
    assert [e for e in entries(sandgate, one.name) if e["action"] == "sandgate.policy.change"] == []
    assert changed(sandgate, "allow", one.name, "api.example.com")["generation"] == 2
    assert sandgate("audit", "verify", one.name).ok


HOLD = """
held = [[dial(address, 7000) for _ in range(500)] for address in sys.argv[1:3]]
for group in held:
    for s in group: s.settimeout(30)
def alive(group):
    n = 0
    for s in group:
        try:
            s.sendall(b"x")
            n += s.recv(1) == b"x"
        except OSError:
            pass
    return n
open("/tmp/held", "w").close()
while not os.path.exists("/tmp/denied"): time.sleep(0.02)
first = alive(held[0])
while not os.path.exists("/tmp/allowed"): time.sleep(0.02)
report(cut=first, living=alive(held[1]), again=try_dial(sys.argv[1], 7000)[0])
"""


def test_a_change_under_a_thousand_flows(world, sandgate):
    """What is taken away ends, all of it and only that; what is allowed again works again."""
    world.site(PROBE)
    a, b = world.address(), world.address()
    for address in (a, b):
        echo_tcp(world, address, 7000)
    box = sandgate.box("--net", "deny", "--allow", f"{a}:7000,{b}:7000")
    holding = box.start_python(HOLD, a, b)
    wait_until(lambda: box.egress()["flows"]["open"] == 1000 and box.run("test -e /tmp/held").ok, 60,
               what="a thousand open flows")
    changed(sandgate, "deny", box.name, f"{a}:7000")
    wait_until(lambda: box.egress()["flows"]["open"] == 500, 10, what="the end of five hundred")
    box.run("touch /tmp/denied")
    changed(sandgate, "allow", box.name, f"{a}:7000")
    box.run("touch /tmp/allowed")
    assert holding.wait(60).json == {"cut": 0, "living": 500, "again": "connected"}
    assert_closed(world, box)


def test_a_change_is_kept_for_the_next_start(world, sandgate, kept):
    world.site("api.example.com", "other.example.com", PROBE)
    one = kept("--net", "deny", "--allow", "other.example.com")
    one.start()
    changed(sandgate, "allow", one.name, "api.example.com")
    one.stop()
    # Of one that is stopped the same command changes what the next start has.
    answer = changed(sandgate, "deny", one.name, "other.example.com")
    assert (answer["generation"], answer["changed"]) == (3, True)
    shown = sandgate.json("net", "policy", one.name)
    assert (shown["runs"], shown["generation"]) == (False, 3)
    assert shown["policy"]["allow"] == ["api.example.com"]
    assert sandgate("net", "allow", one.name, "*.com").status == 2
    assert sandgate.json("net", "policy", one.name)["generation"] == 3
    assert [sandgate.json("net", "explain", one.name, f"https://{name}.example.com/")["verdict"]
            for name in ("api", "other")] == ["allow", "deny"]
    one.start()
    assert sandgate.json("egress", one.name)["generation"] == 3
    assert one.exec("curl -sS https://api.example.com/").ok
    assert not one.exec("curl -sS https://other.example.com/").ok


def entries(sandgate, name):
    done = sandgate("audit", "show", name, "--json")
    assert done.ok, done
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.mark.parametrize("person", ["dev", "root"])
def test_each_change_is_an_entry_of_the_audit_log(sandgate, kept, person):
    """Who, what before, what after, and the generation; of a running and of a stopped one. What
    changed nothing is none."""
    one = kept("--net", "deny", "--allow", "a.example.com")
    one.start()
    changed(sandgate, "allow", one.name, "b.example.com")
    changed(sandgate, "allow", one.name, "b.example.com")
    sandgate("net", "allow", one.name, "*.com")
    changed(sandgate, "policy", one.name, "--dry-run", "--preset", "locked")
    one.stop()
    changed(sandgate, "deny", one.name, "a.example.com")
    found = [e for e in entries(sandgate, one.name) if e["action"] == "sandgate.policy.change"]
    who = {"dev": "dev (uid 1000)", "root": "root (uid 0)"}[person]
    assert [(e["who"], e["generation"]) for e in found] == [(who, 2), (who, 3)], found
    assert found[0]["before"]["allow"] == ["a.example.com"]
    assert found[0]["after"]["allow"] == ["a.example.com", "b.example.com"]
    assert found[1]["after"]["deny"] == ["a.example.com"]
    assert sandgate("audit", "verify", one.name).ok


def test_the_log_has_the_generation_that_decided(world, sandgate):
    world.site("api.example.com")
    box = sandgate.box("--net", "deny", "--allow", "other.example.com")
    box.curl("https://api.example.com/")
    changed(sandgate, "allow", box.name, "api.example.com")
    assert box.curl("https://api.example.com/").ok

    def seen():
        done = sandgate("net", "log", box.name, "--json")
        return {(e["verdict"], e["generation"]) for e in map(json.loads, done.out.splitlines())
                if e.get("name") == "api.example.com"}
    wait_until(lambda: ("allow", 2) in seen(), what="the line of the connection")
    assert seen() == {("deny", 1), ("allow", 2)}


def test_without_a_link_there_is_nothing_to_open(sandgate):
    box = sandgate.box("--net", "none")
    done = sandgate("net", "policy", box.name, "--preset", "deny", "--allow", "api.example.com")
    assert done.status == 2 and "no link" in done.err, done
    assert sandgate.json("net", "policy", box.name)["network"] == "none"


def test_another_person_changes_nothing(world, sandgate):
    box = sandgate.box("--net", "deny")
    got = world.machine.run(
        ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", "env", "HOME=/tmp",
         "XDG_RUNTIME_DIR=/run/user/1000", sandgate.path, "net", "allow", box.name, "api.example.com"],
        person="root")
    assert got.returncode != 0 and generation(sandgate, box) == 1
