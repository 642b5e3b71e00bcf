# SPDX-License-Identifier: Apache-2.0
"""The file of --policy: an agent that could write it has not widened the next run by that."""

import pytest

FETCH = "curl -sS -m5 https://api.example.com/"
WIDE = "network: any\n"
NARROW = "network: deny\n"


@pytest.fixture
def site(world):
    return world.site("api.example.com")


def assert_asked(done, *says):
    """Nothing was started: there was nobody to ask."""
    assert done.status == 2 and done.out == "", done
    for text in ("asks for", "--yes", *says):
        assert text in done.err, done


def with_policy(sandgate, work, file="p.yaml", *options, command=None, cwd=None):
    return sandgate.run("--policy", f"{work}/{file}", *options, cwd=cwd or work,
                        command=command or f"{FETCH} || echo refused")


@pytest.mark.parametrize("person", ["dev", "root"])
@pytest.mark.parametrize("change", [
    "echo 'network: any' >p.yaml", "rm p.yaml; echo 'network: any' >p.yaml",
    "echo 'network: any' >q; mv q p.yaml", "ln -sf {other}/wide.yaml p.yaml",
    "mkdir d; cd d; echo 'network: any' >p.yaml; ln -f p.yaml ../p.yaml"])
def test_a_named_policy_that_the_agent_changes_is_asked_about(world, sandgate, site, person, change):
    machine = world.machine
    work, other = machine.new_work(person), machine.new_work(person)
    machine.write(f"{work}/p.yaml", NARROW, person)
    machine.write(f"{other}/wide.yaml", WIDE, person)
    first = with_policy(sandgate, work, command=change.format(other=other))
    assert first.ok and "asks for" not in first.err, first
    done = with_policy(sandgate, work)
    assert_asked(done, f"{work}/p.yaml has changed, and a sandbox may have written it", "network: any")
    unattended = with_policy(sandgate, work, "p.yaml", "--unattended")
    assert unattended.status == 2 and "--unattended asks nobody" in unattended.err, unattended
    # From a folder that is not shared with any sandbox it is the same file.
    assert_asked(with_policy(sandgate, work, cwd={"dev": "/home/dev", "root": "/root"}[person]))
    assert site.connections == []
    assert with_policy(sandgate, work, "p.yaml", "--yes", command=FETCH).ok
    assert with_policy(sandgate, work, command=FETCH).ok


def test_a_named_policy_that_nobody_changed_is_not(world, sandgate, site):
    machine = world.machine
    work, other = machine.new_work(), machine.new_work()
    for folder in work, other:
        machine.write(f"{folder}/p.yaml", NARROW, "dev")
    for _ in range(3):
        done = with_policy(sandgate, work)
        assert done.out == "refused\n" and "asks for" not in done.err, done
    # Where no sandbox can write it the person changes it as they like.
    for text, says in ((NARROW, "refused\n"), (WIDE, "hello from api.example.com\n")):
        machine.write(f"{other}/p.yaml", text, "dev")
        assert with_policy(sandgate, other, cwd=work).out == says


def test_a_named_policy_that_came_after_a_sandbox_is_asked_about(world, sandgate, site):
    """Also of a folder that a sandbox had by --rw, or that lies below one."""
    machine = world.machine
    work, shared = machine.new_work(), machine.new_work()
    wide = "echo 'network: any' >{0}/p.yaml"
    assert sandgate.run("--net", "deny", "--rw", shared, cwd=work, command=(
        f"mkdir sub; {wide.format('.')}; {wide.format('sub')}; {wide.format(shared)}")).ok
    for folder in work, f"{work}/sub", shared:
        done = with_policy(sandgate, folder, cwd=machine.new_work())
        assert_asked(done, "is not confirmed, and a sandbox may have written it")
    name = sandgate.new_name()
    for argv in (["create", name, "--policy", f"{work}/p.yaml"],
                 ["run", "--name", name, "--policy", f"{work}/p.yaml", "--", "true"]):
        assert_asked(sandgate(*argv, cwd=work))
    assert name not in sandgate("ls").out and site.connections == []
