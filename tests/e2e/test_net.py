# SPDX-License-Identifier: Apache-2.0
"""net, the first line and the summary: what a person is told, and the command that goes on from there."""

import json
import re
import shlex

import pytest

from internet.services import echo_tcp

TRIED = ("https://pypi.org/", "https://files.pythonhosted.org/", "https://api.example.net/")


def try_all(box, *urls):
    for url in urls or TRIED:
        box.curl(url)


def remedies(text):
    return re.findall(r"sandgate net allow \S+ .*", text)


# --- the first line ---

@pytest.mark.parametrize("options, line", [
    (["--net", "deny"], "network denied"),
    (["--net", "none"], "network denied"),
    (["--net", "any"], "network UNRESTRICTED, connections are logged"),
    (["--only", "api.example.com,10.20.0.0/16"], "network limited to api.example.com, 10.20.0.0/16"),
    (["--only", "model,update,github,registry.example.com", "--agent", "claude"],
     "network closed except: the agent's model (anthropic), update, github, registry.example.com"),
    (["--net", "standard", "--agent", "codex"],
     "network closed except: the agent's model (openai), update, error-reports, github, install:system"),
    (["--net", "standard", "--deny", "error-reports,install:system,update"],
     "network closed except: github"),
    (["--net", "bake"], "network closed except: install, install:system"),
])
def test_the_first_line(sandgate, options, line):
    done = sandgate.run(*options, command="true")
    assert done.first_line == f"sandgate: {line}", done


def test_the_policy_in_egress(sandgate):
    box = sandgate.box("--net", "standard", "--allow", "example.com,github:as-you", "--yes",
                       "--deny", "tracker.example.com,error-reports")
    for item in "a.example.com", "b.example.com":
        assert sandgate("net", "allow", box.name, item).ok
    assert sandgate("egress", box.name).out.splitlines()[0] == (
        "policy:   allow: example.com, a.example.com, b.example.com, github:as-you; "
        "deny: tracker.example.com, error-reports (standard), generation 3")


# --- the checklist ---

def test_the_checklist(sandgate):
    box = sandgate.box("--net", "standard", "--allow", "api.example.com", "--deny", "x.example.com")
    text = sandgate("net", box.name).out
    assert text.startswith(f"{box.name}: standard, generation 1\n")
    assert re.search(r"^\[x\] github +\S", text, re.M) and re.search(r"^\[ \] web +\S", text, re.M)
    assert re.search(r"^\[ \] github:push .*\(uses a credential of yours\)$", text, re.M)
    assert "  allow  api.example.com\n  deny   x.example.com\n" in text and "refused" not in text
    model = sandgate.json("net", box.name)
    on = {row["id"]: row for row in model["permissions"]}
    assert set(on["github"]) == {"id", "says", "on", "personal", "asks", "removed"}
    assert on["github"]["on"] and not on["gitlab"]["on"] and on["github:as-you"]["personal"]
    assert [row["id"] for row in model["permissions"]] == sorted(on)
    assert [(r["effect"], r["rule"]) for r in model["rules"]] == [("allow", "api.example.com"),
                                                                   ("deny", "x.example.com")]
    assert (model["network"], model["generation"], model["runs"], model["refused"]) == (
        "standard", 1, True, [])


def test_what_was_refused_comes_with_the_command_that_allows_it(world, sandgate):
    """srt#273, vscode#298332: machine-readable, no prompt, and each command does what it says."""
    world.site("pypi.org", "files.pythonhosted.org", "api.example.net")
    address = world.address()
    world.name("db.example.net", address)
    echo_tcp(world, address, 5432)
    box = sandgate.box("--net", "deny", "--allow", "db.example.net:22")
    try_all(box)
    box.python("try_dial(sys.argv[1], 5432); try_dial(sys.argv[1], 6432)", address)
    rows = sandgate.json("net", box.name)["refused"]
    by_permission = {row["permission"]: row for row in rows}
    python = by_permission["install:python"]
    assert python["says"] == "install Python packages (PyPI)"
    assert set(python["hosts"]) == {"pypi.org", "files.pythonhosted.org"}
    assert python["remedy"] == f"sandgate net allow {box.name} install:python"
    others = {row["hosts"][0]: row for row in rows if not row["permission"]}
    assert others["api.example.net"]["ports"] == ["lookup"]
    assert others[address]["ports"] == ["5432/tcp", "6432/tcp"] and others[address]["count"] == 2
    text = sandgate("net", box.name).out
    assert f"  the agent tried to install Python packages (PyPI), {python['count']} times\n" in text
    assert sorted(remedies(text)) == sorted(row["remedy"] for row in rows)
    for row in rows:
        assert sandgate(*shlex.split(row["remedy"])[1:]).ok, row
    for url in TRIED:
        assert box.curl(url).ok, url
    got = box.python("report(r=try_dial(sys.argv[1], 5432)[0])", address)
    assert got.json["r"] == "connected"
    # What is allowed by now is no suggestion any more.
    again = sandgate.json("net", box.name)["refused"]
    assert all(row["remedy"] is None and row["allowed_now"] for row in again), again


