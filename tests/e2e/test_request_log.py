# SPDX-License-Identifier: Apache-2.0
"""Requests that the broker carries, in the connection log and in the audit log of a sandbox."""

import ast
import json
import os
import signal
import struct
import time

import pytest

from internet.web import Response
from program import Kept, wait_until
from test_sealer import (FLOOD, SCAN, actions, counted, entries, gate, goes_on, head_of, process,  # noqa: F401
                         small_disk, totals, verified)

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
SEEN, USED, BAD = "seen.example.com", "used.example.com", "bad.example.com"
SECRET = "the-token-of-the-person-4711"
PLACE = f"Authorization at {USED}"
ALLOWED_A_MINUTE, REFUSED_A_MINUTE = 120, 20
POLICY = f"""
network: deny
allow:
  - {{host: {SEEN}, methods: [GET]}}
  - {{host: {USED}, paths: [/v1/*]}}
  - {BAD}
inspect: [{SEEN}, {BAD}]
credentials:
  - {{host: {USED}, header: Authorization, value: "Bearer ${{secret}}", from: "file:~/token", env: API_TOKEN}}
"""
# Requests over ten connections; prints how many were answered with which status.
MANY = """
import collections, concurrent.futures, http.client, sys
n, method, host, path = int(sys.argv[1]), *sys.argv[2:]
seen = collections.Counter()
def ask(n):
    c = http.client.HTTPSConnection(host)
    for _ in range(n):
        c.request(method, path)
        answer = c.getresponse()
        answer.read()
        seen[answer.status] += 1
with concurrent.futures.ThreadPoolExecutor(10) as pool:
    list(pool.map(ask, [n // 10] * 10))
print(dict(seen))
"""


@pytest.fixture
def sites(world):
    world.site(SEEN, handler=lambda rq: Response("hello"))
    world.site(BAD, tls_names=["elsewhere.example.com"])
    return world.site(USED, handler=lambda rq: Response(f"you are {rq.header('authorization')}"))


@pytest.fixture
def made(sandgate, world, sites):
    """made() starts a kept sandbox with the policy above; it is taken away at the end."""
    all_of_them = []

    def make():
        machine = world.machine
        cwd = machine.new_work(sandgate.person)
        home = "/root" if sandgate.person == "root" else "/home/dev"
        machine.write(f"{cwd}/policy.yaml", POLICY, sandgate.person, 0o600)
        machine.write(f"{home}/token", SECRET, sandgate.person, 0o600)
        one = Kept(sandgate, sandgate.new_name(), "--policy", "policy.yaml", cwd=cwd)
        all_of_them.append(one)
        one.start()
        return one
    yield make
    for one in all_of_them:
        sandgate("rm", "--force", one.name)


def events(one, **wanted):
    done = one.sandgate("net", "log", "--json", one.name)
    assert done.ok, done
    return [e for e in map(json.loads, done.out.splitlines())
            if e["proto"] == "http" and wanted.items() <= e.items()]


def await_events(one, n, **wanted):
    wait_until(lambda: len(events(one, **wanted)) >= n, 15, f"{n} events with {wanted}")
    return events(one, **wanted)


def broker(one):
    return process(one, "sandgate-broker")


def sealer(one):
    return process(one, "sandgate-sealer")


def curl(one, *argv):
    return one.exec(["curl", "-sS4", *argv])


def many(one, n, method, host, path, timeout=60):
    done = one.exec(["python3", "-c", MANY, str(n), method, host, path], timeout=timeout)
    assert done.ok, done
    return ast.literal_eval(done.out)


def accounted(one):
    """written + suppressed of the log by what they are, as `totals` has them."""
    found = {}
    for e in entries(one):
        word = {"sandgate.egress.deny": e.get("reason"),
                "sandgate.egress.allow": "credential-used" if "credential" in e else "allowed"}.get(e["action"])
        if word:
            found[word] = found.get(word, 0) + 1 + e.get("suppressed", 0)
    return found


