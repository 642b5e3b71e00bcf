# SPDX-License-Identifier: Apache-2.0
"""The project's file and languages: an agent that may write the project cannot widen its own policy."""

import pytest

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
FETCH = "curl -sS -m5 https://api.example.com/"


@pytest.fixture
def site(world):
    return world.site("api.example.com")


def project(machine, text="network: deny\nallow: [api.example.com]\n", person="dev"):
    """A working directory with a sandgate.yaml."""
    work = machine.new_work(person)
    machine.write(f"{work}/sandgate.yaml", text, person)
    return work


def confirmed(sandgate, text="network: deny\nallow: [api.example.com]\n"):
    """One that the person has said yes to."""
    work = project(sandgate.world.machine, text, sandgate.person)
    assert sandgate.run("--yes", cwd=work, command="true").ok
    return work


def assert_asks(done, *says):
    """Nothing was started: there was nobody to ask."""
    assert done.status == 2 and done.out == "", done
    for text in ("sandgate.yaml", "--yes", "--no-project", *says):
        assert text in done.err, done


# The file.

@BOTH
def test_a_project_s_file_counts_when_it_was_confirmed(world, sandgate, site, person):
    work = project(world.machine, person=person)
    world.start_watching()
    assert_asks(sandgate.run(cwd=work, command=f"echo started; {FETCH}"), "is new here",
                "allow:", "api.example.com", "network: deny")
    assert world.left_the_host(dns=True) == []
    shown = sandgate.run("--yes", cwd=work, command=FETCH)
    assert shown.out == "hello from api.example.com\n" and "asks for:" in shown.err
    again = sandgate.run(cwd=work, command=FETCH)
    assert again.out == "hello from api.example.com\n" and "asks for" not in again.err, again
    assert again.first_line == "sandgate: network limited to api.example.com"


def test_each_change_is_confirmed_again(world, sandgate, site):
    work = confirmed(sandgate, "network: deny\n")
    for text in ("network: deny\nallow: [api.example.com]\n", "network: deny\n# a remark\n",
                 "network: deny \n"):
        world.machine.write(f"{work}/sandgate.yaml", text, "dev")
        assert_asks(sandgate.run(cwd=work, command="echo started"), "has changed")
    world.machine.write(f"{work}/sandgate.yaml", "network: deny\n", "dev")
    assert sandgate.run(cwd=work, command="true").ok   # the very octets that were confirmed


def test_it_is_found_from_below_and_the_nearest_counts(world, sandgate, site):
    work = confirmed(sandgate)
    world.machine.run(f"mkdir -p {work}/src/deep")
    assert sandgate.run(cwd=f"{work}/src/deep", command=FETCH).ok
    world.machine.write(f"{work}/src/sandgate.yaml", "network: deny\n", "dev")
    assert_asks(sandgate.run(cwd=f"{work}/src/deep", command="true"), f"{work}/src/sandgate.yaml")


def test_what_is_said_by_itself_goes_without_it(world, sandgate, site):
    work = project(world.machine)
    world.machine.write(f"{work}/other.yaml", "network: deny\n", "dev")
    for options in (["--no-project", "--net", "deny"], ["--only", "db.example.com"],
                    ["--yes", "--policy", f"{work}/other.yaml"], ["--unattended"]):
        done = sandgate.run(*options, cwd=work, command=f"{FETCH} || echo refused")
        assert done.out == "refused\n", (options, done)
    assert site.connections == []


def test_the_options_change_what_the_file_says(world, sandgate, site):
    work = confirmed(sandgate)
    world.site("other.example.com")
    done = sandgate.run("--allow", "other.example.com", cwd=work,
                        command=f"{FETCH}; curl -sS https://other.example.com/")
    assert done.out == "hello from api.example.com\nhello from other.example.com\n"
    denied = sandgate.run("--deny", "api.example.com", cwd=work, command=f"{FETCH} || echo refused")
    assert denied.out == "refused\n"