def test_own_infrastructure_is_never_listed(sandgate):
    """github/gh-aw#48038: the gate's own address in the airlock is nobody's to allow. The name by which
    a service of the machine is reached is."""
    box = sandgate.box("--net", "deny")
    box.python("""
for port in 22, 80, 443, 853, 8080, 61000:
    try_dial("192.0.0.1", port, 2); try_dial("fd73:616e:6467:1::1", port, 2)
ask_udp("192.0.0.1", 123, b"x", 0.5)
""")
    box.run(["ping", "-c1", "-W1", "192.0.0.1"])
    model = sandgate.json("net", box.name)
    assert {tuple(row["hosts"]) for row in model["refused"]} <= {("host.sandgate.internal",)}
    assert sum(row["count"] for row in model["refused"]) + model["refused_others"] >= 13
    assert all(row["remedy"] is None for row in model["refused"])
    text = sandgate("net", box.name).out
    err = box.stop().err
    for said in text, err:
        assert "192.0.0" not in said and "fd73:" not in said and "sandgate net allow" not in said


# --- the summary ---

def test_the_summary_of_a_sandbox_that_stays(world, sandgate, kept):
    """Its next start is changed, not the command line."""
    world.site("pypi.org", "files.pythonhosted.org", "api.example.net")
    one = kept("--net", "deny")
    script = "; ".join(f"curl -sS -m9 {url}" for url in TRIED)
    err = sandgate.run("--name", one.name, command=script).err
    assert re.search(r"^  the agent tried to install Python packages \(PyPI\), \d+ times$", err, re.M)
    assert re.search(r"^  api\.example\.net \(lookup, \d+ times\): no rule", err, re.M)
    command = f"sandgate net allow {one.name} install:python site:api.example.net"
    assert f"sandgate: to allow it: {command}\n" in err
    assert sandgate(*shlex.split(command)[1:]).ok
    assert sandgate.run("--name", one.name, command=script.replace("; ", " && ")).ok


def test_the_summary_of_a_sandbox_that_is_gone(world, sandgate):
    """The command line again, and it works as it stands."""
    world.site("pypi.org", "api.example.net")
    script = "curl -sS -m5 https://pypi.org/ && curl -sS -m5 https://api.example.net/"
    argv = ["run", "--net", "deny", "--", "sh", "-c", script]
    for _ in range(2):
        done = sandgate(*argv)
        assert not done.ok
        argv = shlex.split(done.err.split("sandgate: to allow it: ")[1].splitlines()[0])[1:]
    assert "--allow" in argv and any("install:python" in word for word in argv)
    assert sandgate(*argv).ok


def test_what_was_allowed_meanwhile_is_not_offered(world, sandgate):
    world.site("api.example.net")
    box = sandgate.box("--net", "deny")
    box.curl("https://api.example.net/")
    assert sandgate("net", "allow", box.name, "api.example.net").ok
    err = box.stop().err
    assert "it is allowed by now" in err and "to allow it" not in err


# --- questions and words that are not right ---

@pytest.mark.parametrize("change, says", [
    (["allow", "web"], "send your code anywhere"), (["allow", "open"], "send your code anywhere"),
    (["policy", "--preset", "any"], "everything is forwarded"), (["allow", "github:push"], "github:push"),
])
def test_what_opens_wide_is_asked_about(sandgate, terminal, change, says):
    def words(box):
        return ["net", change[0], box.name, *change[1:]]
    box = sandgate.box("--net", "deny")
    done = sandgate(*words(box))
    assert done.status == 2 and "--yes" in done.err and says in done.err, done
    for answer in "n\n", "\n":
        t = terminal(*words(box))
        t.expect(re.escape(says))
        t.expect("N]")
        t.type(answer)
        assert t.process.wait(60) == 2
    assert sandgate.json("egress", box.name)["generation"] == 1
    t = terminal(*words(box))
    t.expect("N]")
    t.type("y\n")
    t.expect("generation 2")
    assert t.process.wait(60) == 0
    # It is on already: nothing is asked.
    assert sandgate(*words(box)).ok
    other = sandgate.box("--net", "deny")
    assert sandgate(*words(other), "--yes").ok


