# SPDX-License-Identifier: Apache-2.0
"""Settings, the catalogue's overrides, agents, and what is asked before more is switched on."""

import json

import pytest

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
FOLDER = {"dev": "/home/dev/.config/sandgate", "root": "/etc/sandgate"}


@pytest.fixture(autouse=True)
def no_settings_left(world):
    yield
    world.machine.run("rm -rf /etc/sandgate /home/dev/.config/sandgate", person="root")


# What the permissions for these hosts let through; of others anything.
READ = {"github.com": "/o/r/releases", "gitlab.com": "/o/r/-/raw/main/x", "api.anthropic.com": "/v1/models"}


def fetch(name):
    return f"curl -sS -m5 https://{name}{READ.get(name, '/')} || echo refused"


def write_config(machine, text, person="dev"):
    machine.run(f"mkdir -p {FOLDER[person]}", person=person)
    machine.write(f"{FOLDER[person]}/config.yaml", text, person)


# The command.

@BOTH
def test_a_setting_is_set_shown_and_taken_back(world, sandgate, person):
    path = f"{FOLDER[person]}/config.yaml"
    assert sandgate("config", "get", "defaults.network").out == "standard\n"
    assert sandgate("config", "set", "defaults.network", "locked").ok
    assert sandgate("config", "set", "defaults.permissions", "gitlab,-error-reports").ok
    assert sandgate("config", "get", "defaults.permissions").out == "gitlab,-error-reports\n"
    said = {row["key"]: (row["value"], row["from"]) for row in sandgate.json("config", "list")}
    own = "own" if person == "dev" else "system"
    assert said["defaults.network"] == ("locked", own)
    assert said["defaults.permissions"] == (["gitlab", "-error-reports"], own)
    assert said["audit.keep_segments"] == (0, "default")
    text = world.machine.read(path)
    world.machine.write(path, "# mine\n" + text, person)
    assert sandgate("config", "unset", "defaults.network").ok
    assert world.machine.read(path).startswith("# mine\n")
    assert sandgate("config", "get", "defaults.network").out == "standard\n"


@pytest.mark.parametrize("argv, says", [
    (["defaults.networks", "deny"], "did you mean `defaults.network`?"),
    (["defaults.network", "opne"], "did you mean `open`?"),
    (["defaults.permissions", "instal:rust"], "did you mean `install:rust`?"),
    (["defaults.permissions", "web,a b"], "`a b` is no permission"),
    (["audit.keep_segments", "--", "-1"], "not a number from 0"),
    (["defaults.permissions", "-error-reports"], "stands after \"--\""),
    (["audit.anchor", "ftp:x"], "an anchor is"),
    (["resolver", "example.com"], "no address of a resolver"),
    (["upstream_proxy", "http://me:word@p:3128"], "a password does not belong"),
    (["upstream_proxy", "https://p:3128"], "scheme http"),
    (["no_proxy", "a..b"], "write a host"),
    (["pcap.max_mb", "0"], "from 1"),
    (["pcap.keys", "perhaps"], "true"),
])
def test_what_could_not_be_used_is_not_set(world, sandgate, argv, says):
    done = sandgate("config", "set", *argv)
    assert done.status == 2 and says in done.err, done
    assert not world.machine.exists(FOLDER["dev"])


def test_a_broken_file_stops_with_its_place(world, sandgate):
    write_config(world.machine, "defaults:\n  netwrk: deny\n")
    for argv in (["run", "--net", "none", "--", "echo", "started"], ["config", "list"],
                 ["config", "set", "defaults.network", "deny"]):
        done = sandgate(*argv)
        assert done.status == 125 and done.out == "", done
        assert f"{FOLDER['dev']}/config.yaml:2:3: unknown key `netwrk`; did you mean `network`?" in done.err


def test_a_file_that_others_may_write_is_not_used(world, sandgate):
    machine = world.machine
    write_config(machine, "defaults: {network: any}\n")
    for spoil, says in ((f"chmod 666 {FOLDER['dev']}/config.yaml", "everyone may write it"),
                        (f"chmod 644 {FOLDER['dev']}/config.yaml; chmod 777 {FOLDER['dev']}", "everyone"),
                        (f"chmod 700 {FOLDER['dev']}; chown 1234 {FOLDER['dev']}/config.yaml", "not yours"),
                        (f"rm {FOLDER['dev']}/config.yaml; ln -s /etc/hosts {FOLDER['dev']}/config.yaml",
                         "it is a link")):
        machine.run(spoil, person="root").check_returncode()
        done = sandgate.run("--net", "none", command="echo started")
        assert done.status == 125 and done.out == "" and says in done.err, (spoil, done)