@pytest.mark.parametrize("person", ["root"])
def test_a_file_of_somebody_else_is_not_used(world, sandgate, site, person):
    machine = world.machine
    work = project(machine, person="root")
    for spoil, says in (("chown 1000 sandgate.yaml", "not yours"),
                        ("chown 0 sandgate.yaml; chmod 666 sandgate.yaml", "everyone may write it"),
                        ("rm sandgate.yaml; ln -s /etc/passwd sandgate.yaml", "it is a link"),
                        ("rm sandgate.yaml; mkfifo sandgate.yaml", "no regular file")):
        machine.run(spoil, person="root", cwd=work).check_returncode()
        done = sandgate.run("--yes", cwd=work, command="echo started")
        assert done.status == 2 and done.out == "" and says in done.err, (spoil, done)


def test_one_that_cannot_be_read_as_a_policy_has_its_place(world, sandgate):
    work = project(world.machine, "network: deny\nalow: [a.example.com]\n")
    done = sandgate.run("--yes", cwd=work, command="echo started")
    assert done.status == 2 and "sandgate.yaml:2:1: unknown key `alow`" in done.err, done


def test_what_it_would_run_and_keep_closed_is_shown_first(world, sandgate, site):
    """A credential may name a program of the person's, and `splice` lets requests by unseen."""
    world.machine.write("/home/dev/source", "#!/bin/sh\ntouch /home/dev/was-run\necho secret-0123456789\n", "dev",
                        0o755)
    world.on_reset(lambda: world.machine.run("rm -f /home/dev/was-run /home/dev/source"))
    work = project(world.machine, "network: deny\nallow: [api.example.com]\nsplice: [github.com]\ninspect: all\n"
                   "credentials:\n  - {host: api.example.com, header: X-Key, value: '${secret}', "
                   "from: 'command:/home/dev/source'}\n")
    assert_asks(sandgate.run(cwd=work, command=FETCH), "inspect: all", "splice:", "- github.com", "credentials:",
                '"from": "command:/home/dev/source"')
    assert not world.machine.exists("/home/dev/was-run")
    assert sandgate.run("--yes", cwd=work, command=FETCH).ok
    assert world.machine.exists("/home/dev/was-run") and site.requests[-1].header("x-key") == "secret-0123456789"


def test_what_is_shown_is_plain_text_and_all_of_it(world, sandgate):
    """A name of a folder, or a note, could move the cursor over what is asked for."""
    machine = world.machine
    work = f"{machine.new_work()}/\x1b[2Jgone\u009b"
    machine.run(["mkdir", work])
    allowed = "".join(f"  - h{i}.example.com\n" for i in range(250))
    machine.write(f"{work}/sandgate.yaml", "network: deny\nallow:\n  - host: a.example.com\n"
                  f"    note: \"\\e[1A\\u202e hidden \\x9b\"\n{allowed}", "dev")
    done = sandgate.run(cwd=work, command="true")
    assert done.status == 2 and "a.example.com" in done.err and "h100.example.com" in done.err, done
    assert all(c == "\n" or " " <= c <= "~" for c in done.err), ascii(done.err)
    assert "lines more: read the file" in done.err


def test_the_person_is_asked_on_a_terminal(world, sandgate, terminal, site):
    work = project(world.machine)
    argv = ["--", "sh", "-c", "cat; " + FETCH]
    for answer in ("n\n", "\n", "maybe\n"):
        t = terminal("run", *argv, cwd=work)
        t.expect("asks for:")
        t.expect(r"allow:[^$]*api\.example\.com")
        t.expect(r"continue\? \[y/N\]")
        t.type(answer)
        t.expect("declined")
        assert t.process.wait(60) == 2
    t = terminal("run", *argv, cwd=work)
    t.expect(r"continue\? \[y/N\]")
    t.type("y\nwhat follows is the command's\n")
    t.expect("what follows is the command's")
    t.type("\x04")
    t.expect("hello from api.example.com")
    assert t.process.wait(60) == 0
    assert sandgate.run(cwd=work, command=FETCH).ok


