# SPDX-License-Identifier: Apache-2.0
"""net log: what a sandbox did on the network, for a person and for a program, as it happens."""

import calendar
import json
import re
import subprocess
import threading
import time

import pytest

from program import wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
ALWAYS = {"seq", "time", "sandbox", "action", "verdict", "proto", "generation"}


def events(sandgate, name, *options):
    done = sandgate("net", "log", *options, "--json", name)
    assert done.ok, done
    return [json.loads(line) for line in done.out.splitlines()]


def until(sandgate, name, wanted, *options):
    """The events of the log when they hold what is wanted: lines are gathered before they are written."""
    found = []

    def look():
        found[:] = events(sandgate, name, *options)
        return wanted(found)
    wait_until(look, 10, "the events in the log")
    return found


class Follower:
    """`net log --follow`, and when each of its lines came."""

    def __init__(self, sandgate, name, *options):
        self.lines = []
        self.process = sandgate.world.machine.popen(
            [sandgate.path, "net", "log", "--follow", "--json", *options, name], sandgate.person,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append((time.time(), json.loads(line)))

    @property
    def events(self):
        return [event for _, event in self.lines]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def follow(sandgate):
    made = []

    def start(name, *options):
        made.append(Follower(sandgate, name, *options))
        return made[-1]
    yield start
    for one in made:
        one.close()


# --- what is in it ---

@BOTH
def test_every_flow_lookup_and_request(world, sandgate, started, person):
    site = world.site("api.example.com", "other.example.com")
    one = started("--only", "api.example.com")
    assert one.exec("curl -sS4 'http://api.example.com/a/b?token=hush' -H 'Authorization: hush'").ok
    assert one.exec("curl -sS4 'https://api.example.com/c?token=hush'").ok
    one.exec("curl -s4 http://other.example.com/")
    one.exec("curl -s4 http://93.184.9.9:81/")
    one.exec("curl -s4 -H 'Host: other.example.com' 'http://api.example.com/d?token=hush'")
    seen = until(sandgate, one.name, lambda found: any(e.get("path") == "/d" for e in found))

    def find(**wanted):
        return next((e for e in seen if wanted.items() <= e.items()), None)
    assert [e["seq"] for e in seen] == list(range(len(seen)))
    assert all(ALWAYS <= e.keys() and e["sandbox"] == one.name for e in seen)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", e["time"]) for e in seen)
    lookup = find(proto="dns", name="api.example.com", verdict="allow")
    assert lookup["action"] == "sandgate.egress.allow" and lookup["rule"] == "api.example.com"
    assert find(proto="tcp", name="api.example.com", address=site.address, port=443, verdict="allow")
    request = find(proto="http", method="GET", path="/a/b", verdict="allow")
    assert (request["name"], request["port"]) == ("api.example.com", 80)
    end = find(action="sandgate.egress.end", port=80)
    assert end["bytes_out"] > 50 and end["bytes_in"] > 20 and "duration_ms" in end
    refused = find(proto="dns", name="other.example.com", verdict="deny")
    assert refused["reason"] == "not-in-policy"
    assert refused["remedy"] == f"sandgate net allow {one.name} site:other.example.com"
    literal = find(proto="tcp", address="93.184.9.9", port=81, verdict="deny")
    assert literal["remedy"] == f"sandgate net allow {one.name} 93.184.9.9:81"
    inside = find(proto="http", method="GET", path="/d", verdict="deny")
    assert inside["name"] == "other.example.com" and inside["status"] == 403
    assert "hush" not in json.dumps(seen) and "token" not in json.dumps(seen)


def test_as_a_person_reads_it(world, sandgate, started):
    world.site("api.example.com")
    one = started("--only", "api.example.com")
    assert one.exec("curl -sS4 'http://api.example.com/a'").ok
    one.exec("curl -s4 http://93.184.9.9:81/")
    until(sandgate, one.name, lambda found: any(e["verdict"] == "deny" for e in found))
    text = sandgate("net", "log", one.name).out
    assert re.search(r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  allowed  http +GET api\.example\.com:80/a at \S+  "
                     r"by api\.example\.com$", text), text
    assert re.search(r"(?m)  refused  tcp +93\.184\.9\.9:81  no rule of the policy allows it  "
                     rf"allow it: sandgate net allow {one.name} 93\.184\.9\.9:81$", text), text
    assert re.search(r"(?m)  ended    tcp +api\.example\.com:80 at \S+  \d+ octets out, \d+ in, 0\.\d s$",
                     text), text


def test_only_what_is_asked_for(world, sandgate, started):
    world.site("api.example.com")
    one = started("--only", "api.example.com")
    assert one.exec("curl -sS4 http://api.example.com/a").ok
    one.exec("curl -s4 http://93.184.9.9:81/")
    until(sandgate, one.name, lambda found: any(e["verdict"] == "deny" for e in found))
    denied = events(sandgate, one.name, "--denied")
    assert denied and all(e["verdict"] == "deny" for e in denied)
    last = events(sandgate, one.name)[-1]["time"]
    assert events(sandgate, one.name, "--since", "1h")
    assert events(sandgate, one.name, "--since", last)
    time.sleep(1.1)
    assert events(sandgate, one.name, "--since", "1s") == []
    assert events(sandgate, one.name, "--since", "2999-01-01T00:00:00+01:00") == []


def test_what_cannot_be_shown(sandgate, started, kept):
    one = started("--net", "deny")
    refused = sandgate("net", "log", "--since", "yesterday", one.name)
    assert refused.status == 2 and "10m" in refused.err
    gone = sandgate("net", "log", one.name[:-1] + "x")
    assert gone.status == 125 and f'did you mean "{one.name}"?' in gone.err
    never = kept("--net", "deny")
    unknown = sandgate("net", "log", never.name)
    assert unknown.status == 125 and "never run" in unknown.err


def test_nothing_inside_reaches_the_terminal(world, sandgate, started):
    world.site("api.example.com")
    one = started("--only", "api.example.com")
    one.exec(["python3", "-c", r"""
import socket
s = socket.create_connection(("api.example.com", 80))
s.sendall(b"GET /\x1b]0;owned\x07\xc2\x9b31m HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
s.recv(1000)
"""])
    until(sandgate, one.name, lambda found: len(found) > 2)
    for done in (sandgate("net", "log", one.name), sandgate("net", "log", "--json", one.name)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out), ascii(done.out)


def test_a_line_that_was_damaged_is_told_and_not_shown(world, sandgate, started):
    one = started("--net", "deny")
    one.exec("getent hosts hidden.example.org")
    one.stop()
    found = events(sandgate, one.name)
    assert found
    folder = f"/home/dev/.local/state/sandgate/sandboxes/{one.name}/connections"
    world.machine.run(f"sed -i 's/hidden.example/\\x1b[2J.example/' {folder}/*.jsonl").check_returncode()
    for options in [], ["--json"]:
        done = sandgate("net", "log", *options, one.name)
        assert done.ok and done.out == "", done
        assert f"{len(found)} lines are damaged and not shown" in done.err, done


# --- as it happens ---

def test_follow_shows_an_event_at_once(world, sandgate, started, follow):
    """The figure is printed; what is asserted is that it comes without anything else happening."""
    world.site("api.example.com")
    one = started("--only", "api.example.com")
    seen = follow(one.name)
    delays = []
    for port in range(5000, 5020):
        one.exec(["python3", "-c", "import socket\n"
                  f"try: socket.create_connection(('93.184.9.9', {port}))\nexcept OSError: pass"])
        wait_until(lambda: any(e.get("port") == port for e in seen.events), 10, "the event")
        came, event = next(line for line in seen.lines if line[1].get("port") == port)
        happened = time.strptime(event["time"][:19], "%Y-%m-%dT%H:%M:%S")
        delays.append(came - calendar.timegm(happened) - int(event["time"][20:23]) / 1000)
    delays.sort()
    print(f"net log --follow: an event is shown after {delays[len(delays) // 2] * 1000:.0f} ms (median), "
          f"{delays[-1] * 1000:.0f} ms at most")


def test_follow_ends_with_the_sandbox(sandgate, started, follow):
    one = started("--net", "deny")
    seen, refused = follow(one.name), follow(one.name, "--denied")
    one.exec("curl -s4 http://93.184.9.9:81/")
    one.stop()
    for follower in seen, refused:
        assert follower.process.wait(60) == 0
        wait_until(lambda: any(e.get("port") == 81 for e in follower.events), 5, "the last event")
    assert events(sandgate, one.name) == seen.events


def test_follow_of_one_that_has_stopped(sandgate, started, follow):
    one = started("--net", "deny")
    one.exec("curl -s4 http://93.184.9.9:81/")
    one.stop()
    seen = follow(one.name)
    assert seen.process.wait(60) == 0
    assert any(e.get("port") == 81 for e in seen.events)


def test_the_log_rotates_under_a_follower(world, sandgate, started, follow):
    """A log of 1 MB in all: the oldest goes, numbers go on, and who follows misses nothing."""
    world.site("api.example.com")
    assert sandgate("config", "set", "audit.connections_mb", "1").ok
    world.on_reset(lambda: sandgate("config", "unset", "audit.connections_mb"))
    one = started("--only", "api.example.com")
    seen = follow(one.name)
    one.exec(["python3", "-c", """
import socket
for n in range(9000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\3api\\7example\\3com\\0\\0\\1\\0\\1", ("192.0.0.1", 53))
    s.settimeout(2)
    s.recv(1000)
    s.close()
"""], timeout=120)
    one.exec("curl -s4 http://93.184.9.9:81/")
    wait_until(lambda: any(e.get("port") == 81 for e in seen.events), 20, "the last event")
    numbers = [e["seq"] for e in seen.events]
    assert numbers == list(range(len(numbers))) and len(numbers) >= 9000
    left = [e["seq"] for e in events(sandgate, one.name)]
    assert left[0] > 0 and left == list(range(left[0], numbers[-1] + 1))
    one.stop()
    one.start()
    one.exec("curl -s4 http://93.184.9.9:82/")
    until(sandgate, one.name, lambda found: found[-1]["seq"] > numbers[-1])


# --- of a run without a name ---

def test_a_run_without_a_name_is_logged_while_it_runs(world, sandgate, follow, person):
    machine = world.machine
    state = "~/.local/state/sandgate"
    run = machine.popen([sandgate.path, "run", "--net", "deny", "--quiet", "--", "sh", "-c",
                         "curl -s4 http://93.184.9.9:81/; cat"], sandgate.person,
                        cwd=machine.new_work(sandgate.person), stdin=subprocess.PIPE)
    try:
        wait_until(lambda: sandgate.json("ls"), 10, "the sandbox")
        name = sandgate.json("ls")[0]["name"]
        until(sandgate, name, lambda found: any(e.get("port") == 81 for e in found))
        seen = follow(name)
        wait_until(lambda: seen.events, 10, "what there is so far")
        assert sandgate("audit", "verify", name).ok
    finally:
        run.stdin.close()
        assert run.wait(60) == 0
    assert seen.process.wait(60) == 0 and any(e.get("port") == 81 for e in seen.events)
    assert sandgate("net", "log", name).status == 125
    assert machine.run(f"find {state} -name '*.jsonl' -path '*passing*'", sandgate.person).stdout == ""
    # Its last checkpoint and its totals stay with the host.
    kept = []

    def look():
        text = machine.run(f"cat {state}/host/*.jsonl", sandgate.person).stdout
        kept[:] = [e for e in map(json.loads, text.splitlines())
                   if e["action"] == "sandgate.sandbox.stop" and e["sandbox"] == name]
        return kept
    wait_until(look, 20, "the entry in the host's log")
    assert kept[0]["totals"] == {"not-in-policy": 1} and kept[0]["exit_status"] == 0
    assert kept[0]["checkpoint"].startswith("sandgate/")


def test_what_a_killed_run_leaves_goes_with_the_next(world, sandgate, person):
    machine = world.machine
    passing = "ls -A ~/.local/state/sandgate/passing"
    run = machine.popen([sandgate.path, "run", "--net", "deny", "--quiet", "--", "sleep", "60"],
                        sandgate.person, cwd=machine.new_work(sandgate.person))
    wait_until(lambda: sandgate.json("ls"), 10, "the sandbox")
    name = sandgate.json("ls")[0]["name"]
    run.kill()
    run.wait()
    wait_until(lambda: sandgate.json("ls") == [], 10, "its end")
    assert machine.run(passing, sandgate.person).stdout == f"{name}\n"
    assert sandgate.run("--net", "deny", "--quiet", command="true").ok
    assert machine.run(passing, sandgate.person).stdout == ""
    wait_until(lambda: '"why":"the supervisor was killed"' in machine.run(
        "cat ~/.local/state/sandgate/host/*.jsonl", sandgate.person).stdout, 20, "the host's entry")
