# SPDX-License-Identifier: Apache-2.0
"""The agent must not widen its own policy: neither by the control socket nor by any file it can write."""

import json

import pytest

FIND = r"""
import stat
found, tried, reached = [], 0, []
for top in "/run", "/var", "/tmp", "/home", "/root", "/etc", "/dev", "/mnt", "/srv", "/opt", os.getcwd():
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode): found.append(path)
            except OSError:
                pass
for path in sys.argv[1:] + found:
    for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
        with socket.socket(socket.AF_UNIX, kind) as s:
            s.settimeout(2)
            tried += 1
            try:
                s.connect(path)
            except OSError:
                continue
            ask = json.dumps({"op": "change", "allow": ["evil.example.com"]}).encode()
            try:
                s.sendall(struct.pack("!I", len(ask)) + ask)
                if s.recv(4): reached.append(path)
            except OSError:
                pass
report(found=found, tried=tried, reached=reached)
"""

PLANT = r"""
text = "network: any\n"
definition = json.dumps({"version": 1, "policy": {"version": 1, "network": "any"}, "generation": 99})
wrote = []
home = os.environ["HOME"]
for folder in ("/etc/sandgate", "/var/lib/sandgate", "/run/sandgate", home + "/.config/sandgate",
               home + "/.local/state/sandgate", "/home/dev/.config/sandgate", "/root/.config/sandgate",
               "/home/dev/.local/state/sandgate", "/run/user/1000/sandgate"):
    for name, content in (("config.yaml", "defaults: {network: any}\n"), ("policy.json", "{}"),
                          ("catalogue/own.yaml", "permissions: {}\n"), ("trust.json", "{}"),
                          (f"sandboxes/{sys.argv[1]}/sandbox.json", definition)):
        path = os.path.join(folder, name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f: f.write(content)
            wrote.append(path)
        except OSError:
            pass
for path in "sandgate.yaml", "../sandgate.yaml":
    try:
        with open(path, "w") as f: f.write(text)
        wrote.append(path)
    except OSError:
        pass
report(wrote=wrote)
"""


def policy_of(sandgate, name):
    shown = sandgate.json("net", "policy", name)
    return shown["generation"], shown["policy"]


RUNTIME = {"dev": "/run/user/1000", "root": "/run"}
STATE = {"dev": "/home/dev/.local/state/sandgate", "root": "/var/lib/sandgate"}


@pytest.mark.parametrize("person, shared", [("dev", []), ("root", []), ("dev", ["--rw", "/run/user/1000"]),
                                            ("dev", ["--rw", "/home/dev"]), ("root", ["--rw", "/root"])])
def test_the_control_socket_is_out_of_reach(world, sandgate, person, shared):
    """As root inside, by its path, by whatever socket there is, and with the folder around it handed in:
    the registry is never shown, and a peer of another PID namespace is not answered."""
    home = {"dev": "/home/dev", "root": "/root"}[person]
    world.machine.run(["install", "-d", "-m", "700", f"{home}/.config/sandgate", STATE[person]], person=person)
    box = sandgate.box("--net", "deny", "--allow", "api.example.com", "--as-root", *shared)
    before = policy_of(sandgate, box.name)
    folder = f"{RUNTIME[person]}/sandgate/{box.name}"
    assert world.machine.run(["test", "-S", f"{folder}/control"], person=person).returncode == 0
    got = box.python(FIND, f"{folder}/control", f"{folder}/exec", timeout=60)
    assert got.json["reached"] == [] and got.json["tried"] >= 4, got
    assert not any("sandgate" in path for path in got.json["found"]), got
    assert policy_of(sandgate, box.name) == before


@pytest.mark.parametrize("person", ["dev", "root"])
@pytest.mark.parametrize("places", [RUNTIME, STATE])
def test_its_own_folders_are_not_handed_in(world, sandgate, person, places):
    folder = places[person] + ("/sandgate" if places is RUNTIME else "")
    world.machine.run(["install", "-d", "-m", "700", folder], person=person)
    for option in "--rw", "--ro":
        done = sandgate.run("--net", "deny", option, folder, command="true")
        assert done.status == 125 and "own files are not shared" in done.err, done


