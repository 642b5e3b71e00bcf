# SPDX-License-Identifier: Apache-2.0
"""Root of a user namespace is the person that made it: as the hook of a rootless engine is, in an
environment that says nothing."""

import json

from program import wait_until

# uid 0 is dev there, and nothing of dev's shell is left but the way.
INSIDE = ["unshare", "--user", "--map-root-user", "env", "-i", "PATH=/usr/bin:/bin"]


def inside(world, *argv, env=(), **options):
    return world.machine.run([*INSIDE, *env, *argv], "dev", **options)


def test_the_sandboxes_are_the_person_s(world, sandgate, started):
    """Listed and changed from within, with the runtime folder and the state found by the account."""
    one = started("--net", "deny")
    listed = inside(world, sandgate.path, "ls", "--json")
    assert listed.returncode == 0, listed
    assert [r["name"] for r in json.loads(listed.stdout)] == [one.name]
    changed = inside(world, sandgate.path, "net", "allow", one.name, "api.example.com")
    assert changed.returncode == 0, changed
    assert "api.example.com" in sandgate("net", one.name).out
    assert json.loads(inside(world, sandgate.path, "config", "list", "--json").stdout)


def test_a_sandbox_of_within_is_seen_and_changed_from_outside(world, sandgate):
    """Its supervisor is root of the namespace; the person's shell outside is its person."""
    name = sandgate.new_name()
    work = world.machine.new_work("dev")
    process = world.machine.popen(
        [*INSIDE, sandgate.path, "run", "--name", name, "--net", "deny", "--", "sleep", "1000"],
        "dev", cwd=work)
    try:
        wait_until(lambda: any(r["name"] == name and r["state"] == "running"
                               for r in sandgate.json("ls")), 20, "the sandbox")
        assert sandgate("net", "allow", name, "api.example.com").ok
        assert sandgate.json("egress", name)["generation"] == 2
        shown = sandgate("audit", "show", name, "--json").out
        assert "dev (uid 1000)" in shown and "uid 0" not in shown, shown
        assert sandgate("stop", name).ok
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        sandgate("rm", "--force", name)


def test_nothing_of_real_root_s_is_touched(world, sandgate):
    """Neither /var/lib/sandgate nor /run/sandgate nor root's settings are its own."""
    root = sandgate.as_person("root")
    assert root("config", "set", "defaults.network", "locked").ok
    try:
        got = inside(world, sandgate.path, "config", "get", "defaults.network")
        assert got.returncode == 0, got
        denied = inside(world, sandgate.path, "config", "set", "defaults.agent_network", "locked")
        assert denied.returncode == 0, denied
        assert "agent_network" not in world.machine.read("/etc/sandgate/config.yaml")
        assert "agent_network" in world.machine.read("/home/dev/.config/sandgate/config.yaml")
        assert "locked" in sandgate("config", "get", "defaults.agent_network").out
    finally:
        root("config", "unset", "defaults.network")
        sandgate("config", "unset", "defaults.agent_network")


def test_an_organisation_s_policy_holds_there(world, sandgate):
    """Its owner is nobody that the namespace knows; it counts all the same, and one of dev's does
    not."""
    world.machine.run(["mkdir", "-p", "/etc/sandgate"], "root")
    world.machine.write("/etc/sandgate/policy.json", "{}", "root")
    try:
        outside = sandgate("net", "permissions")
        within = inside(world, sandgate.path, "net", "permissions")
        assert outside.status == within.returncode == 125
        assert outside.err == within.stderr
    finally:
        world.machine.run(["rm", "/etc/sandgate/policy.json"], "root")