def test_web_is_any_website_and_nothing_inside(world, sandgate):
    world.site("api.example.net")
    address = world.address()
    echo_tcp(world, address, 7000)
    box = sandgate.box("--net", "deny", "--allow", "x.example.com")
    assert sandgate("net", "allow", box.name, "web", "--yes").ok
    assert box.curl("https://api.example.net/").ok
    got = box.python('report(a=try_dial(sys.argv[1], 7000)[0], b=try_dial("10.0.0.1", 80)[0])', address)
    assert got.json == {"a": "ECONNREFUSED", "b": "ECONNREFUSED"}
    assert sandgate("net", "deny", box.name, "web").ok
    assert not box.curl("https://api.example.net/").ok


@pytest.mark.parametrize("argv, status, says", [
    (["allow", "{box}", "gihub"], 2, "github"),
    (["allow", "{box}", "standart"], 2, "standard"),
    (["allow", "{box}"], 2, "argument"),
    (["allow", "no-such-box", "github"], 125, "no sandbox of that name"),
    (["allow", "{near}", "github"], 125, "did you mean \"{box}\""),
    (["alow", "{box}", "github"], 2, "did you mean \"sandgate net allow\""),
    (["explian"], 125, "did you mean \"sandgate net explain\""),
    (["deny", "{box}", "installl:python"], 2, "install:python"),
    (["policy", "{box}", "--remove", "api.example.org"], 2, "api.example.com"),
    (["policy", "{box}", "--preset", "lockd"], 2, "locked"),
    (["policy", "{box}", "--dry-run"], 2, "--allow"),
    (["policy", "{box}", "--allow", "github", "--deny", "github"], 2, "allowed and denied"),
    (["explain", "{box}", "http://"], 2, ""),
    (["explain", "no-such-box", "a.example.com"], 125, "no sandbox of that name"),
    (["learn", "no-such-box"], 125, "no sandbox of that name"),
    (["{near}"], 125, "did you mean \"{box}\""),
])
def test_words_that_are_not_right(sandgate, argv, status, says):
    box = sandgate.box("--net", "deny", "--allow", "api.example.com")
    names = {"box": box.name, "near": box.name + "x"}
    done = sandgate("net", *[word.format(**names) for word in argv])
    assert done.status == status and done.out == "" and says.format(**names) in done.err, done
    assert done.err.startswith("sandgate: ") and done.err.count("\n") == 1
    assert sandgate.json("egress", box.name)["generation"] == 1


# --- the policy in force, and explain ---

def test_the_policy_in_force(sandgate):
    box = sandgate.box("--net", "deny", "--allow", "github,api.example.com", "--deny", "gist.github.com")
    shown = sandgate.json("net", "policy", box.name)
    assert shown["policy"]["permissions"] == ["github"] and shown["policy"]["deny"] == ["gist.github.com"]
    assert shown["resolved"]["on"] == ["github"]
    assert "github.com" in shown["resolved"]["permissions"][0]["rules"]
    text = sandgate("net", "policy", box.name).out
    assert text.startswith(f"{box.name}: generation 1\nnetwork: deny\npermissions:\n  - github\n")
    assert re.search(r"^which stands for\n  github: .*\bgithub\.com\b", text, re.M)
    tried = sandgate("net", "policy", box.name, "--dry-run", "--preset", "locked", "--remove", "api.example.com")
    assert tried.ok and "nothing was done" in tried.out
    assert sandgate.json("net", "policy", box.name) == shown


def test_a_preset_keeps_what_uses_a_credential(sandgate):
    box = sandgate.box("--net", "deny", "--allow", "github:as-you,gitlab,api.example.com", "--yes")
    assert sandgate("net", "policy", box.name, "--preset", "locked").ok
    shown = sandgate.json("net", "policy", box.name)["policy"]
    assert (shown["network"], shown["permissions"], shown["allow"]) == (
        "locked", ["github:as-you"], ["api.example.com"])


def test_explain_judges_by_the_policy_in_force(sandgate):
    box = sandgate.box("--net", "deny")
    before = sandgate.json("net", "explain", box.name, "https://pypi.org/")
    assert (before["verdict"], before["generation"]) == ("deny", 1)
    assert before["remedy"] == f"sandgate net allow {box.name} install:python"
    assert sandgate(*shlex.split(before["remedy"])[1:]).ok
    after = sandgate.json("net", "explain", box.name, "https://pypi.org/")
    assert (after["verdict"], after["step"], after["generation"]) == ("allow", 5, 2)
    assert "generation 2" in sandgate("net", "explain", box.name, "https://pypi.org/").out


