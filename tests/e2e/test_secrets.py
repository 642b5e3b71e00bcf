# SPDX-License-Identifier: Apache-2.0
"""Secrets of credentials: where they come from, who reads them, and what is said when there is none."""

import json
import os
import signal

from program import descendants, read_proc, wait_until
from test_broker_life import broker, brokers, sign_in

NAME, OTHER = "api.example.com", "other.example.com"
SECRET = "s3cret-0123456789"


def policy(world, source, more=""):
    world.machine.write("/home/dev/policy.yaml", f"""network: deny
allow: [{NAME}, {OTHER}]
credentials:
  - {{host: {NAME}, header: X-Key, value: "${{secret}}", from: '{source}', env: API_KEY{more}}}
""", "dev")
    return "/home/dev/policy.yaml"


def script(world, text, path="/home/dev/source"):
    world.machine.write(path, f"#!/bin/sh\n{text}\n", "dev", 0o755)
    return f"command:{path}"


def key_of(site):
    return site.requests[-1].header("x-key")


def test_a_variable_goes_to_the_broker_and_nowhere_else(world, sandgate):
    """Neither the sandbox nor what /proc shows of any process has it."""
    site = world.site(NAME)
    box = sandgate.box("--policy", policy(world, "env:OUTSIDE"),
                       env=world.machine.environment("dev", OUTSIDE=SECRET))
    assert box.curl(f"https://{NAME}/").ok and key_of(site) == SECRET
    assert SECRET not in box.run("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null").out
    for pid in [box.process.pid, *descendants(box.process.pid)]:
        for what in "environ", "cmdline":
            assert SECRET not in read_proc(pid, what), (pid, what)


def test_its_place_inside_is_taken_by_a_placeholder(world, sandgate):
    """The same after the broker was replaced: what a client keeps stays right."""
    site = world.site(NAME, OTHER)
    box = sandgate.box("--policy", policy(world, script(world, f"echo {SECRET}")))
    placeholder = box.run("echo $API_KEY").out.strip()
    assert placeholder.startswith("sandgate-placeholder-")
    for _ in range(2):
        assert box.curl(f"https://{NAME}/", "-H", f"X-Key: {placeholder}").ok
        assert key_of(site) == SECRET
        misplaced = box.curl(f"https://{NAME}/?note={placeholder}", "-i").out
        assert " 403 " in misplaced.splitlines()[0] and "placeholder" in misplaced, misplaced
        before = broker(box)
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: before not in brokers(box.process.pid) and box.curl(f"https://{NAME}/").ok, 20,
                   "the next broker")


def test_a_kept_sandbox_has_it_at_each_start(world, started):
    """What `exec` runs finds the placeholder, and what it sends has the secret."""
    site = world.site(NAME)
    one = started("--policy", policy(world, script(world, f"echo {SECRET}")))
    for _ in range(2):
        assert one.exec("echo $API_KEY").out.startswith("sandgate-placeholder-")
        assert one.exec(f'curl -sS -H "X-Key: $API_KEY" https://{NAME}/').ok and key_of(site) == SECRET
        assert SECRET not in one.exec("env; cat /proc/*/environ 2>/dev/null").out
        one.stop()
        one.start()


def test_a_source_that_fails_is_said_and_nothing_is_sent(world, sandgate, started):
    """To the client in its answer, to the person outside, and in the audit log."""
    site = world.site(NAME)
    one = started("--policy", policy(world, script(world, "echo 'the vault is sealed' >&2; exit 3")))
    got = one.exec(f"curl -sS -i https://{NAME}/").out
    assert got.startswith("HTTP/1.1 502"), got
    assert "sandgate-reason: credential-missing" in got and "the vault is sealed" in got, got
    assert site.requests == []

    def noted():
        lines = sandgate("audit", "show", one.name, "--json").out.splitlines()
        return [e for e in map(json.loads, lines) if e["action"] == "sandgate.credential.failed"]
    wait_until(noted, 20, "the entry")
    entry, = noted()
    assert entry["credential"] == f"X-Key at {NAME}"
    assert entry["why"] == "command:/home/dev/source: it ended with status 3: the vault is sealed"
    log = world.machine.read(f"/home/dev/.local/state/sandgate/sandboxes/{one.name}/supervisor.log")
    assert f"sandgate: no secret for X-Key at {NAME}: command:/home/dev/source: " in log, log


def test_what_a_source_gives_and_is_no_secret_is_said_likewise(world, sandgate):
    """Named by its source, inside and outside; what it gave is in neither."""
    site = world.site(NAME)
    source = script(world, "echo s3cret")
    done = sandgate("run", "--policy", policy(world, source), "--", "curl", "-sS", "-i", f"https://{NAME}/")
    assert done.out.startswith("HTTP/1.1 502"), done
    assert f"{source}: the secret has fewer than 8 characters" in done.out, done
    assert f"sandgate: no secret for X-Key at {NAME}: {source}: the secret has fewer than 8 characters" in done.err, done
    assert "s3cret" not in done.out + done.err
    assert site.requests == []


