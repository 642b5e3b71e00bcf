# SPDX-License-Identifier: Apache-2.0
"""A sandbox as a job of the person's shell: stopped, continued, in a pipeline, killed; and its end."""

import asyncio
import time

import pytest

from internet.services import slow_sink

RUN = "$SANDGATE_UNDER_TEST run --quiet --net deny"


@pytest.fixture
def shell(terminal, sandgate):
    """The person's own interactive shell, outside."""
    t = terminal.of("env", f"SANDGATE_UNDER_TEST={sandgate.path}", "PS1=host> ", "TERM=xterm",
                    "bash", "--norc", "--noediting", "-i")
    t.expect("host> ")
    yield t
    t.type("\x03\n")
    t.expect("host> ")
    t.type("exit\nexit\n")
    assert t.process.wait(60) is not None


def start(t, options, command, more=""):
    t.type(f"{RUN} {options} -- sh -c '{command}'{more}\n")


def test_ctrl_z_stops_the_job_and_fg_continues_it(shell):
    start(shell, "", "echo up-$((1+1)); sleep 2; echo woke-$((1+1)); exec sleep 100")
    shell.expect("up-2")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("echo mine-$((1+1))\n")
    shell.expect("mine-2")
    shell.type("fg\n")
    shell.expect("woke-2")
    shell.type("\x03")
    shell.expect("host> ")
    shell.type("echo status $?\n")
    shell.expect("status 130")


def test_in_the_background_it_runs_until_it_reads_the_terminal(shell):
    start(shell, "", "echo up-$((1+1)); sleep 1; echo on-$((1+1)); sleep 0.5; read x; echo got-$x")
    shell.expect("up-2")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("bg\n")
    shell.expect("on-2")
    time.sleep(1)
    shell.type("\n")
    shell.expect("Stopped")
    shell.type("fg\n")
    time.sleep(0.5)
    shell.type("hello\n")
    shell.expect("got-hello")


def test_a_pager_at_the_other_end_of_the_pipe_keeps_the_terminal(shell):
    shell.type(f"{RUN} -- seq 100000 | less\n")
    shell.expect("23\r\n")
    time.sleep(0.5)
    shell.type("q")
    shell.expect("host> ")


def test_a_command_in_a_pipeline_that_reads_gets_the_terminal(shell):
    start(shell, "", "read x; echo got-$x", " | tee /dev/null")
    time.sleep(1)
    shell.type("line\n")
    shell.expect("got-line")


def test_signals_to_its_own_group_do_not_reach_the_job(shell):
    """kill(0) reaches a process group across PID namespaces: the sandbox has one of its own."""
    shell.type(f"{RUN} -- sh -c 'kill -9 0' | cat; echo status ${{PIPESTATUS[*]}}\n")
    shell.expect("status 137 0")


def test_a_script_around_it_is_stopped_with_it(shell):
    shell.type(f"""sh -c '{RUN} -- sh -c "echo up-\\$((1+1)); exec sleep 100"; echo after'\n""")
    shell.expect("up-2")
    for _ in range(10):  # a shell that is quick to continue it must not lose it
        shell.type("\x1a")
        shell.expect("Stopped")
        shell.type("fg\n")
        shell.expect("host> ")
        shell.expect("sh -c")
        time.sleep(0.3)  # the shell says so before it hands the terminal over
    shell.type("\x03")
    shell.expect("host> ")


def test_the_terminals_modes_come_back_when_it_is_killed(shell):
    start(shell, "", "stty raw -echo; kill -9 $$")
    shell.expect("host> ")
    shell.type("stty -a; echo modes-$((1+1))\n")
    shown = shell.expect(r"(?s)speed.*modes-2").group()
    assert "-icanon" not in shown and " icanon" in shown and "-echo " not in shown


def test_what_was_sent_before_the_end_arrives(world, sandgate):
    """The command ends right after its last write: as with the host's own kernel, nothing is cut."""
    address = world.address()
    got = slow_sink(world, address, 7000)
    done = sandgate.run("--only", f"{address}:7000", command=[
        "python3", "-c", "import socket; s = socket.create_connection(('" + address + "', 7000)); "
        "s.sendall(b'x' * 3000000)"])
    assert done.ok, done
    deadline = time.monotonic() + 60
    while not got and time.monotonic() < deadline:
        time.sleep(0.05)
    assert got == [("end", 3000000)]


def test_an_open_connection_does_not_hold_up_the_end(world, sandgate):
    """The far side never closes: the command's end is the sandbox's all the same."""
    address = world.address()

    async def idle(reader, writer):
        await asyncio.sleep(60)
    world.tcp(address, 7000, idle)
    done = sandgate.run("--only", f"{address}:7000", command=[
        "python3", "-c", "import socket; socket.create_connection(('" + address + "', 7000))"])
    assert done.ok and done.seconds < 5, done
