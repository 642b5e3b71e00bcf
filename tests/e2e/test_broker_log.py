# SPDX-License-Identifier: Apache-2.0
"""A broker whose audit log cannot be written, and what it notes of requests."""

import json
import threading

import pytest

from broker_rig import ALLOW, NAME, Rig, read_head, until
from test_broker_refresh import LOGIN, REFRESH_TOKEN, World, token

SECRET = "a-secret-of-the-person"
OTHER = "other.example.net"
CREDENTIALS = f"""network: deny
allow: [{NAME}, {OTHER}]
inspect: all
credentials:
  - {{host: {NAME}, header: Authorization, value: "Bearer ${{secret}}", from: "env:T"}}
  - {{host: {NAME}, header: X-App, value: "${{secret}}", from: "env:U", paths: [/both]}}
"""


@pytest.fixture
def rig(program):
    made = Rig(program)
    yield made
    made.close()


def answer(connection):
    while read_head(connection)[0]:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")


def set_log(broker, writable):
    broker.say(json.dumps({"op": "log", "writable": writable}))
    return broker.await_line()["ok"]


def give_secrets(broker):
    for n in range(2):
        broker.say(f"secret {n} {SECRET}-{n}")
        assert broker.await_line()["ok"]


def test_which_credentials_were_used_is_noted(rig):
    broker = rig.broker_for(rig.server(answer), policy=CREDENTIALS)
    give_secrets(broker)
    for path in "/one", "/both", f"/{SECRET}-0/x?{SECRET}-1":
        assert broker.curl(f"https://{NAME}{path}").stdout == b"ok"
    records = broker.await_records(3)
    assert [(r["path"], r["credential"]) for r in records] == [
        ("/one", f"Authorization at {NAME}"),
        ("/both", f"Authorization at {NAME}, X-App at {NAME}"),
        ("/" + "*" * len(SECRET + "-0") + "/x", f"Authorization at {NAME}")]
    assert SECRET not in str(records)


def test_what_came_to_nothing_used_no_credential(rig):
    """Its server is not to be trusted: the secret was not sent."""
    server = rig.server(answer, names=("elsewhere.example.net",))
    broker = rig.broker_for(server, policy=CREDENTIALS)
    give_secrets(broker)
    assert b"502" in broker.curl("-i", f"https://{NAME}/one").stdout
    [record] = broker.await_records(1)
    assert (record["reason"], record["credential"]) == ("upstream-certificate", "")


@pytest.mark.parametrize("status", [200, 400])
def test_a_refresh_is_the_use_of_a_credential(rig, status):
    """Where the refresh token went is noted, whatever came of it; and nothing of either token."""
    w = World(rig, lambda n: (status, token(n)[1] if status == 200 else {"error": "invalid_grant"}))
    w.give()
    assert (" 200" in w.ask()) == (status == 200)
    records = w.broker.await_records(2)
    place = f"Authorization at {NAME}"
    refresh = next(r for r in records if r["name"] == LOGIN)
    assert (refresh["method"], refresh["path"], refresh["status"], refresh["credential"]) == (
        "POST", "/oauth/token", status, f"refresh of {place}"), refresh
    assert refresh["generation"] == 1 and refresh["bytes_out"] > 0
    asked = next(r for r in records if r["name"] == NAME)
    assert asked["credential"] == (place if status == 200 else "")
    assert REFRESH_TOKEN not in str(records) and "access-token" not in str(records)


def test_without_a_log_no_token_is_fetched(rig):
    w = World(rig, token)
    w.give()
    assert set_log(w.broker, False)
    assert "sandgate-reason: log-full" in w.ask() and not w.tokens.asked
    assert set_log(w.broker, True)
    assert " 200" in w.ask() and len(w.tokens.asked) == 1


def test_without_a_log_no_credential_is_used(rig):
    broker = rig.broker_for(rig.server(answer), policy=CREDENTIALS)
    give_secrets(broker)
    assert set_log(broker, False)
    done = broker.curl("-i", f"https://{NAME}/one")
    assert b"403" in done.stdout and b"sandgate-reason: log-full" in done.stdout, done
    [record] = broker.await_records(1)
    assert (record["kind"], record["reason"], record["credential"]) == (1, "log-full", "")
    assert set_log(broker, True)
    assert broker.curl(f"https://{NAME}/one").stdout == b"ok"


def test_without_a_log_other_requests_wait(rig):
    broker = rig.broker_for(rig.server(answer))
    assert set_log(broker, False)
    done = []
    thread = threading.Thread(target=lambda: done.append(broker.curl(f"https://{NAME}/waits")))
    thread.start()
    until(lambda: broker.ask("status")["requests"]["open"] == 1)
    assert set_log(broker, True)
    thread.join()
    assert done[0].stdout == b"ok"


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_without_a_log_for_too_long_they_are_refused(rig, version):
    broker = rig.broker_for(rig.server(answer), policy=ALLOW, log=300)
    assert set_log(broker, False)
    done = broker.curl("-i", version, f"https://{NAME}/waits")
    assert b"403" in done.stdout and b"the audit log cannot be written" in done.stdout, done
    [record] = broker.await_records(1)
    assert (record["reason"], record["path"]) == ("log-full", "/waits")


@pytest.mark.parametrize("message", ["{}", '{"writable": 1}', '{"writable": null}'])
def test_what_does_not_say_it_changes_nothing(rig, message):
    broker = rig.broker_for(rig.server(answer), policy=ALLOW)
    broker.say(json.dumps({"op": "log", **json.loads(message)}))
    assert not broker.await_line()["ok"]
    assert broker.curl(f"https://{NAME}/").stdout == b"ok"