def test_a_source_that_takes_its_time_holds_up_nobody_else(world, sandgate):
    site = world.site(NAME)
    world.site(OTHER)
    wait = script(world, f"until [ -e /home/dev/go ]; do sleep 0.05; done; echo {SECRET}")
    world.on_reset(lambda: world.machine.run(["rm", "-f", "/home/dev/go"]))
    box = sandgate.box("--policy", policy(world, wait))
    waiting = box.start(f"curl -sS https://{NAME}/")
    wait_until(lambda: any("source" in read_proc(pid, "cmdline") for pid in descendants(box.process.pid)),
               20, "the reading")
    assert box.curl(f"https://{OTHER}/").ok
    assert box.egress()["flows"]["open"] >= 1
    assert site.requests == []
    # A broker that asked and died is not answered; the next one asks again.
    os.kill(broker(box), signal.SIGKILL)
    assert waiting.wait(60).status != 0
    world.machine.write("/home/dev/go", "", "dev")
    wait_until(lambda: box.curl(f"https://{NAME}/").ok, 20, "the secret")
    assert key_of(site) == SECRET


def test_the_end_of_the_sandbox_ends_its_sources(world, sandgate):
    box = sandgate.box("--policy", policy(world, script(world, "sleep 1000 & wait")))
    world.site(NAME)
    box.start(f"curl -sS https://{NAME}/")

    def sources():
        return [pid for pid in descendants(box.process.pid) if "/home/dev/source" in read_proc(pid, "cmdline")]
    wait_until(sources, 20, "the reading")
    reading = sources()
    box.process.kill()
    box.process.wait()
    # One of them may have been about to become the sleep, which is the source's own to end.
    wait_until(lambda: not any("/home/dev/source" in read_proc(pid, "cmdline") for pid in reading), 10, "their end")
    world.machine.run(["pkill", "-x", "sleep"], "dev")


def test_a_secret_that_expires_is_read_again(world, sandgate):
    site = world.site(NAME)
    source = script(world, """n=$(cat /home/dev/times 2>/dev/null || echo 0); n=$((n+1)); echo $n >/home/dev/times
echo "{\\"token\\": \\"token-number-$n\\", \\"expires_at\\": $(($(date +%s) + 2))}\"""")
    world.on_reset(lambda: world.machine.run(["rm", "-f", "/home/dev/times"]))
    box = sandgate.box("--policy", policy(world, source))
    assert box.curl(f"https://{NAME}/").ok and key_of(site) == "token-number-1"

    def renewed():
        assert box.curl(f"https://{NAME}/").ok
        return key_of(site) != "token-number-1"
    wait_until(renewed, 20, "the next token")


def test_a_file_that_others_may_read_is_no_secret(world, sandgate):
    site = world.site(NAME)
    world.machine.write("/home/dev/key", SECRET + "\n", "dev", 0o644)
    box = sandgate.box("--policy", policy(world, "file:/home/dev/key"))
    refused = box.curl(f"https://{NAME}/", "-i").out
    assert "other users may use the file (mode 644); chmod 600 it" in refused, refused
    assert site.requests == []
    world.machine.run(["chmod", "600", "/home/dev/key"])
    # A source that failed is asked again half a minute later, by another broker at once.
    os.kill(broker(box), signal.SIGKILL)
    wait_until(lambda: box.curl(f"https://{NAME}/").ok, 20, "the secret")
    assert key_of(site) == SECRET


def test_a_credential_that_no_request_can_reach_is_said(world, sandgate):
    world.machine.write("/home/dev/policy.yaml", f"""network: deny
allow: [{OTHER}]
credentials:
  - {{host: {NAME}, query: key, from: 'env:OUTSIDE'}}
""", "dev")
    done = sandgate.run("--policy", "/home/dev/policy.yaml", command="true")
    assert done.ok and f"the credential ?key at {NAME} is never used: no rule admits {NAME}" in done.err, done


def test_signed_in_as_you_the_services_program_starts(world, sandgate):
    """gh wants a token in its variable: it finds a placeholder, and what it sends has yours."""
    sign_in(world, SECRET)
    site = world.site("api.github.com")
    box = sandgate.box("--allow", "github:as-you", "--yes")
    assert box.run("echo $GH_TOKEN").out.startswith("sandgate-placeholder-")
    assert box.run('curl -sS -H "Authorization: token $GH_TOKEN" https://api.github.com/repos/a/b').ok
    assert site.requests[-1].header("authorization") == f"Bearer {SECRET}"
