# SPDX-License-Identifier: Apache-2.0
"""ls, egress, doctor: what a person sees of a running sandbox."""

import json

import pytest

BOTH = pytest.mark.parametrize("person", ["dev", "root"])


@BOTH
def test_ls_lists_what_runs(sandgate, person):
    assert sandgate.json("ls") == []
    box = sandgate.box("--only", "api.example.com")
    rows = sandgate.json("ls")
    assert [row["name"] for row in rows] == [box.name]
    assert set(rows[0]) >= {"name", "network", "engine", "uptime_s", "flows_open", "refused",
                            "generation"}
    assert rows[0]["engine"] == "bwrap" and rows[0]["network"] == "deny"
    assert box.name in sandgate("ls").out
    box.stop()
    assert sandgate.json("ls") == []


def test_egress_counts_exactly(world, sandgate):
    world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    for _ in range(5):
        assert box.curl("http://api.example.com/").ok
    for port in range(1000, 1007):
        box.python("try_dial('93.184.9.9', sys.argv[1])", port)
    for i in range(4):
        box.run(f"dig +tries=1 no{i}.example.com")
    seen = box.egress()
    assert set(seen) >= {"policy", "generation", "frames", "flows", "dns", "requests", "wildcards"}
    assert seen["flows"]["opened"] == 5 and seen["flows"]["open"] == 0
    assert seen["flows"]["refused"] == 7
    assert seen["dns"]["refused"] == 4 and seen["dns"]["answered"] >= 5
    assert seen["requests"] == {"inspected": 5, "refused": 0}
    assert seen["frames"]["passed"] > 0 and set(seen["frames"]) == {"passed", "denied", "noise"}
    text = sandgate("egress", box.name).out
    for word in ("policy:", "frames:", "flows:", "dns:", "requests:", "api.example.com"):
        assert word in text


def test_another_person_does_not_see_or_control_it(sandgate):
    """Peer credentials are checked."""
    box = sandgate.box("--net", "deny")
    machine = sandgate.world.machine
    got = machine.run(
        ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", "env", "HOME=/tmp",
         "XDG_RUNTIME_DIR=/run/user/1000", sandgate.path, "egress", box.name], person="root")
    assert got.returncode != 0 and got.stdout == ""


def test_what_does_not_run_is_said(sandgate):
    for argv in (["egress", "no-such-sandbox"], ["net", "explain", "no-such-sandbox", "a.example.com"]):
        done = sandgate(*argv)
        assert done.status in (1, 2, 125) and "no-such-sandbox" in done.err, done


@BOTH
def test_doctor_finds_nothing_missing_here(sandgate, person):
    done = sandgate("doctor")
    assert done.ok, done
    assert isinstance(json.loads(sandgate("doctor", "--json").out), (list, dict))


def test_colours_only_on_a_terminal(sandgate, terminal):
    assert "\x1b[" not in sandgate("doctor").out
    t = terminal("doctor")
    t.process.wait(20)


def test_a_folder_of_a_sandbox_that_died_is_cleaned(sandgate):
    """A supervisor that was killed leaves a folder: it is not listed, and the name is free again."""
    box = sandgate.box("--net", "deny")
    box.process.kill()
    box.process.wait()
    assert sandgate.json("ls") == []
    again = sandgate("run", "--name", box.name, "--net", "deny", "--", "echo", "again")
    assert again.out == "again\n", again
