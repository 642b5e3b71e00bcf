# SPDX-License-Identifier: Apache-2.0
"""One name, and several commands at one moment: each does what it would have done a moment later."""

import collections
import concurrent.futures
import os
import random
import signal
import subprocess

import pytest

from program import HANGS, wait_until

pytestmark = pytest.mark.parametrize("person", ["dev"])
AT_ONCE = 8
FULL = os.environ.get("SANDGATE_FULL") == "1"
ROUNDS = 20 if FULL else 4


def _state(world, name):
    return f"/home/dev/.local/state/sandgate/sandboxes/{name}"


@pytest.fixture
def at_once(sandgate):
    """at_once(ARGV...) runs sandgate with each at one moment; their results."""
    def run(*commands, **more):
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
            return list(pool.map(lambda argv: sandgate(*argv, **more), commands))
    return run


@pytest.fixture
def name(sandgate):
    made = sandgate.new_name()
    yield made
    sandgate("rm", "--force", made)


def _run(name, script, *words, options=("--net", "none", "--quiet")):
    return ["run", "--name", name, *options, "--", "sh", "-c", script, "x", *map(str, words)]


# --- all do the same ---

@pytest.mark.parametrize("script", ["true", "sleep 0.3", "sleep 0.$1"], ids=["short", "alike", "apart"])
def test_all_that_run_a_new_name_run(sandgate, at_once, script):
    """The first makes it, the others join it, or start it again when it has ended by then."""
    for _ in range(ROUNDS):
        name = sandgate.new_name()
        done = at_once(*(_run(name, f"{script}; echo $1; exit $1", n) for n in range(AT_ONCE)))
        assert [(d.status, d.out, d.err) for d in done] == [(n, f"{n}\n", "") for n in range(AT_ONCE)]
        assert sandgate("rm", name).ok


def test_all_that_run_one_that_is_stopped_run(sandgate, kept, at_once):
    one = kept("--net", "none")
    for _ in range(ROUNDS):
        done = at_once(*(_run(one.name, "sleep 0.2; echo $1", n, options=["--quiet"]) for n in range(AT_ONCE)))
        assert [(d.status, d.out, d.err) for d in done] == [(0, f"{n}\n", "") for n in range(AT_ONCE)]


def test_with_a_network_and_words_about_it(sandgate, name, at_once):
    """What one says of the policy is a change of what another has made."""
    options = ["--net", "deny", "--allow", "api.example.com", "--quiet"]
    done = at_once(*(_run(name, "sleep 0.2; echo $1", n, options=options) for n in range(AT_ONCE)))
    assert [(d.status, d.out, d.err) for d in done] == [(0, f"{n}\n", "") for n in range(AT_ONCE)]


def test_what_the_one_that_is_there_contradicts_is_refused_in_words(sandgate, kept, at_once):
    one = kept("--net", "none")
    done = at_once(*(_run(one.name, "true", options=["--as-root"]) for _ in range(AT_ONCE)))
    assert all(d.status == 125 and f"sandgate rm {one.name}" in d.err for d in done), done


@pytest.mark.parametrize("command,first,others", [
    (["start"], "", "it runs already"),
    (["create", "--net", "none"], "", "there is one of that name already"),
    (["rm"], "", "there is no sandbox of that name"),
])
def test_of_those_that_one_alone_can_do(sandgate, at_once, name, command, first, others):
    for _ in range(ROUNDS):
        if command[0] != "create":
            assert sandgate("create", "--net", "none", name).ok
        done = at_once(*([*command, name] for _ in range(AT_ONCE)))
        assert sorted(d.status for d in done) == [0] + [125] * (AT_ONCE - 1), done
        assert all(others in d.err for d in done if not d.ok), done
        sandgate("rm", "--force", name)


def test_all_that_stop_it_have_stopped_it(sandgate, started, at_once):
    one = started("--net", "none")
    for _ in range(ROUNDS):
        assert all(d.status == 0 and not d.err for d in at_once(*(["stop", one.name],) * AT_ONCE))
        assert one.row()["state"] == "stopped"
        one.start()
    done = at_once(*(["rm", "--force", one.name],) * AT_ONCE)
    assert any(d.ok for d in done) and one.row() is None, done
    assert all(d.ok or "there is no sandbox of that name" in d.err for d in done), done


# --- the first ends before the others ---

def _started(world, sandgate, argv, cwd):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return world.machine.popen([sandgate.path, *argv], sandgate.person, cwd=cwd, **pipes)


