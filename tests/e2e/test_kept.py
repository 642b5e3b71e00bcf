# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that are kept: made, started, used, stopped, started again, taken away."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time

import pytest

from internet.services import slow_sink
from program import descendants, has_terminal, read_proc, wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])


@pytest.fixture
def running(kept):
    one = kept("--net", "deny")
    one.start()
    return one


# --- the story ---

@BOTH
def test_from_create_to_rm(sandgate, kept, person):
    one = kept("--net", "deny", "--env", "MODE=batch")
    assert one.row()["state"] == "stopped"
    assert one.exec("true").status == 125
    started = one.start()
    assert "network denied" in started.err
    assert one.row()["state"] == "running"
    inside = one.exec("echo $MODE; pwd; id -u; cat")
    uid = "0" if person == "root" else "1000"
    assert inside.ok and inside.out == f"batch\n{one.cwd}\n{uid}\n", inside
    one.stop()
    assert one.row()["state"] == "stopped"
    assert sandgate("rm", one.name).ok
    assert one.row() is None
    assert sandgate("rm", one.name).status == 125


def test_the_rows_of_ls(sandgate, running, kept):
    idle = kept("--net", "none")
    rows = {row["name"]: row for row in sandgate.json("ls")}
    for one, state, network in (running, "running", "deny"), (idle, "stopped", "none"):
        assert list(rows[one.name]) == ["name", "network", "engine", "uptime_s", "flows_open",
                                        "refused", "generation", "state"]
        assert (rows[one.name]["state"], rows[one.name]["network"]) == (state, network)
        assert (rows[one.name]["engine"], rows[one.name]["generation"]) == ("bwrap", 1)
    text = sandgate("ls").out
    assert "STATE" in text and "stopped" in text and "running" in text


def test_the_policy_is_kept_over_restarts(world, sandgate, kept):
    world.site("api.example.com", "other.example.com")
    one = kept("--only", "api.example.com")
    for _ in range(2):
        one.start()
        assert one.exec(["curl", "-sS", "-m", "30", "http://api.example.com/"]).ok
        assert not one.exec(["curl", "-sS", "-m", "30", "http://other.example.com/"]).ok
        one.stop()


def test_a_change_is_kept_and_its_generation_grows(world, sandgate, kept):
    world.site("api.example.com", "other.example.com")
    one = kept("--only", "api.example.com")
    one.start()
    assert sandgate("net", "allow", one.name, "other.example.com").ok
    assert one.row()["generation"] == 2
    one.stop()
    assert one.row()["generation"] == 2
    assert sandgate("net", "deny", one.name, "api.example.com").ok
    one.start()
    assert one.row()["generation"] == 3
    assert one.exec(["curl", "-sS", "-m", "30", "http://other.example.com/"]).ok
    assert not one.exec(["curl", "-sS", "-m", "30", "http://api.example.com/"]).ok


def test_home_is_kept_and_nothing_else(kept):
    one = kept("--net", "none")
    one.start()
    assert one.exec("echo mine >~/note; mkdir ~/.config; echo x >/tmp/gone; echo work >here").ok
    one.stop()
    one.start()
    seen = one.exec("cat ~/note here; ls -d ~/.config /tmp/gone")
    assert seen.out.startswith("mine\nwork\n") and "gone" not in seen.out, seen
    # What the person has there is not there.
    assert not one.exec("ls ~/.ssh").ok


def test_it_works_where_it_was_made(world, sandgate, kept):
    one = kept("--net", "none")
    elsewhere = world.machine.new_work()
    assert sandgate("start", one.name, cwd=elsewhere).ok
    assert one.exec("pwd", cwd=elsewhere).out == one.cwd + "\n"
    one.stop()
    world.machine.run(["rmdir", one.cwd])
    gone = sandgate("start", one.name)
    assert gone.status == 125 and one.cwd in gone.err and "sandgate rm" in gone.err, gone


# --- exec ---

@pytest.mark.parametrize("command,status,says", [
    (["true"], 0, ""),
    (["sh", "-c", "exit 7"], 7, ""),
    (["sh", "-c", "kill -TERM $$"], 143, ""),
    (["sh", "-c", "kill -KILL $$"], 137, ""),
    (["no-such-command"], 127, "not found"),
    (["/etc/passwd"], 126, "cannot be executed"),
    (["/no/such/path"], 127, "not found"),
    ([""], 127, "empty"),
])
def test_the_exit_status_is_the_commands(running, command, status, says):
    done = running.exec(command)
    assert done.status == status and says in done.err, done