def test_a_sandbox_that_is_kept_takes_it_up_once(world, sandgate, site):
    """It is asked about when it is made, and what was said then is kept."""
    work = project(world.machine)
    name = sandgate.new_name()
    for argv in (["create", name], ["run", "--name", name, "--", "echo", "started"]):
        assert_asks(sandgate(*argv, cwd=work))
        assert name not in sandgate("ls").out
    assert sandgate("create", "--yes", name, cwd=work).ok
    try:
        world.machine.write(f"{work}/sandgate.yaml", "network: any\n", "dev")
        done = sandgate("run", "--name", name, "--", "sh", "-c", FETCH, cwd=work)
        assert done.out == "hello from api.example.com\n", done
        other = sandgate("run", "--name", name, "--", "sh", "-c",
                         "curl -sS -m5 https://other.example.com/ || echo refused", cwd=work)
        assert other.out == "refused\n", other
    finally:
        assert sandgate("rm", name).ok


# The agent's tries. The next run must not have more than the person confirmed.

WIDE = "network: any\n"


def next_run(sandgate, work):
    """What the person starts afterwards, as ever."""
    return sandgate.run(cwd=work, command=f"{FETCH} || echo refused")


@BOTH
def test_the_agent_cannot_edit_the_file(world, sandgate, site, person):
    work = confirmed(sandgate, "network: deny\n")
    tries = "\n".join([
        "echo 'network: any' > sandgate.yaml",
        "echo 'network: any' >> sandgate.yaml",
        "rm -f sandgate.yaml; mv sandgate.yaml x; ln -f sandgate.yaml y",
        "echo 'network: any' > new; mv -f new sandgate.yaml; cp new sandgate.yaml",
        "sed -i s/deny/any/ sandgate.yaml; chmod 666 sandgate.yaml; chattr -i sandgate.yaml",
        "umount sandgate.yaml; mount --bind new sandgate.yaml", "true"])
    assert sandgate.run(cwd=work, command=f"({tries}) 2>/dev/null").ok
    assert world.machine.read(f"{work}/sandgate.yaml") == "network: deny\n"
    assert next_run(sandgate, work).out == "refused\n"
    assert site.connections == []


def test_a_file_that_the_agent_makes_counts_for_nothing(world, sandgate, site):
    work = world.machine.new_work()
    done = sandgate.run("--net", "deny", cwd=work, command="echo 'network: any' > sandgate.yaml")
    assert done.ok and "sandgate.yaml" in done.err, done       # it is told at the end
    assert_asks(next_run(sandgate, work))
    assert site.connections == []


def test_nor_does_one_in_a_folder_above_that_it_may_write(world, sandgate, site):
    machine = world.machine
    above = machine.new_work()
    work = f"{above}/project"
    machine.run(f"mkdir {work}")
    sandgate.run("--net", "deny", "--rw", above, cwd=work,
                 command=f"echo 'network: any' > {above}/sandgate.yaml").ok
    assert machine.exists(f"{above}/sandgate.yaml")
    assert_asks(next_run(sandgate, work), f"{above}/sandgate.yaml")
    assert site.connections == []


def test_nor_does_a_folder_that_it_renames(world, sandgate, site):
    """Another project's file was confirmed, and is wide: its folder moves to where the person works next."""
    machine = world.machine
    above = machine.new_work()
    wide, narrow = f"{above}/wide", f"{above}/narrow"
    for folder, text in ((wide, WIDE), (narrow, "network: deny\n")):
        machine.run(f"mkdir {folder}")
        machine.write(f"{folder}/sandgate.yaml", text, "dev")
        assert sandgate.run("--yes", cwd=folder, command="true").ok
    sandgate.run("--net", "deny", "--no-project", cwd=above,
                 command="mv narrow away; mv wide narrow; cp -r away wide")
    assert machine.read(f"{narrow}/sandgate.yaml") == WIDE
    assert_asks(next_run(sandgate, narrow), "has changed")
    assert site.connections == []


def test_nor_does_a_link(world, sandgate, site):
    machine = world.machine
    wide, work = confirmed(sandgate, WIDE), machine.new_work()
    sandgate.run("--net", "deny", cwd=work, command=f"ln -s {wide}/sandgate.yaml sandgate.yaml")
    done = next_run(sandgate, work)
    assert done.status == 2 and "it is a link" in done.err, done
    # The folder itself is one: its real place counts.
    sandgate.run("--net", "deny", cwd=work, command=f"rm sandgate.yaml; ln -s {wide} sub")
    machine.run(f"rm -f {work}/sandgate.yaml")
    done = sandgate.run(cwd=machine.new_work(), command="true")
    assert done.ok
    assert site.connections == []


