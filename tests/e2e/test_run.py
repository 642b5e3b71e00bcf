# SPDX-License-Identifier: Apache-2.0
"""`sandgate run`: a command in a sandbox whose only way out is the gate."""

import os
import shlex
import signal
import subprocess
import threading
import time

import pytest

from program import HERE, curl_refused, descendants, ns_of, read_proc, wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])


@BOTH
def test_what_is_listed_is_reached_and_nothing_else(world, sandgate, person):
    site = world.site("api.example.com", v6=True)
    other = world.site("other.example.com", v6=True)
    box = sandgate.box("--allow", "api.example.com")
    assert box.curl("https://api.example.com/").out == "hello from api.example.com\n"
    assert box.curl("http://api.example.com/").out == "hello from api.example.com\n"
    assert len(site.requests) == 2
    world.start_watching()
    assert box.curl("https://other.example.com/").status == 6        # no such name for you
    for address in other.addresses:
        url = f"https://[{address}]/" if ":" in address else f"https://{address}/"
        refused = box.curl(url, "-k")
        assert curl_refused(refused), refused
    assert world.left_the_host(dns=True) == []
    assert other.connections == []


@BOTH
def test_the_exit_status_is_that_of_the_command(sandgate, person):
    for status in (0, 1, 7, 125, 255):
        assert sandgate.run("--net", "deny", command=f"exit {status}").status == status


def test_a_command_that_is_not_found_or_cannot_run(sandgate):
    missing = sandgate.run("--net", "deny", command=["/no/such/program"])
    assert missing.status == 127 and "/no/such/program" in missing.err
    missing = sandgate.run("--net", "deny", command=["no-such-program"])
    assert missing.status == 127
    cannot = sandgate.run("--net", "deny", command=["/etc/passwd"])
    assert cannot.status == 126 and "/etc/passwd" in cannot.err


def test_a_command_ended_by_a_signal_is_told_as_shells_do(sandgate):
    assert sandgate.run("--net", "deny", command="kill -TERM $$").status == 128 + signal.SIGTERM
    assert sandgate.run("--net", "deny", command="kill -KILL $$").status == 128 + signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(sandgate, number):
    """A service manager's TERM reaches the command, which may end in its own way."""
    machine, person = sandgate.world.machine, sandgate.person
    name = signal.Signals(number).name[3:]
    process = machine.popen(
        [sandgate.path, "run", "--net", "deny", "--", "sh", "-c",
         f"trap 'echo got {name}; exit 42' {name}; echo up; while :; do sleep 0.05; done"],
        person, cwd=machine.new_work(person), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True)
    with process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (42, f"got {name}\n"), err


def test_standard_input_and_output_pass_through(sandgate):
    done = sandgate.run("--net", "deny", "--quiet", command="cat; echo to-err >&2",
                        input="through\n" * 20000)
    assert done.out == "through\n" * 20000
    assert done.err == "to-err\n"


def test_the_first_line_says_the_network_in_words(sandgate):
    first = sandgate.run("--only", "api.example.com,10.20.0.0/16", command="true").first_line
    assert first == "sandgate: network limited to api.example.com, 10.20.0.0/16"
    assert sandgate.run("--net", "deny", command="true").first_line == "sandgate: network denied"
    first = sandgate.run("--net", "any", command="true").first_line
    assert first == "sandgate: network UNRESTRICTED, connections are logged"


def test_where_nothing_is_allowed_nothing_leaves(world, sandgate):
    site = world.site("api.example.com")
    world.start_watching()
    box = sandgate.box("--net", "deny")
    assert box.curl("https://api.example.com/").status == 6
    assert box.curl(f"http://{site.address}/").status == 7
    assert world.left_the_host(dns=True) == []


def test_the_summary_says_what_was_refused_and_what_would_allow_it(world, sandgate):
    """demands.md, names and rules 61: the denial prints the exact command. 54: no prompt."""
    world.site("blocked.example.com")
    done = sandgate.run("--only", "api.example.com",
                        command="curl -s https://blocked.example.com/; exit 3")
    assert done.status == 3
    assert "blocked.example.com" in done.err
    remedy = next(line for line in done.err.splitlines() if "to allow it:" in line)
    assert "blocked.example.com" in remedy


def test_the_remedy_works_when_it_is_run(world, sandgate):
    """The one-line remedy is exact: as it stands, it makes the same command succeed."""
    world.site("api.example.com")
    world.site("blocked.example.com")
    command = "curl -sS https://api.example.com/; curl -sS https://blocked.example.com/"
    for options in (["--net", "deny"], ["--only", "api.example.com"], ["--allow", "api.example.com"]):
        done = sandgate.run(*options, command=command)
        words = shlex.split(done.err.split("to allow it: ")[1].splitlines()[0])
        assert words[:2] == ["sandgate", "run"], words
        again = sandgate(*words[1:])
        assert again.out == "hello from api.example.com\nhello from blocked.example.com\n", again