def test_where_and_with_what_it_starts(running):
    assert running.exec("pwd; echo $PWD", "--cwd", "/tmp").out == "/tmp\n/tmp\n"
    assert running.exec("echo $A-$B", "--env", "A=1", "--env", "B=x=y").out == "1-x=y\n"
    wrong = running.exec("true", "--cwd", "/no/such")
    assert wrong.status == 125 and "/no/such" in wrong.err
    assert running.exec("true", "--env", "A").status == 2


def test_a_script_whose_interpreter_is_missing(running):
    running.exec("printf '#!/no/such\\n' >s; chmod +x s")
    done = running.exec(["./s"])
    assert done.status == 126 and "interpreter" in done.err, done


def test_pipes_carry_10_mb_both_ways(world, sandgate, running):
    world.machine.run(["sh", "-c", f"head -c 10485760 /dev/urandom >{running.cwd}/data"])
    exec_ = f"{sandgate.path} exec {running.name} --"
    done = world.machine.run(
        ["sh", "-c", f"cat data | {exec_} cat | cmp - data && {exec_} cat <data | cmp - data && "
         f"{exec_} cat <data >copy && cmp copy data && echo same"], cwd=running.cwd, timeout=60)
    assert done.stdout == "same\n", done


def test_standard_error_is_apart(running):
    done = running.exec("echo out; echo err >&2")
    assert (done.out, done.err) == ("out\n", "err\n")


def test_the_end_of_input_and_of_output_arrive(world, sandgate, running):
    assert running.exec("cat; echo done", input="text").out == "textdone\n"
    # A reader that leaves: the writer inside gets SIGPIPE, and not only the client.
    done = world.machine.run(["sh", "-c", f"{sandgate.path} exec {running.name} -- sh -c "
                              "'yes; echo $? >ended' | head -1"], cwd=running.cwd, timeout=20)
    assert done.stdout == "y\n"
    wait_until(lambda: world.machine.exists(f"{running.cwd}/ended"), what="the writer's end")


def test_a_folder_is_not_handed_in(world, sandgate, running):
    done = world.machine.run(["sh", "-c", f"{sandgate.path} exec {running.name} -- ls /proc/self/fd/0/ </"])
    assert done.returncode == 125 and "folder" in done.stderr, done


def test_nothing_of_the_host_is_inherited(world, sandgate, running):
    """Only the three standard descriptors, and the one that lists them."""
    done = world.machine.run(
        ["bash", "-c", f"exec 7</etc/hostname 8</etc; {sandgate.path} exec {running.name} -- ls /proc/self/fd"])
    assert done.stdout.split() == ["0", "1", "2", "3"], done


def test_twenty_at_once(running):
    def one(n):
        return running.exec(f"read x; sleep 0.3; echo $x-{n}; exit {n}", input=f"in{n}\n")
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        done = list(pool.map(one, range(20)))
    assert [d.status for d in done] == list(range(20))
    assert [d.out for d in done] == [f"in{n}-{n}\n" for n in range(20)]