@BOTH
def test_what_was_confirmed_is_out_of_the_agent_s_reach(world, sandgate, person):
    """Not seen, not written, not made, whatever is shared."""
    machine = world.machine
    confirmed(sandgate)
    state = {"dev": "/home/dev/.local/state", "root": "/var/lib"}[person]
    assert "api.example.com" not in machine.read(f"{state}/sandgate/trust.json")
    seen = sandgate.run("--net", "deny", command=f"cat {state}/sandgate/trust.json")
    assert not seen.ok and seen.out == ""
    shared = sandgate.run("--net", "deny", "--rw", f"{state}", command=(
        f"ls -A {state}/sandgate; echo '{{}}' > {state}/sandgate/trust.json; rm -rf {state}/sandgate; "
        f"mv {state}/sandgate {state}/x; true"))
    assert shared.out == "", shared
    assert "folders" in machine.read(f"{state}/sandgate/trust.json")
    named = sandgate.run("--net", "deny", "--rw", f"{state}/sandgate", command="true")
    assert named.status == 125 and "own files are not shared" in named.err, named


def test_settings_are_out_of_the_agent_s_reach(world, sandgate):
    machine = world.machine
    machine.run("rm -rf .config/sandgate")
    refused = sandgate.run("--net", "deny", "--rw", "/home/dev/.config", command="true")
    assert refused.status == 125 and "mkdir -p /home/dev/.config/sandgate" in refused.err, refused
    try:
        assert sandgate("config", "set", "defaults.network", "deny").ok
        done = sandgate.run("--rw", "/home/dev/.config", command=(
            "echo 'defaults: {network: any}' > ~/.config/sandgate/config.yaml;"
            "mv ~/.config/sandgate ~/.config/x; ls -A ~/.config/sandgate"))
        assert machine.read("/home/dev/.config/sandgate/config.yaml") == "defaults:\n  network: deny\n"
        assert "config.yaml" not in done.out.splitlines() or not done.ok
    finally:
        machine.run("rm -rf .config/sandgate .config/x")


def test_a_damaged_store_stops_and_says_so(world, sandgate):
    work = confirmed(sandgate)
    path = "/home/dev/.local/state/sandgate/trust.json"
    kept = world.machine.read(path)
    try:
        world.machine.write(path, kept[:-3], "dev", 0o600)
        done = sandgate.run(cwd=work, command="echo started")
        assert done.status == 125 and path in done.err and done.out == "", done
        world.machine.write(path, kept, "dev", 0o666)
        done = sandgate.run(cwd=work, command="echo started")
        assert done.status == 125 and "everyone may write it" in done.err, done
    finally:
        world.machine.write(path, kept, "dev", 0o600)
    assert sandgate.run(cwd=work, command="true").ok


def test_many_at_once_lose_nothing(world, sandgate):
    """The store is locked while it is changed."""
    works = [project(world.machine) for _ in range(8)]
    begun = [world.machine.popen([sandgate.path, "run", "--yes", "--quiet", "--", "true"], cwd=work)
             for work in works]
    assert [process.wait(60) for process in begun] == [0] * 8
    for work in works:
        assert sandgate.run(cwd=work, command="true").ok


# Languages.

CRATES = "curl -sS -m5 https://static.crates.io/"
GO = "curl -sS -m5 https://proxy.golang.org/"


@pytest.fixture
def registries(world):
    return world.site("static.crates.io"), world.site("proxy.golang.org")


def test_the_languages_of_a_project_are_on_from_the_first_time(world, sandgate, registries):
    work = world.machine.new_work()
    world.machine.write(f"{work}/Cargo.toml", "", "dev")
    done = sandgate.run(cwd=work, command=f"{CRATES}; {GO} || echo refused")
    assert done.out == "hello from static.crates.io\nrefused\n", done
    assert "asks for" not in done.err and "--yes" not in done.err
    assert sandgate.run(cwd=work, command=CRATES).ok