@BOTH
def test_what_the_logs_have_of_a_request(made, person):
    one = made()
    assert curl(one, f"https://{SEEN}/a/b?token=hush").out == "hello"
    assert "401" not in curl(one, f"https://{USED}/v1/me?token=hush").out
    curl(one, "-X", "DELETE", f"https://{SEEN}/a/b?token=hush")
    seen, = await_events(one, 1, name=SEEN, method="GET")
    assert (seen["verdict"], seen["path"], seen["status"], seen["port"], seen["rule"]) == (
        "allow", "/a/b", 200, 443, SEEN), seen
    assert seen["bytes_in"] == 5 and seen["bytes_out"] == 0 and "duration_ms" in seen and seen["generation"] == 1
    assert seen["action"] == "sandgate.egress.allow" and "credential" not in seen and seen["address"]
    used, = await_events(one, 1, name=USED)
    assert (used["verdict"], used["path"], used["credential"]) == ("allow", "/v1/me", PLACE), used
    refused, = await_events(one, 1, name=SEEN, method="DELETE")
    assert (refused["verdict"], refused["reason"], refused["status"]) == ("deny", "method-not-allowed", 403), refused
    # What must be provable is sealed; what is a secret, or in a query, is nowhere.
    one.stop()
    allowed = actions(one, "sandgate.egress.allow")
    assert [(e["name"], e["method"], e["path"], e.get("credential")) for e in allowed] == [
        (SEEN, "GET", "/a/b", None), (USED, "GET", "/v1/me", PLACE)], allowed
    denied = [e for e in actions(one, "sandgate.egress.deny") if e["proto"] == "http"]
    assert [(e["name"], e["method"], e["reason"]) for e in denied] == [(SEEN, "DELETE", "method-not-allowed")]
    assert totals(one) == {"allowed": 1, "credential-used": 1, "method-not-allowed": 1}
    verified(one)
    text = json.dumps(entries(one)) + json.dumps(events(one))
    assert "hush" not in text and SECRET not in text


def test_requests_as_a_person_reads_them(made):
    one = made()
    curl(one, f"https://{SEEN}/a/b")
    curl(one, f"https://{USED}/v1/me")
    curl(one, "-X", "DELETE", f"https://{SEEN}/a/b")
    await_events(one, 1, method="DELETE")
    log = one.sandgate("net", "log", one.name).out
    denied = one.sandgate("net", "log", "--denied", one.name).out
    of_one = one.sandgate("net", "log", "--host", SEEN, one.name).out
    of_both = one.sandgate("net", "log", "--host", "*.example.com", "--denied", one.name).out
    one.stop()
    audit = one.sandgate("audit", "show", one.name).out
    for text in log, audit:
        assert f"GET {SEEN}/a/b 200 at " in text and f"GET {USED}/v1/me 200 at " in text, text
        assert f"with {PLACE}" in text and f"DELETE {SEEN}/a/b 403 at " in text, text
    assert "DELETE" in denied and "GET" not in denied, denied
    assert f"GET {SEEN}/a/b" in of_one and USED not in of_one and " dns " in of_one, of_one
    assert "DELETE" in of_both and "GET" not in of_both, of_both


def test_a_certificate_that_is_not_trusted_is_in_the_audit_log(made):
    """Nothing was sent, the client is told why, and that can be proven."""
    one = made()
    told = curl(one, "-i", f"https://{BAD}/a?token=hush")
    assert " 502" in told.out and "sandgate-reason: upstream-certificate" in told.out, told
    one.stop()
    entry, = actions(one, "sandgate.egress.deny")
    assert (entry["name"], entry["method"], entry["path"], entry["reason"], entry["status"]) == (
        BAD, "GET", "/a", "upstream-certificate", 502), entry
    assert totals(one) == {"upstream-certificate": 1}
    verified(one)


def test_requests_are_followed(world, sandgate, made):
    one = made()
    follower = world.machine.popen([sandgate.path, "net", "log", "--follow", one.name], sandgate.person,
                                   stdout=-1, text=True)
    try:
        curl(one, f"https://{SEEN}/followed")
        await_events(one, 1, path="/followed")
        one.stop()
        assert f"GET {SEEN}/followed 200" in follower.communicate(timeout=20)[0]
    finally:
        follower.kill()
        follower.wait()