def test_signals_reach_the_command(world, sandgate, running):
    for signo in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1:
        process = world.machine.popen(
            [sandgate.path, "exec", running.name, "--", "python3", "-c",
             "import signal, sys\n"
             f"signal.signal({int(signo)}, lambda *_: sys.exit(40 + {int(signo)}))\n"
             "print('up', flush=True)\nwhile True: signal.pause()"],
            stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "up\n"
        process.send_signal(signo)
        assert process.wait(60) == 40 + signo
        process.stdout.close()


def test_a_command_whose_client_is_killed_is_hung_up(world, sandgate, running):
    process = world.machine.popen(
        [sandgate.path, "exec", running.name, "--", "sh", "-c",
         "trap 'echo hung-up >ended; exit' HUP; echo up; while :; do sleep 0.05; done"],
        stdout=subprocess.PIPE, text=True, cwd=running.cwd)
    assert process.stdout.readline() == "up\n"
    process.kill()
    process.wait()
    process.stdout.close()
    wait_until(lambda: world.machine.exists(f"{running.cwd}/ended"), what="SIGHUP")
    assert running.exec("true").ok


def test_a_background_process_outlives_its_command(running):
    assert running.exec("sleep 100 >/dev/null 2>&1 & echo $! >~/pid").ok
    assert running.exec("kill -0 $(cat ~/pid)").ok


# --- on a terminal ---

def test_a_terminal_of_its_own(terminal, running):
    t = terminal("exec", "--env", "PS1=ready> ", running.name, "--", "bash", "--norc", "-i")
    t.expect("ready> ")
    t.type("tty; stty size; echo $TERM-$((1+1))\n")
    t.expect(r"/dev/pts/\d")
    t.expect("24 80")
    t.expect("xterm-2")
    t.type("trap 'echo now $(stty size)' WINCH; echo set-$((1+1))\n")
    t.expect("set-2")
    t.resize(50, 132)
    t.type("\n")
    t.expect("now 50 132")
    command = "sleep", f"1{time.monotonic_ns()}"  # nobody else sleeps as long
    t.type(" ".join(command) + "\n")
    wait_until(lambda: has_terminal(*command), what="the command")
    t.type("\x03")
    t.expect("ready> ")
    t.type("echo status $?\n")
    t.expect("status 130")
    t.type(" ".join(command) + "\n")
    wait_until(lambda: has_terminal(*command), what="the command")
    t.type("\x1a")
    t.expect("Stopped")
    t.expect("ready> ")
    t.type("fg\n")
    wait_until(lambda: has_terminal(*command), what="the command again")
    t.type("\x03")
    t.expect("ready> ")
    t.type("exit 9\n")
    assert t.process.wait(60) == 9


def test_ctrl_c_ends_a_plain_command_inside(terminal, running):
    t = terminal("exec", running.name, "--", "sh", "-c", "echo up; exec sleep 100")
    t.expect("up")
    t.type("\x03")
    assert t.process.wait(60) == 130


def test_all_that_was_printed_before_the_end_is_seen(terminal, running):
    t = terminal("exec", running.name, "--", "seq", "100000")
    t.expect(r"\n100000\r\n", timeout=30)
    assert t.process.wait(60) == 0


def test_the_terminals_modes_come_back(terminal, sandgate, running):
    t = terminal.of("bash", "--norc", "-c", f"stty -g; {sandgate.path} exec {running.name} -- "
                    "sh -c 'stty raw -echo; kill -9 $$'; stty -g; sleep 0.2")
    before = t.expect(r"([0-9a-f:]{30,})").group(1)
    assert t.expect(r"([0-9a-f:]{30,})").group(1) == before


def test_a_pipe_beside_a_terminal(terminal, sandgate, running):
    t = terminal.of("sh", "-c", f"echo typed | {sandgate.path} exec {running.name} -- sh -c "
                    "'read x; test -t 1 && ! test -t 0 && echo got-$x'; echo status-$?")
    t.expect("got-typed")
    t.expect("status-0")


def test_a_pager_at_the_other_end_keeps_the_terminal(terminal, sandgate, running):
    t = terminal.of("env", "PS1=host> ", "TERM=xterm", "bash", "--norc", "--noediting", "-i")
    t.expect("host> ")
    t.type(f"{sandgate.path} exec {running.name} -- seq 100000 | less\n")
    t.expect("23\r\n")
    time.sleep(0.5)
    t.type("G")
    t.expect("100000")
    t.type("q")
    t.expect("host> ")
    t.type("exit\n")
    assert t.process.wait(60) == 0


def test_lines_are_typed_in_a_pipeline(terminal, sandgate, running):
    t = terminal.of("sh", "-c", f"{sandgate.path} exec {running.name} -- sh -c "
                    "'read x; echo got-$x; cat; echo over' | cat; echo status-$?")
    time.sleep(0.5)
    t.type("line\n")
    t.expect("line\r\n")
    t.expect("got-line")
    t.type("\x04")
    t.expect("over")
    t.expect("status-0")


# --- the end, of every kind ---

def test_stop_is_orderly_and_then_is_not(world, running):
    world.machine.write(f"{running.cwd}/trap.sh", "trap 'echo bye >bye; exit' TERM; echo up\n"
                        "while :; do sleep 0.05; done\n", "dev")
    running.exec("sh trap.sh >up 2>&1 &")
    running.exec("(trap '' TERM; exec sleep 100) >/dev/null 2>&1 &")
    wait_until(lambda: world.machine.exists(f"{running.cwd}/up") and
               world.machine.read(f"{running.cwd}/up"), what="the command")
    running.stop("--time", "1")
    assert world.machine.read(f"{running.cwd}/bye") == "bye\n"


def test_stop_ends_one_that_runs_a_command(sandgate):
    box = sandgate.box("--net", "deny")
    box.run("sleep 100 >/dev/null 2>&1 &")
    assert sandgate("stop", box.name).ok
    assert box.process.wait(60) == 143


def test_a_supervisor_that_is_asked_to_end_does_so_in_order(world, running):
    world.machine.write(f"{running.cwd}/trap.sh", "trap 'echo bye >bye; exit' TERM; echo up\n"
                        "while :; do sleep 0.05; done\n", "dev")
    running.exec("sh trap.sh >up 2>&1 &")
    wait_until(lambda: world.machine.exists(f"{running.cwd}/up") and
               world.machine.read(f"{running.cwd}/up"), what="the command")
    os.kill(running.supervisor, signal.SIGTERM)
    wait_until(lambda: running.row()["state"] == "stopped", what="the end")
    assert world.machine.read(f"{running.cwd}/bye") == "bye\n"


def test_what_was_sent_before_the_stop_arrives(world, kept):
    """As at the end of any command: what the kernel inside has taken is let out."""
    address = world.address()
    got = slow_sink(world, address, 7000)
    one = kept("--only", f"{address}:7000")
    one.start()
    sent = one.exec(["python3", "-c", "import socket; s = socket.create_connection(('" + address +
                     "', 7000)); s.sendall(b'x' * 3000000)"])
    assert sent.ok, sent
    one.stop()
    wait_until(lambda: got, what="the far side's end")
    assert got == [("end", 3000000)]


def test_what_a_supervisor_says_at_the_end_is_shown_by_stop(world, kept):
    one = kept("--net", "deny")
    one.start()
    one.exec("mkdir -p .git/hooks .github/workflows; echo x >.github/workflows/run.yml")
    said = one.stop().err
    assert ".github/workflows" in said and "Z sandgate" not in said, said
    log = world.machine.read(f"/home/dev/.local/state/sandgate/sandboxes/{one.name}/supervisor.log")
    assert ".github/workflows" in log and re.match(r"\d{4}-\d\d-\d\dT\S+Z sandgate: ", log), log


def test_a_user_without_a_home(world, sandgate):
    """As many a service's: nothing that needs a place to be kept is in its way."""
    home = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
    world.machine.run(["rm", "-rf", "/var/tmp/sandgate-1000"])
    name = sandgate.new_name()
    run = ["run", "--name", name, "--net", "none", "--", "sh", "-c", "echo x >>~/f; wc -l <~/f"]
    assert sandgate(*run, env=home).out == "1\n"
    run[3:5] = []
    assert sandgate(*run, env=home).out == "2\n"
    assert sandgate("rm", name, env=home).ok
    assert sandgate("run", "--net", "none", "--", "true", env=home).ok
    world.machine.run(["rm", "-rf", "/var/tmp/sandgate-1000"])


def test_a_command_in_one_that_has_no_name_of_its_own(sandgate, world):
    cwd = world.machine.new_work()
    process = world.machine.popen([sandgate.path, "run", "--net", "deny", "--", "sh", "-c",
                                   "echo mine >/tmp/mark; echo up; read x"], cwd=cwd,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    name = next(row["name"] for row in sandgate.json("ls") if row["state"] == "running")
    assert sandgate("exec", name, "--", "cat", "/tmp/mark").out == "mine\n"
    process.communicate("\n")
    assert name not in [row["name"] for row in sandgate.json("ls")]


def test_a_command_is_told_that_its_sandbox_has_ended(world, sandgate, running):
    process = world.machine.popen([sandgate.path, "exec", running.name, "--", "sh", "-c",
                                   "trap '' TERM; echo up; sleep 100"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    running.stop("--time", "0")
    out, err = process.communicate(timeout=20)
    assert process.returncode == 125 and "has ended" in err, err


def test_a_supervisor_that_is_killed_leaves_nothing(running):
    running.exec("sleep 1000 >/dev/null 2>&1 &")
    pid = running.supervisor
    below = descendants(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(read_proc(p, "cmdline") for p in below), what="the end of all")
    assert running.row()["state"] == "stopped"
    running.start()
    assert running.exec("echo again").out == "again\n"


def test_the_end_of_the_first_program_inside_is_the_end(running):
    running.exec("kill -9 2")
    wait_until(lambda: running.row()["state"] == "stopped", what="the end")
    running.start()
    assert running.exec("true").ok


def test_a_first_program_that_is_stopped_is_ended_all_the_same(running):
    running.exec("(sleep 0.2; kill -STOP 2) >/dev/null 2>&1 &")
    time.sleep(0.5)
    running.stop("--time", "1")
    assert running.row()["state"] == "stopped"


def test_two_starts_at_once(sandgate, kept):
    one = kept("--net", "deny")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: sandgate("start", one.name), range(4)))
    assert sorted(d.status for d in done) == [0, 125, 125, 125], done
    assert all(one.name in d.err and "runs" in d.err for d in done if d.status), done
    assert one.exec("true").ok


# --- names ---

@BOTH
def test_of_those_that_make_one_name_at_once_one_does(sandgate, person):
    name = sandgate.new_name()
    create = ["create", name, "--net", "none"]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            done = list(pool.map(lambda argv: sandgate(*argv), [create] * 4))
            assert sorted(d.status for d in done) == [0, 125, 125, 125], done
            assert all("there is one of that name already" in d.err for d in done if d.status), done
            # Those that are refused are in nobody's way.
            done = list(pool.map(lambda argv: sandgate(*argv), [["start", name], create, create, create]))
            assert [d.status for d in done] == [0, 125, 125, 125], done
            assert sandgate("rm", "--force", name).ok


@pytest.mark.parametrize("person", ["root"])
def test_one_that_is_kept_and_one_that_is_not_never_share_a_name(world, sandgate):
    name = sandgate.new_name()
    link, create = ["vm-net", name, "--net", "deny", "--background"], ["create", name, "--net", "none"]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            done = list(pool.map(lambda argv: sandgate(*argv), [link, create, link, create]))
            assert sorted(d.status for d in done) == [0, 125, 125, 125], done
            made = "running" if 0 in (done[0].status, done[2].status) else "stopped"
            assert [r["state"] for r in sandgate.json("ls") if r["name"] == name] == [made], done
            assert sandgate(*(["stop", name] if made == "running" else ["rm", name])).ok
    assert world.machine.listdir("/run/sandgate") == []


def test_names_that_are_not_there_give_the_nearest(sandgate, kept):
    one = kept("--net", "none")
    near = one.name + "x"
    for argv in (["start", near], ["stop", near], ["exec", near, "--", "true"], ["rm", near],
                 ["egress", near]):
        done = sandgate(*argv)
        assert done.status == 125 and f'did you mean "{one.name}"?' in done.err, done


def test_a_stopped_one_says_how_to_start_it(sandgate, kept):
    one = kept("--net", "none")
    for argv in ["exec", one.name, "--", "true"], ["egress", one.name]:
        done = sandgate(*argv)
        assert done.status == 125 and f"sandgate start {one.name}" in done.err, done


@pytest.mark.parametrize("name", ["net", "start", "create", "Upper", "-x", "a" * 64, "a_b", ""])
def test_what_is_no_name(sandgate, name):
    done = sandgate("create", "--", name) if name.startswith("-") else sandgate("create", name)
    assert done.status == 2, done


def test_a_name_is_made_once(sandgate, kept):
    one = kept("--net", "none")
    again = sandgate("create", one.name)
    assert again.status == 125 and f"sandgate start {one.name}" in again.err, again


def test_rm_refuses_one_that_runs(sandgate, running):
    refused = sandgate("rm", running.name)
    assert refused.status == 125 and "--force" in refused.err, refused
    assert running.exec("true").ok
    assert sandgate("rm", "--force", running.name).ok
    assert running.row() is None


def test_rm_takes_all_away_and_leaves_the_working_directory(world, sandgate, running):
    running.exec("echo work >stays; cd ~; mkdir -p a/b/c; touch a/b/c/d; ln -s / root; chmod 0 a/b")
    assert sandgate("rm", "--force", running.name).ok
    state = "/home/dev/.local/state/sandgate/sandboxes"
    assert running.name not in world.machine.listdir(state)
    assert world.machine.read(f"{running.cwd}/stays") == "work\n"


def test_the_hosts_log_keeps_what_is_taken_away(world, sandgate, running):
    """Removing a whole log shows: its last checkpoint stays."""
    state = "/home/dev/.local/state/sandgate"
    running.stop()
    checkpoint = world.machine.read(f"{state}/sandboxes/{running.name}/audit/checkpoint")
    assert sandgate("rm", running.name).ok
    entries = [json.loads(line) for name in world.machine.listdir(f"{state}/host")
               if name.endswith(".jsonl")
               for line in world.machine.read(f"{state}/host/{name}").splitlines()]
    of_it = [e for e in entries if e.get("sandbox") == running.name]
    assert of_it[0]["action"] == "sandgate.sandbox.create"
    assert of_it[-1]["action"] == "sandgate.sandbox.remove"
    assert of_it[-1]["checkpoint"] == checkpoint and "uid 1000" in of_it[-1]["who"], of_it


# --- run --name ---

def test_run_keeps_what_it_was_given_a_name_for(sandgate, world):
    name, cwd = sandgate.new_name(), world.machine.new_work()
    first = sandgate.run("--name", name, "--net", "deny", command="echo one >~/f; exit 3", cwd=cwd)
    assert first.status == 3, first
    assert [r["state"] for r in sandgate.json("ls") if r["name"] == name] == ["stopped"]
    again = sandgate.run("--name", name, command="cat ~/f; pwd")
    assert again.ok and again.out == f"one\n{cwd}\n", again
    assert sandgate("rm", name).ok


def test_run_in_one_that_runs(sandgate, running):
    running.exec("echo here >/tmp/mark")
    done = sandgate.run("--name", running.name, command="cat /tmp/mark; exit 4")
    assert (done.status, done.out) == (4, "here\n"), done
    assert running.row()["state"] == "running"


def test_run_without_a_name_keeps_nothing(sandgate, world):
    before = world.machine.listdir("/home/dev/.local/state/sandgate/sandboxes")
    assert sandgate.run("--net", "none", command="touch ~/x").ok
    assert world.machine.listdir("/home/dev/.local/state/sandgate/sandboxes") == before


def test_options_of_policy_change_one_that_is_kept(world, sandgate, kept):
    world.site("api.example.com")
    one = kept("--net", "deny")
    curl = "curl -sS -m 10 http://api.example.com/"
    assert not sandgate.run("--name", one.name, command=curl).ok
    assert sandgate.run("--name", one.name, "--allow", "api.example.com", command=curl).ok
    assert one.row()["generation"] == 2
    assert sandgate.run("--name", one.name, command=curl).ok
    one.start()
    assert not sandgate.run("--name", one.name, "--deny", "api.example.com", command=curl).ok
    assert one.row()["generation"] == 3
    changes = [e for e in sandgate("audit", "show", one.name, "--json").lines
               if e["action"] == "sandgate.policy.change"]
    assert [e["generation"] for e in changes] == [2, 3]
    assert "api.example.com" in changes[0]["after"]["allow"], changes
    assert "api.example.com" in changes[1]["after"]["deny"], changes


@pytest.mark.parametrize("options,says", [
    (["--as-root"], "sandgate rm"),
    (["--rw", "/srv"], "sandgate rm"),
    (["--ro", "/srv"], "sandgate rm"),
    (["--hide", "/srv"], "sandgate rm"),
    (["--publish", "8080:80"], "sandgate rm"),
    (["--host-port", "80"], "sandgate rm"),
    (["--only", "a.example.com"], "sandgate net policy"),
])
def test_what_contradicts_it_is_refused_in_words(sandgate, kept, options, says):
    one = kept("--net", "deny")
    done = sandgate.run("--name", one.name, *options, command="true")
    assert done.status == 125 and options[0] in done.err and says in done.err, done


def test_what_it_has_already_is_no_contradiction(sandgate, kept, world):
    shared = world.machine.new_work()
    one = kept("--net", "none", "--ro", shared, "--as-root")
    assert sandgate.run("--name", one.name, "--ro", shared, "--as-root", command="id -u").out == "0\n"


def test_a_variable_is_for_the_command_alone(sandgate, kept):
    one = kept("--net", "none", "--env", "A=kept")
    assert sandgate.run("--name", one.name, "--env", "A=now", command="echo $A").out == "now\n"
    assert sandgate.run("--name", one.name, command="echo $A").out == "kept\n"


# --- what is kept, broken ---

def _definition(kept_one):
    return f"/home/dev/.local/state/sandgate/sandboxes/{kept_one.name}/sandbox.json"


def test_a_broken_definition_names_itself_and_can_be_taken_away(world, sandgate, kept):
    one = kept("--net", "none")
    world.machine.write(_definition(one), "{", "dev", 0o600)
    done = sandgate("start", one.name)
    assert done.status == 125 and "sandbox.json" in done.err and f"sandgate rm {one.name}" in done.err
    assert one.row()["state"] == "stopped"
    assert sandgate("rm", one.name).ok


def test_a_newer_definition_is_refused_with_the_version_needed(world, sandgate, kept):
    one = kept("--net", "none")
    path = _definition(one)
    text = json.loads(world.machine.read(path))
    text["version"] = 99
    world.machine.write(path, json.dumps(text), "dev", 0o600)
    done = sandgate("start", one.name)
    assert done.status == 125 and "99" in done.err and "newer" in done.err, done