# --- learn ---

def test_learn_shows_the_smallest_policy_as_a_diff(world, sandgate):
    world.site("pypi.org", "files.pythonhosted.org", "api.example.net", "used.example.com")
    box = sandgate.box("--net", "deny", "--allow", "*.example.com,10.0.0.0/8,unused.example.org")
    try_all(box)
    assert box.curl("https://used.example.com/").ok
    box.python('try_dial("192.168.1.1", 22); try_dial("169.254.169.254", 80)')
    model = sandgate.json("net", "learn", box.name)
    assert model["policy"] == {"version": 1, "network": "deny", "permissions": ["install:python"],
                               "allow": ["api.example.net", "used.example.com:443"]}
    assert {row["address"] for row in model["left_out"]} == {"192.168.1.1", "169.254.169.254"}
    assert all("private, loopback" in row["why"] for row in model["left_out"])
    text = sandgate("net", "learn", box.name).out
    assert text.startswith(f"--- {box.name}, generation 1\n+++ what was seen\n@@ ")
    for line in "+permissions:", "+  - install:python", "+  - api.example.net", '-  - "*.example.com"', \
            "-  - unused.example.org":
        assert f"\n{line}\n" in text, text
    assert "192.168.1.1:22, 1 time: " in text
    # Nothing was changed by looking.
    assert sandgate.json("egress", box.name)["generation"] == 1


def test_what_was_learned_runs(world, sandgate):
    """The file is a policy: what was tried goes through under it, and nothing else."""
    world.site("pypi.org", "files.pythonhosted.org", "api.example.net", "other.example.net")
    box = sandgate.box("--net", "deny")
    try_all(box)
    for name in "learned.yaml", "learned.json":
        path = f"/home/dev/{name}"
        assert sandgate("net", "learn", box.name, "--write", path).ok
        again = sandgate("net", "learn", box.name, "--write", path)
        assert again.status == 2 and "--force" in again.err, again
        assert sandgate("net", "learn", box.name, "--write", path, "--force").ok
        assert sandgate("policy", "check", path).ok
        done = sandgate.run("--policy", path, command=" && ".join(f"curl -sS -m9 {url}" for url in TRIED))
        assert done.ok, done
        assert not sandgate.run("--policy", path, command="curl -sS -m9 https://other.example.net/").ok


def test_learn_does_not_follow_a_link(world, sandgate):
    box = sandgate.box("--net", "deny")
    world.machine.run(["ln", "-sf", "/home/dev/.bashrc", "/home/dev/link.yaml"])
    done = sandgate("net", "learn", box.name, "--write", "/home/dev/link.yaml", "--force")
    assert done.status == 2
    assert "start-up file" in world.machine.run(["cat", "/home/dev/.bashrc"]).stdout


def test_learn_never_proposes_a_wildcard(world, sandgate):
    names = [f"n{i}.cdn.example.net" for i in range(6)] + [f"u{i}.github.io" for i in range(6)]
    box = sandgate.box("--net", "deny")
    for name in names:
        box.run(["getent", "hosts", name])
    model = sandgate.json("net", "learn", box.name)
    assert sorted(model["policy"]["allow"]) == sorted(names)
    assert model["hints"] == [{"domain": "example.net", "names": 6}]


def test_learn_of_one_that_is_stopped(world, sandgate, kept):
    """What its last runs were refused is still there to be allowed."""
    world.site("api.example.net")
    one = kept("--net", "deny")
    one.start()
    one.exec("curl -sS -m9 https://api.example.net/")
    one.stop()
    assert sandgate.json("net", "learn", one.name)["policy"]["allow"] == ["api.example.net"]
    rows = sandgate.json("net", one.name)["refused"]
    assert [row["remedy"] for row in rows] == [f"sandgate net allow {one.name} site:api.example.net"]


def test_json_is_json_for_each(sandgate):
    box = sandgate.box("--net", "deny")
    for argv in (["net", box.name], ["net", "policy", box.name], ["net", "learn", box.name],
                 ["net", "allow", box.name, "github"], ["net", "deny", box.name, "github"]):
        done = sandgate(*argv, "--json")
        assert done.ok and isinstance(json.loads(done.out), dict), done
