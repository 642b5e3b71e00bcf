# SPDX-License-Identifier: Apache-2.0
"""On a terminal: an interactive shell, its size, the keys that send signals."""

import time

from program import has_terminal, wait_until


def shell(terminal):
    """An interactive shell inside, ready for typing."""
    t = terminal("run", "--net", "deny", "--env", "PS1=ready> ", "--", "bash", "--norc", "-i")
    t.expect("network denied")
    t.expect("ready> ")
    return t


def test_an_interactive_shell_has_its_terminal(terminal):
    t = shell(terminal)
    t.type("tty && echo on-a-$((40+2))-terminal\n")
    t.expect("/dev/")
    t.expect("on-a-42-terminal")
    t.type("exit 5\n")
    assert t.process.wait(60) == 5


def test_no_complaint_about_job_control(terminal):
    t = shell(terminal)
    t.type("sleep 0.1 & jobs; wait; echo done-$((1+1))\n")
    t.expect(r"\[1\]")
    t.expect("done-2")
    assert "no job control" not in t.output


def test_the_size_is_passed_on_and_followed(terminal):
    t = shell(terminal)
    t.type("stty size\n")
    t.expect("24 80")
    t.type("trap 'echo now $(stty size)' WINCH; echo set-$((1+1))\n")
    t.expect("set-2")
    t.resize(50, 132)
    t.type("\n")
    t.expect("now 50 132")


def sleeps(t):
    """A command of the shell's, and what is typed next is for it: of a length that nobody else sleeps."""
    command = "sleep", f"1{time.monotonic_ns()}"
    t.type(" ".join(command) + "\n")
    wait_until(lambda: has_terminal(*command), what="the command")


def test_ctrl_c_ends_the_command_and_not_the_shell(terminal):
    t = shell(terminal)
    sleeps(t)
    t.type("\x03")
    t.expect("ready> ")
    t.type("echo status $?\n")
    t.expect("status 130")


def test_ctrl_c_ends_a_plain_command(terminal):
    t = terminal("run", "--net", "deny", "--", "sh", "-c", "echo up; exec sleep 100")
    t.expect("up")
    t.type("\x03")
    assert t.process.wait(60) == 130


def test_ctrl_z_and_fg(terminal):
    t = shell(terminal)
    sleeps(t)
    t.type("\x1a")
    t.expect("Stopped")
    t.type("kill %1; echo killed-$((1+1))\n")
    t.expect("killed-2")


def test_a_command_that_is_killed_leaves_the_terminal_as_it_was(terminal, sandgate):
    """As a shell does; what a command sets that ends in good order stays, as without a sandbox."""
    for ending, same in (("kill -KILL $$", True), ("exit 0", False)):
        t = terminal.of("bash", "--norc", "-c", f"stty -g; {sandgate.path} run --quiet --net deny -- sh -c "
                        f"'stty raw -echo; {ending}'; stty -g; sleep 0.2")
        before = t.expect(r"([0-9a-f:]{30,})").group(1)
        after = t.expect(r"([0-9a-f:]{30,})").group(1)
        assert (before == after) == same, ending


def test_ctrl_d_ends_the_shell(terminal):
    t = shell(terminal)
    t.type("\x04")
    assert t.process.wait(60) == 0