def test_a_change_is_in_the_host_s_own_log(world, sandgate):
    assert sandgate("config", "set", "audit.keep_segments", "12").ok
    found = world.machine.run("cat .local/state/sandgate/host/*.jsonl", person="dev").stdout
    entries = [json.loads(line) for line in found.splitlines() if "sandgate.setting.change" in line]
    said = {key: entries[-1][key] for key in ("name", "before", "after", "who")}
    assert said == {"name": "audit.keep_segments", "before": "0", "after": "12", "who": "dev (uid 1000)"}
    same = len(entries)
    assert sandgate("config", "set", "audit.keep_segments", "12").ok     # nothing changed
    found = world.machine.run("cat .local/state/sandgate/host/*.jsonl", person="dev").stdout
    assert found.count("sandgate.setting.change") == same


# What they do.

def test_without_options_the_base_is_the_everyday_set(world, sandgate):
    for name in ("github.com", "other.example.com"):
        world.site(name)
    done = sandgate.run(command=f"{fetch('github.com')}; {fetch('other.example.com')}")
    assert done.out == "hello from github.com\nrefused\n", done
    denied = sandgate.run("--deny", "github", command=fetch("github.com"))
    assert denied.out == "refused\n"
    added = sandgate.run("--allow", "other.example.com", command=f"{fetch('github.com')}; "
                         f"{fetch('other.example.com')}")
    assert added.out == "hello from github.com\nhello from other.example.com\n"
    only = sandgate.run("--only", "other.example.com", command=fetch("github.com"))
    assert only.out == "refused\n"


def test_the_settings_base_and_permissions_hold(world, sandgate):
    for name in ("github.com", "gitlab.com"):
        world.site(name)
    both = f"{fetch('github.com')}; {fetch('gitlab.com')}"
    write_config(world.machine, "defaults:\n  permissions: [gitlab, -github]\n")
    assert sandgate.run(command=both).out == "refused\nhello from gitlab.com\n"
    write_config(world.machine, "defaults:\n  network: deny\n  permissions: [gitlab]\n")
    assert sandgate.run(command=both).out == "refused\nhello from gitlab.com\n"
    # They go with the default base, and not with one that is said.
    assert sandgate.run("--net", "deny", command=both).out == "refused\nrefused\n"
    assert sandgate.run("--net", "standard", command=both).out == "hello from github.com\nrefused\n"


def test_the_persons_settings_go_before_the_systems(world, sandgate):
    world.site("github.com")
    write_config(world.machine, "defaults: {network: deny}\n", "root")
    assert sandgate.run(command=fetch("github.com")).out == "refused\n"
    write_config(world.machine, "defaults: {network: standard}\n", "dev")
    assert sandgate.run(command=fetch("github.com")).out == "hello from github.com\n"


def test_what_a_program_asked_for_is_closed_and_never_asks(world, sandgate):
    world.site("github.com")
    assert sandgate.run("--unattended", command=fetch("github.com")).out == "refused\n"
    listed = sandgate.run("--unattended", "--allow", "github", command=fetch("github.com"))
    assert listed.out == "hello from github.com\n"
    for options in (["--net", "open"], ["--allow", "web"], ["--allow", "github:as-you"]):
        done = sandgate.run("--unattended", *options, command="echo started")
        assert done.status == 2 and done.out == "" and "--unattended asks nobody" in done.err, done
    both = sandgate.run("--unattended", "--yes", command="echo started")
    assert both.status == 2 and "--unattended and --yes" in both.err
    write_config(world.machine, "defaults: {agent_network: standard}\n")
    assert sandgate.run("--unattended", command=fetch("github.com")).out == "hello from github.com\n"