def test_the_readme_shows_what_is_printed(world, sandgate):
    """Its sample, line by line."""
    world.site("pypi.org")
    with open(os.path.join(HERE, "../../README.md"), encoding="utf-8") as f:
        lines = [line[4:] for line in f.read().splitlines() if line.startswith("    ")]
    start = next(i for i, line in enumerate(lines) if line.startswith("$ sandgate run "))
    done = sandgate(*shlex.split(lines[start])[2:])
    said = done.err.splitlines()
    assert done.status == 6 and said == lines[start + 1:start + 1 + len(said)], done


@BOTH
def test_the_environment_is_the_command_s_and_not_the_engine_s(sandgate, person):
    """A library that the command is to load is no library of the engine, which runs outside."""
    done = sandgate.run("--env", "LD_PRELOAD=/no/such.so", command=["true"])
    before = done.err.split("sandgate: network")[0]
    assert done.ok and "LD_PRELOAD" not in before, done


def test_no_summary_when_nothing_was_refused(world, sandgate):
    world.site("api.example.com")
    done = sandgate.run("--only", "api.example.com", command="curl -sS https://api.example.com/")
    assert done.ok and len(done.err.splitlines()) == 1, done


def test_quiet_says_nothing(world, sandgate):
    world.site("api.example.com")
    done = sandgate.run("--only", "api.example.com", "--quiet",
                        command="curl -s https://api.example.com/")
    assert done.ok and done.err == ""


def test_env_is_given_and_the_persons_own_secrets_are_not(sandgate):
    env = sandgate.world.machine.environment(sandgate.person, EXAMPLE_TOKEN="t0ken",
                                             SSH_AUTH_SOCK="/run/user/1000/agent",
                                             DBUS_SESSION_BUS_ADDRESS="unix:path=/run/user/1000/bus")
    done = sandgate.run("--net", "deny", "--env", "COLOR=blue", "--env", "EMPTY=",
                        "--env", "EQ=a=b", command="env -0", env=env)
    inside = dict(v.split("=", 1) for v in done.out.split("\0") if v)
    assert inside["COLOR"] == "blue" and inside["EMPTY"] == "" and inside["EQ"] == "a=b"
    for name in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
        assert not inside.get(name, "").startswith("/run/user"), name
    assert os.path.isabs(inside["HOME"])


@BOTH
def test_as_root_is_uid_0_inside_and_nothing_more_outside(sandgate, person):
    """--as-root makes the person uid 0 inside; outside nothing changes."""
    box = sandgate.box("--net", "deny", "--as-root")
    assert box.run("id -u; id -g").out == "0\n0\n"
    assert box.run("touch made && chown 0:0 made && stat -c %u made").out == "0\n"
    uid = sandgate.world.machine.run(f"stat -c %u {box.cwd}/made", person="root").stdout.strip()
    assert uid == {"dev": "1000", "root": "0"}[person]


@BOTH
def test_without_as_root_the_person_is_the_person(sandgate, person):
    uid = {"dev": "1000", "root": "0"}[person]
    done = sandgate.run("--net", "deny", command="id -u; touch made; stat -c %u made")
    assert done.out == f"{uid}\n{uid}\n", done


@BOTH
def test_nothing_is_left_when_it_ends(sandgate, person):
    """No process, no runtime folder, no namespace, however the sandbox ends."""
    machine = sandgate.world.machine
    for ending in ("true", "kill -KILL $$", "setsid sleep 300 & setsid nohup sleep 300 & exit 0"):
        process = machine.popen(
            [sandgate.path, "run", "--net", "deny", "--", "sh", "-c", f"sleep 0.2; {ending}"],
            person, cwd=machine.new_work(person), stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, start_new_session=True)
        seen = set()
        while process.poll() is None:
            seen |= set(descendants(process.pid))
            time.sleep(0.02)
        wait_until(lambda: not [p for p in seen if alive(p)], 3, f"the end of all of {seen}")
        for folder in ("/run/user/1000/sandgate", "/run/sandgate", "/run/user/0/sandgate"):
            assert machine.listdir(folder) == []
        assert "tun" not in machine.run("ip -o link", person="root").stdout


def alive(pid):
    stat = read_proc(pid, "stat")
    return bool(stat) and stat.rpartition(")")[2].split()[0] != "Z"