def test_a_language_that_comes_later_does_not_count_by_itself(world, sandgate, registries):
    work = world.machine.new_work()
    assert sandgate.run(cwd=work, command="touch go.mod").ok
    done = sandgate.run(cwd=work, command=f"{GO} || echo refused")
    assert done.out == "refused\n", done
    line = next(line for line in done.err.splitlines() if "install:go" in line)
    assert "--allow install:go" in line and "--yes" in line
    assert sandgate.run("--allow", "install:go", cwd=work, command=GO).ok
    assert sandgate.run(cwd=work, command=f"{GO} || echo refused").out == "refused\n"
    assert sandgate.run("--yes", cwd=work, command=GO).ok
    kept = sandgate.run(cwd=work, command=GO)
    assert kept.ok and "--yes" not in kept.err, kept


def test_nor_does_one_in_a_folder_below_or_beside_that_the_agent_could_write(world, sandgate, registries):
    machine = world.machine
    work, shared = machine.new_work(), machine.new_work()
    assert sandgate.run("--rw", shared, cwd=work,
                        command=f"mkdir sub; touch sub/go.mod {shared}/go.mod").ok
    for folder in (f"{work}/sub", shared):
        done = sandgate.run(cwd=folder, command=f"{GO} || echo refused")
        assert done.out == "refused\n" and "--allow install:go" in done.err, (folder, done)


def test_nor_in_one_that_a_sandbox_had_whose_own_folder_was_not_shared(world, sandgate, registries):
    """From the home, which is never shared, with the project handed in."""
    work = world.machine.new_work()
    assert sandgate.run("--rw", work, cwd="/home/dev", command=f"touch {work}/go.mod").ok
    done = sandgate.run(cwd=work, command=f"{GO} || echo refused")
    assert done.out == "refused\n" and "--allow install:go" in done.err, done


def test_nor_one_that_a_program_met_first(world, sandgate, registries):
    work = world.machine.new_work()
    world.machine.write(f"{work}/go.mod", "", "dev")
    for options in (["--unattended", "--net", "standard"], []):
        done = sandgate.run(*options, cwd=work, command=f"{GO} || echo refused")
        assert done.out == "refused\n", (options, done)


def test_links_and_fifos_are_no_languages(world, sandgate, registries):
    work = world.machine.new_work()
    world.machine.run("ln -s /etc/hosts Cargo.toml; mkfifo go.mod; mkdir package.json", cwd=work)
    done = sandgate.run(cwd=work, command=f"{CRATES} || echo refused; {GO} || echo refused", timeout=20)
    assert done.out == "refused\nrefused\n", done


def test_a_home_is_no_project(world, sandgate, registries):
    """It is not shared, so nothing in it is the agent's, and nothing of it is taken up."""
    machine = world.machine
    machine.write("/home/dev/go.mod", "", "dev")
    try:
        done = sandgate.run(cwd="/home/dev", command=f"{GO} || echo refused")
        assert done.out == "refused\n"
        fresh = machine.new_work()
        machine.write(f"{fresh}/go.mod", "", "dev")
        assert sandgate.run(cwd=fresh, command=GO).ok
    finally:
        machine.run("rm -f go.mod")


def test_where_nothing_can_be_kept_nothing_is_taken_up(world, sandgate, registries):
    """No language counts by itself then, and no file can be confirmed."""
    machine = world.machine
    work = machine.new_work()
    machine.write(f"{work}/go.mod", "", "dev")
    nowhere = machine.environment("dev", XDG_STATE_HOME="/proc/nowhere")
    done = sandgate.run(cwd=work, command=f"{GO} || echo refused", env=nowhere)
    assert "hello" not in done.out and "/proc/nowhere" in done.err, done
    machine.write(f"{work}/sandgate.yaml", "network: any\n", "dev")
    done = sandgate.run("--yes", cwd=work, command="echo started", env=nowhere)
    assert done.status == 125 and done.out == "" and "cannot be kept: /proc/nowhere" in done.err, done
    # A service without HOME has the one of its user.
    no_home = machine.environment("dev")
    del no_home["HOME"]
    machine.run(f"rm {work}/sandgate.yaml")
    assert sandgate.run(cwd=work, command=GO, env=no_home).ok