def test_a_resolver_of_the_settings_goes_before_the_hosts(world, sandgate):
    world.site("api.example.com")
    machine = world.machine
    usual = [line.split()[1] for line in machine.read("/etc/resolv.conf").splitlines()
             if line.startswith("nameserver")]
    machine.use_resolver("192.0.2.99")
    assert sandgate.run("--only", "api.example.com", command=fetch("api.example.com")).out == "refused\n"
    write_config(machine, f"resolver: [{', '.join(usual)}]\n")
    done = sandgate.run("--only", "api.example.com", command=fetch("api.example.com"))
    assert done.out == "hello from api.example.com\n", done


# What is asked about first.

@pytest.mark.parametrize("options", [["--net", "open"], ["--allow", "open"], ["--allow", "web"],
                                     ["--only", "web"], ["--allow", "github:as-you"]])
def test_what_opens_everything_is_asked_about(world, sandgate, terminal, options):
    world.site("any.example.com")
    done = sandgate.run(*options, command="echo started")
    assert done.status == 2 and done.out == "" and "--yes" in done.err, done
    t = terminal("run", *options, "--", "echo", "started")
    t.expect(r"continue\? \[y/N\]")
    t.type("n\n")
    t.expect("declined")
    assert t.process.wait(60) == 2


@pytest.mark.parametrize("options", [["--net", "open"], ["--allow", "web"]])
def test_what_was_accepted_is_open(world, sandgate, terminal, options):
    world.site("any.example.com")
    done = sandgate.run(*options, "--yes", command=fetch("any.example.com"))
    assert done.out == "hello from any.example.com\n", done
    t = terminal("run", *options, "--", "sh", "-c", fetch("any.example.com"))
    t.expect("the agent could send your code anywhere")
    t.expect(r"continue\? \[y/N\]")
    t.type("yes\n")
    t.expect("hello from any.example.com")
    assert t.process.wait(60) == 0


# Agents.

def test_the_agent_is_told_by_the_command_s_name(world, sandgate):
    world.site("api.anthropic.com")
    machine = world.machine
    work = machine.new_work()
    machine.run(f"printf '#!/bin/sh\\n{fetch('api.anthropic.com')}\\n' > claude; cp claude other; "
                "chmod +x claude other", cwd=work)
    for argv, said in ((["./claude"], "hello from api.anthropic.com\n"), (["./other"], "refused\n")):
        assert sandgate.run(command=argv, cwd=work).out == said, argv
    named = sandgate.run("--agent", "claude", command=["./other"], cwd=work)
    assert named.out == "hello from api.anthropic.com\n", named
    locked = sandgate.run("--net", "locked", command=["./claude"], cwd=work)
    assert locked.out == "hello from api.anthropic.com\n", locked
    other = sandgate.run("--agent", "codex", command=["./claude"], cwd=work)
    assert other.out == "refused\n", other
    wrong = sandgate.run("--agent", "cloude", command=["./claude"], cwd=work)
    assert wrong.status == 2 and "did you mean claude?" in wrong.err


# The catalogue's overrides.

MINE = """permissions:
  corp:
    says: reach the company's tools
    attempt: reach the company's tools
    hosts:
      corp.example.com: [wiki, "@"]
"""


@pytest.mark.parametrize("who", ["root", "dev"])
def test_a_permission_of_ones_own(world, sandgate, who):
    machine = world.machine
    world.site("wiki.corp.example.com")
    machine.run(f"mkdir -p {FOLDER[who]}/catalogue", person=who)
    machine.write(f"{FOLDER[who]}/catalogue/corp.yaml", MINE, who)
    done = sandgate.run("--allow", "corp", command=fetch("wiki.corp.example.com"))
    assert done.out == "hello from wiki.corp.example.com\n", done
    machine.write(f"{FOLDER[who]}/catalogue/corp.yaml", MINE.replace("wiki", "'w ki'"), who)
    broken = sandgate.run("--net", "none", command="echo started")
    assert broken.status == 125 and broken.out == "", broken
    assert f"{FOLDER[who]}/catalogue/corp.yaml:6:" in broken.err, broken


def test_overrides_that_others_may_write_stop_everything(world, sandgate):
    machine = world.machine
    machine.run(f"mkdir -p {FOLDER['dev']}/catalogue")
    machine.write(f"{FOLDER['dev']}/catalogue/corp.yaml", MINE, "dev", 0o666)
    done = sandgate.run("--net", "none", command="echo started")
    assert done.status == 125 and "everyone may write it" in done.err, done