PARENTS = {"dev": ("/home/dev/.local", "/home/dev/.config", "/home/dev"), "root": ("/var", "/root")}


@pytest.mark.parametrize("person", ["dev", "root"])
def test_what_leads_to_its_own_folders_is_not_moved_away(world, sandgate, person):
    """A folder above the cover, with another one put in its place, and the project's folder likewise."""
    machine = world.machine
    base = machine.new_work(person)
    machine.run(f"mkdir -p {base}/a/work; echo 'network: deny' >{base}/a/work/sandgate.yaml", person=person)
    machine.run(["install", "-d", "-m", "700", STATE[person], "/home/dev/.config/sandgate"], person=person)
    shared = [word for folder in PARENTS[person] if machine.exists(folder) for word in ("--rw", folder)]
    assert sandgate.run("--yes", cwd=f"{base}/a/work", command="true").ok
    moved = f"""
        for at in {STATE[person]} /home/dev/.config/sandgate {base}/a/work; do
            while [ "$at" != "/" ]; do mv "$at" "$at.moved" && echo moved "$at"; at=$(dirname "$at"); done
        done 2>/dev/null
        mkdir -p {STATE[person]} {base}/a/work
        echo '{{}}' >{STATE[person]}/trust.json; echo 'network: any' >{base}/a/work/sandgate.yaml"""
    done = sandgate.run("--yes", *shared, "--rw", base, cwd=f"{base}/a/work", command=f"({moved}) 2>&1")
    assert "moved" not in done.out, done
    assert f"{base}/a/work" in machine.read(f"{STATE[person]}/trust.json")
    assert machine.read(f"{base}/a/work/sandgate.yaml") == "network: deny\n"
    assert sandgate.run(cwd=f"{base}/a/work", command="true").ok


def test_a_link_to_its_own_folders_is_not_replaced(world, sandgate):
    machine = world.machine
    base, real = machine.new_work(), machine.new_work()
    machine.run(f"ln -s {real} {base}/state; install -d -m 700 {real}/sandgate")
    env = machine.environment("dev", XDG_STATE_HOME=f"{base}/state")
    done = sandgate.run("--net", "deny", "--rw", base, command="echo started", env=env)
    assert done.status == 125 and "could replace this link" in done.err and done.out == "", done
    assert sandgate.run("--net", "deny", "--ro", base, command="true", env=env).ok


@pytest.mark.parametrize("person", ["dev", "root"])
def test_no_file_that_it_can_write_widens_it(world, sandgate, kept, person):
    """Not the running sandbox, not its next start, not a run beside it, not a change made later."""
    world.site("evil.example.com")
    one = kept("--net", "deny", "--allow", "api.example.com")
    one.start()
    before = policy_of(sandgate, one.name)
    done = one.exec(["python3", "-c", "import json, os, sys\n"
                     "def report(**facts): print(json.dumps(facts))\n" + PLANT, one.name])
    assert done.ok, done
    assert policy_of(sandgate, one.name) == before
    curl = ["curl", "-sS", "-m", "30", "https://evil.example.com/"]
    assert not one.exec(curl).ok
    changed = sandgate("net", "allow", one.name, "other.example.com")
    assert changed.ok and "generation 2" in changed.out, changed
    assert not one.exec(curl).ok
    one.stop()
    one.start()
    assert policy_of(sandgate, one.name)[1]["allow"] == ["api.example.com", "other.example.com"]
    assert not one.exec(curl).ok
    # A project file that it made counts for nothing until a person has looked at it.
    assert any(path.endswith("sandgate.yaml") for path in json.loads(done.out)["wrote"])
    assert not sandgate("run", "--", *curl, cwd=one.cwd).ok
    assert not sandgate("run", "--net", "deny", "--", *curl, cwd=one.cwd).ok


def test_it_cannot_ask_through_a_program_of_its_own(world, sandgate):
    """The same binary inside finds no sandbox to change."""
    box = sandgate.box("--net", "deny", "--ro", "/run/program", "--as-root")
    for argv in ("net allow {0} evil.example.com --yes", "net {0}", "ls"):
        done = box.run([sandgate.path, *argv.format(box.name).split()])
        assert box.name not in done.out and (not done.ok or done.out in ("", "[]\n")), done
    assert policy_of(sandgate, box.name)[0] == 1