def test_requests_are_counted_beyond_their_rate(made):
    """120 entries of each kind, exact totals, and no entry more for however many requests."""
    one = made()
    assert many(one, 200, "GET", SEEN, "/a") == {200: 200}
    assert many(one, 150, "GET", USED, "/v1/a") == {200: 150}
    assert many(one, 500, "DELETE", SEEN, "/a") == {403: 500}
    assert many(one, 50, "GET", USED, "/v2/a") == {403: 50}
    one.stop()
    allowed = actions(one, "sandgate.egress.allow")
    with_credential = [e for e in allowed if "credential" in e]
    assert len(with_credential) == ALLOWED_A_MINUTE + 1
    assert len(allowed) - len(with_credential) == ALLOWED_A_MINUTE + 1
    wanted = {"allowed": 200, "credential-used": 150, "method-not-allowed": 500, "path-not-allowed": 50}
    assert totals(one) == accounted(one) == wanted
    assert sum(e.get("suppressed_names", {}).get(PLACE, 0) for e in with_credential) == 150 - ALLOWED_A_MINUTE - 1
    verified(one)


def test_a_flood_of_refused_requests_does_not_grow_the_log(made):
    """As fast as the broker answers."""
    one = made()
    n = 10000
    assert many(one, n, "PUT", SEEN, "/a", timeout=120) == {403: n}
    wait_until(lambda: actions(one, "sandgate.egress.deny"), 15, "the first entry")
    assert len(actions(one, "sandgate.egress.deny")) <= REFUSED_A_MINUTE
    one.stop()
    assert totals(one) == accounted(one) == {"method-not-allowed": n}
    size = sum(len(json.dumps(e)) for e in entries(one))
    assert size < 40000, size
    verified(one)