@pytest.fixture
def held(world, sandgate, name):
    """One whose first command has ended with 3, and another of `run` goes on in it."""
    cwd = world.machine.new_work()
    first = _started(world, sandgate, _run(name, "echo up; read x; exit 3", options=["--net", "none"]), cwd)
    assert first.stdout.readline() == "up\n"
    second = _started(world, sandgate, _run(name, "echo up; read x; exit 4", options=["--quiet"]), cwd)
    assert second.stdout.readline() == "up\n"
    first.stdin.write("\n")
    first.stdin.flush()
    wait_until(lambda: "go on" in first.stderr.readline(), what="the word that others go on")
    yield first, second
    for one in first, second:
        if one.poll() is None:
            one.kill()
            one.wait(HANGS)


def test_it_ends_with_the_last_that_run_brought_in(sandgate, name, held):
    first, second = held
    assert first.poll() is None and sandgate("exec", name, "--", "true").ok
    _, status = second.communicate("\n", HANGS), second.returncode
    assert status == 4 and first.wait(HANGS) == 3
    assert sandgate("exec", name, "--", "true").status == 125


def test_the_one_that_waits_can_be_interrupted(sandgate, name, held):
    first, second = held
    first.send_signal(signal.SIGINT)
    # With its standard input open: its end would be the command's as well.
    assert second.wait(HANGS) in (143, 125), second.stderr.read()
    assert first.wait(HANGS) == 3


def test_one_that_goes_on_is_stopped_with_it(sandgate, name, held):
    first, second = held
    assert sandgate("stop", name).ok
    assert first.wait(HANGS) == 3 and second.wait(HANGS) in (143, 125)


def test_what_exec_has_brought_in_ends_with_the_first(world, sandgate, name):
    first = _started(world, sandgate, _run(name, "echo up; read x"), world.machine.new_work())
    assert first.stdout.readline() == "up\n"
    guest = _started(world, sandgate, ["exec", name, "--", "sh", "-c", "echo up; sleep 1000"], None)
    assert guest.stdout.readline() == "up\n"
    first.communicate("\n", HANGS)
    _, err = guest.communicate(timeout=HANGS)
    assert first.returncode == 0 and guest.returncode == 125 and "and the command with it" in err, err


# --- one is being taken away ---

def test_a_name_that_is_being_taken_away_is_waited_for(world, sandgate, kept, at_once):
    one = kept("--net", "none")
    for _ in range(2):
        made = sandgate.run("--name", one.name, "--quiet", command="mkdir ~/d && cd ~/d && seq 20000 | xargs touch")
        assert made.ok, made
        removed, *ran = at_once(["rm", one.name], *(_run(one.name, "ls ~; echo $1", n) for n in range(4)))
        assert removed.ok or "it runs" in removed.err, removed
        assert all(r.status == 0 and r.err == "" for r in ran), ran
        if removed.ok:
            assert not os.path.exists(f"{_state(world, one.name)}/home/d")
            return
        sandgate("stop", one.name)
        assert sandgate("rm", one.name).ok


# --- all of them ---

KILLED = (143, 137)
GONE = "there is no sandbox of that name"
WITH_IT = "the sandbox has ended, and the command with it"
STOPPED = "it is stopped; start it with"
WHILE_MADE = "it was stopped while it was made"
MAY_SAY = {
    "run": (WITH_IT, WHILE_MADE),
    "exec": (WITH_IT, STOPPED, GONE),
    "stop": (GONE,),
    "rm": (GONE,),
    "start": ("it runs already", GONE, WHILE_MADE),
    "create": ("there is one of that name already", "a sandbox of that name runs"),
    "net": (GONE, "has just been removed"),
}


def test_a_storm_of_all_commands(world, sandgate, name, at_once):
    """Whatever comes of each is what it says, no command is run twice, and nothing is left."""
    chosen, seen = random.Random(1), collections.Counter()
    cwd = world.machine.new_work()
    for round_ in range(ROUNDS * 2):
        script = f"echo $1 >>{cwd}/ran; sleep 0.$2"
        commands = [_run(name, script, f"{round_}-{n}", chosen.randrange(5), options=["--quiet"]) for n in range(4)]
        commands += [["exec", name, "--", "sh", "-c", script, "x", f"{round_}-{n}", "1"] for n in (4, 5)]
        commands += [["stop", "--time", "1", name], ["rm", "--force", name], ["start", "--quiet", name],
                     ["create", "--net", "deny", name], ["net", "allow", name, "api.example.com"]]
        chosen.shuffle(commands)
        for argv, done in zip(commands, at_once(*commands, cwd=cwd)):
            said = done.err.strip()
            fine = done.status == 0 or (done.status in KILLED and argv[0] in ("run", "exec"))
            assert fine or (done.status == 125 and any(words in said for words in MAY_SAY[argv[0]])), (argv, done)
            seen[argv[0], done.status] += 1
    ran = world.machine.read(f"{cwd}/ran").split()
    assert len(ran) == len(set(ran)), "a command was run twice"
    sandgate("rm", "--force", name)
    assert name not in [row["name"] for row in sandgate.json("ls")]
    assert not os.path.exists(_state(world, name)), seen