def test_two_sandboxes_do_not_see_each_other(world, sandgate):
    """Every sandbox may use the same addresses; no listener of one is reached by another."""
    one, two = sandgate.box("--net", "any"), sandgate.box("--net", "any")
    assert ns_of(one.inner_pid, "net") != ns_of(two.inner_pid, "net")
    serving = one.start("exec python3 -m http.server 8123 --bind 0.0.0.0")
    wait_until(lambda: one.curl("http://127.0.0.1:8123/").ok, 5, "the server inside")
    for address in ("192.0.0.2", "192.0.0.1", "127.0.0.1"):
        assert not two.curl(f"http://{address}:8123/").ok, address
    serving.kill()


def test_the_same_name_twice_is_the_same_sandbox(sandgate):
    box = sandgate.box("--net", "deny")
    box.run("echo mine >/tmp/mark")
    again = sandgate("run", "--name", box.name, "--", "cat", "/tmp/mark")
    assert again.ok and again.out == "mine\n", again


@pytest.mark.parametrize("argv, says", [
    (["run", "--name", "Bad_Name", "--", "true"], "Bad_Name"),
    (["run", "--name", "ls", "--", "true"], "ls"),
    (["run", "--name", "a" * 64, "--", "true"], "63"),
    (["run", "--net", "opne", "--", "true"], "opne"),
    (["run", "--allow", "*", "--", "true"], "*"),
    (["run", "--allow", "*.co.uk", "--", "true"], "co.uk"),
    (["run", "--allow", "127.1", "--", "true"], "127.1"),
    (["run", "--allow", "10.0.0.5/8", "--", "true"], "10.0.0.0/8"),
    (["run", "--allow", "https://example.com/x", "--", "true"], "example.com"),
    (["run", "--allow", "example.com:0", "--", "true"], "0"),
    (["run", "--allow", "example.com:70000", "--", "true"], "70000"),
    (["run", "--allow", "example..com", "--", "true"], "example..com"),
    (["run", "--only", "", "--", "true"], "deny"),
    (["run", "--net", "any", "--allow", "example.com", "--", "true"], "any"),
    (["run", "--env", "novalue", "--", "true"], "novalue"),
    (["run", "--publish", "80", "--", "true"], "80"),
    (["run", "--host-port", "x", "--", "true"], "x"),
    (["run", "--nope", "--", "true"], "--nope"),
    (["run"], "COMMAND"),
    (["frobnicate"], "frobnicate"),
])
def test_bad_usage_says_what_to_write_and_starts_nothing(world, sandgate, argv, says):
    world.start_watching()
    done = sandgate(*argv)
    assert done.status == 2, done
    assert done.err.startswith("sandgate: ") and says in done.err, done
    assert done.out == "" and "Traceback" not in done.err
    assert world.left_the_host(dns=True) == []


def test_the_working_directory_is_kept_and_writable(sandgate):
    work = sandgate.world.machine.new_work(sandgate.person)
    done = sandgate.run("--net", "deny", command="pwd; echo made > file; cat file", cwd=work)
    assert done.out == f"{work}\nmade\n"
    assert sandgate.world.machine.read(f"{work}/file") == "made\n"


def test_version_and_help(sandgate):
    assert sandgate("version").out.startswith("sandgate ")
    assert "run" in sandgate("help").out
    assert "--allow" in sandgate("help", "run").out


def test_a_sandbox_inside_a_sandbox_is_refused_clearly(sandgate):
    done = sandgate.run("--net", "any", "--ro", "/run/program",
                        command=f"{sandgate.path} run --net deny -- echo started")
    assert done.status == 125 and "sandgate: " in done.err and "started" not in done.out, done


def test_few_descriptors_and_closed_streams(sandgate):
    machine = sandgate.world.machine
    work = machine.new_work()
    for script in (f"ulimit -n 64; {sandgate.path} run --net deny -- sh -c 'exit 6'",
                   f"{sandgate.path} run --net deny -- sh -c 'exit 6' <&-",
                   f"{sandgate.path} run --net deny -- sh -c 'exit 6' >&-",
                   f"{sandgate.path} run --net deny -- sh -c 'exit 6' <&- >&- 2>&-"):
        assert machine.run(script, cwd=work).returncode == 6, script


def test_arguments_arrive_as_they_are(sandgate):
    words = ["a b", "", "$HOME", "'quoted'", "new\nline", "ü", "--", "-x", "x" * 50000]
    done = sandgate.run("--net", "deny", command=[
        "python3", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *words])
    assert done.json == words


def test_ten_at_once(world, sandgate):
    world.site("api.example.com")
    boxes = []
    threads = [threading.Thread(target=lambda: boxes.append(sandgate.box("--only", "api.example.com")))
               for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(boxes) == 10
    running = [box.start("curl -sS https://api.example.com/") for box in boxes]
    assert [one.wait().out for one in running] == ["hello from api.example.com\n"] * 10
    assert len(sandgate.json("ls")) == 10