def test_no_event_is_lost_with_a_process(made):
    """kill -9 of broker, sealer and gate while requests are made: what is accounted for is what was counted."""
    one = made()
    for find in (broker, sealer, gate) * 2:
        pid = find(one)
        curl(one, f"https://{SEEN}/before")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: find(one) not in (None, pid), 15, "another")
        wait_until(lambda: curl(one, "-m", "30", f"https://{SEEN}/after").out == "hello", 20, "requests to pass again")
        curl(one, "-X", "PUT", f"https://{SEEN}/refused")
    one.stop()
    assert totals(one) == accounted(one)
    assert totals(one)["allowed"] >= 12 and totals(one)["method-not-allowed"] == 6
    assert len(actions(one, "sandgate.broker.restart")) == 2
    verified(one)
    # And the supervisor.
    one.start()
    curl(one, f"https://{SEEN}/last")
    curl(one, f"https://{USED}/v1/last")
    last = sealer(one)
    os.kill(one.supervisor, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{last}"), 20, "the sealer's end")
    one.start()
    one.stop()
    assert totals(one) == accounted(one)
    assert any(e["path"] == "/v1/last" for e in actions(one, "sandgate.egress.allow") if "credential" in e)
    verified(one)


# --- a disk that is full ---

def fill(one, small_disk, world):
    """Until the sealer has found that out: a refusal has no room."""
    small_disk(True)
    one.exec(["python3", "-c", SCAN.format(most=60)])
    wait_until(lambda: "log-full" in curl(one, "-i", f"https://{USED}/v1/probe").out, 20, "requests to be refused")


def test_without_room_no_credential_is_used(world, sandgate, small_disk, made, sites):
    """What must be in the log waits for it, or is refused; and goes on when there is room."""
    one = made()
    assert curl(one, f"https://{USED}/v1/before").ok
    fill(one, small_disk, world)
    before = len(sites.requests)
    refused = curl(one, "-i", f"https://{USED}/v1/full")
    assert "403" in refused.out and "the audit log cannot be written" in refused.out, refused
    assert "has to make room" in refused.out and len(sites.requests) == before
    waits = one.sandgate.world.machine.popen(
        [sandgate.path, "exec", one.name, "--", "curl", "-sS4", f"https://{SEEN}/waits"], sandgate.person,
        stdin=-3, stdout=-1, text=True)
    try:
        assert not curl(one, "-m", "1", f"https://{SEEN}/too-long").ok
        small_disk(False)
        assert waits.communicate(timeout=25)[0] == "hello"
    finally:
        waits.kill()
        waits.wait()
    assert curl(one, f"https://{USED}/v1/after").ok
    one.stop()
    found = accounted(one)
    assert totals(one) == found and found["log-full"] >= 2 and found["credential-used"] >= 2, found
    assert "/waits" in [e["path"] for e in actions(one, "sandgate.egress.allow") if e["name"] == SEEN]
    verified(one)


def test_requests_may_go_on_without_room(world, sandgate, small_disk, made):
    """audit.on_full: continue. They are counted, and in the sum when there is room again."""
    assert sandgate("config", "set", "audit.on_full", "continue").ok
    world.on_reset(lambda: sandgate("config", "unset", "audit.on_full"))
    one = made()
    small_disk(True)
    one.exec(["python3", "-c", SCAN.format(most=60)])
    for n in range(5):
        assert curl(one, f"https://{USED}/v1/{n}").out.startswith("you are"), n
        assert curl(one, f"https://{SEEN}/{n}").out == "hello"
    small_disk(False)
    wait_until(lambda: actions(one, "sandgate.audit.recovered"), 20, "the log to go on")
    one.stop()
    assert totals(one) == accounted(one)
    assert (totals(one)["credential-used"], totals(one)["allowed"]) == (5, 5)
    verified(one)


FOR_EVER = """
import http.client
while True:
    try:
        c = http.client.HTTPSConnection(sys.argv[1], timeout=5)
        while True:
            for method, path in ("GET", "/v1/a"), ("PUT", "/a"), ("GET", "/v1/b"):
                c.request(method, path)
                c.getresponse().read()
    except Exception:
        time.sleep(0.02)
"""


@pytest.mark.slow
def test_kills_of_all_processes_under_requests(world, sandgate, made):
    """kill -9 of broker, gate, sealer and supervisor while requests and lookups come as fast as they can: after
    each run the log holds, and what it accounts for is all that either ring has ever counted."""
    one = made()
    rings, kills, before = ("ring", "ring-broker"), 0, 0
    for _ in range(3):
        clients = [world.machine.popen(
            [sandgate.path, "exec", one.name, "--", "python3", "-c", "import sys, time" + FOR_EVER, host],
            sandgate.person, stdin=-3, stdout=-3, stderr=-3) for host in (SEEN, USED)]
        clients.append(world.machine.popen(
            [sandgate.path, "exec", one.name, "--", "python3", "-c", FLOOD.format(seconds=60, most=10 ** 9)],
            sandgate.person, stdin=-3, stdout=-3, stderr=-3))
        for n in range(9):
            time.sleep(0.15 + 0.07 * n % 0.3)
            pid = (broker, gate, sealer)[n % 3](one)
            if pid:
                os.kill(pid, signal.SIGKILL)
                kills += 1
        last = sealer(one)
        os.kill(one.supervisor, signal.SIGKILL)
        kills += 1
        for client in clients:
            client.wait(30)
        before = goes_on(one, last, before)
    assert kills >= 27
    one.stop()
    assert totals(one) == accounted(one)
    refusals = {w: n for w, n in totals(one).items() if w not in ("allowed", "credential-used")}
    assert sum(refusals.values()) == counted(one, *rings)
    # allowed, and of that with a credential: behind the refusals, and at the end of the page.
    head = head_of(one, "ring-broker")
    reasons, = struct.unpack_from("<I", head, 20)
    allowed, = struct.unpack_from("<Q", head, 144 + 8 * reasons)
    used, = struct.unpack_from("<Q", head, 144 + 8 * (2 * reasons + 3))
    assert totals(one)["credential-used"] == used > 0 and totals(one)["allowed"] == allowed - used > 0
    verified(one)
    print(f"{kills} kills: {totals(one)}")
