# SPDX-License-Identifier: Apache-2.0
"""Credentials of a broker as a process: what it adds, where it keeps them, and what another policy does to them."""

import threading
import time

import pytest

from broker_rig import ALLOW, NAME, PATIENCE, Rig, echo, read_head, until
from program import SANITIZED


@pytest.fixture
def rig(program):
    r = Rig(program)
    yield r
    r.close()


# --- credentials ---

SECRET = "a-secret-of-the-person"
CREDENTIALS = f"""network: deny
allow: [{NAME}, other.example.net]
inspect: all
credentials:
  - host: {NAME}
    header: Authorization
    value: "Bearer ${{secret}}"
    from: env:EXAMPLE_TOKEN
    env: EXAMPLE_TOKEN
"""


def test_a_credential_is_added_and_never_comes_back(rig):
    seen = []

    def serve(connection):
        head, _ = read_head(connection)
        seen.append(head)
        body = b"you said " + SECRET.encode() + b" and so on"
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nx-echo: " + SECRET.encode() +
                           b"\r\ntransfer-encoding: chunked\r\n\r\n")
        # An echo that comes in pieces is one all the same.
        for at in range(0, len(body), 7):
            piece = body[at:at + 7]
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(0.005)
        connection.sendall(b"0\r\nx-trailer: " + SECRET.encode() + b"\r\n\r\n")

    broker = rig.broker_for(rig.server(serve), policy=CREDENTIALS)
    [credential] = broker.ask("credentials")["credentials"]
    assert credential["wanted"] and credential["env"] == "EXAMPLE_TOKEN"
    broker.say(f"secret 0 {SECRET}")
    assert broker.await_line()["ok"]
    mask = b"*" * len(SECRET)
    done = broker.curl("-i", "-H", f"authorization: Bearer {credential['placeholder']}", f"https://{NAME}/")
    assert f"authorization: bearer {SECRET}\r\n".encode() in seen[0].lower()
    assert credential["placeholder"].encode() not in seen[0]
    assert b"x-echo: " + mask in done.stdout
    # curl shows trailers behind the body.
    assert done.stdout.endswith(b"\r\n\r\nyou said " + mask + b" and so onx-trailer: " + mask + b"\r\n")
    assert SECRET not in str(broker.await_records(1))


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_secret_stays_in_locked_memory(rig, tmp_path, version):
    server = rig.nghttpd(str(tmp_path), "--echo-upload") if "2" in version else rig.server(echo)
    broker = rig.broker_for(server, policy=CREDENTIALS)
    broker.say(f"secret 0 {SECRET}")
    assert broker.await_line()["ok"]
    for _ in range(5):
        done = broker.curl(version, "-d", "x", f"https://{NAME}/")
        assert done.returncode == 0, done.stderr
    until(lambda: broker.ask("status")["connections"] == 0)
    assert broker.holds(NAME.encode())  # the search finds what is there
    assert broker.holds(SECRET.encode()) == []


def test_a_secret_that_is_not_there_is_asked_for(rig):
    broker = rig.broker_for(rig.server(echo), policy=CREDENTIALS)
    result = []
    thread = threading.Thread(target=lambda: result.append(broker.curl(f"https://{NAME}/")))
    thread.start()
    assert broker.await_line() == {"op": "wanted", "credential": 0}
    broker.say(f"secret 0 {SECRET}")
    assert broker.await_line()["ok"]
    thread.join(PATIENCE)
    assert SECRET.encode() not in result[0].stdout and b"Bearer *" in result[0].stdout


def test_a_source_that_fails_is_told_and_nothing_is_sent(rig):
    server = rig.server(echo)
    broker = rig.broker_for(server, policy=CREDENTIALS)
    broker.say('{"op":"secret-failed","credential":0,"why":"EXAMPLE_TOKEN is not set"}')
    assert broker.await_line()["ok"]
    done = broker.curl("-i", f"https://{NAME}/")
    assert b" 502 " in done.stdout.splitlines()[0] and b"sandgate-reason: credential-missing" in done.stdout
    assert b"EXAMPLE_TOKEN is not set" in done.stdout and b"nothing was sent" in done.stdout
    [record] = broker.await_records(1)
    assert record["reason"] == "credential-missing" and record["bytes_out"] == 0


def test_a_placeholder_goes_nowhere_else(rig):
    asked = []

    def serve(connection):
        asked.append(connection.recv(65536))

    server = rig.server(serve, names=("other.example.net",))
    broker = rig.broker(("other.example.net", 443, "tls", server.port), policy=CREDENTIALS)
    placeholder = broker.ask("credentials")["credentials"][0]["placeholder"]
    done = broker.curl("-i", "-H", f"x-key: {placeholder}", "https://other.example.net/", name="other.example.net")
    assert b" 403 " in done.stdout.splitlines()[0] and b"sandgate-reason: credential-refused" in done.stdout
    assert not any(asked)


def test_another_policy_takes_a_credential_away(rig):
    server = rig.server(echo)
    broker = rig.broker_for(server, policy=CREDENTIALS)
    broker.say(f"secret 0 {SECRET}")
    assert broker.await_line()["ok"]
    placeholder = broker.ask("credentials")["credentials"][0]["placeholder"]
    assert broker.set_policy(ALLOW, 2)["ok"]
    assert broker.ask("credentials")["credentials"][0]["ended"]
    assert not broker.holds(SECRET.encode())
    done = broker.curl(f"https://{NAME}/")
    assert done.returncode == 0 and b"uthorization" not in done.stdout
    done = broker.curl("-i", "-H", f"Authorization: Bearer {placeholder}", f"https://{NAME}/")
    assert b" 403 " in done.stdout.splitlines()[0] and b"sandgate-reason: credential-refused" in done.stdout
    # Its secret is gone: when it comes back it is asked for again, by the same number, and also when
    # nobody answered the last time.
    assert broker.set_policy(CREDENTIALS, 3)["ok"]
    [row] = broker.ask("credentials")["credentials"]
    assert row["wanted"] and not row["ended"] and row["placeholder"] == placeholder
    for generation in (4, 6):
        threading.Thread(target=broker.curl, args=(f"https://{NAME}/",), daemon=True).start()
        assert broker.await_line() == {"op": "wanted", "credential": 0}
        assert broker.set_policy(ALLOW, generation)["ok"]
        assert broker.set_policy(CREDENTIALS, generation + 1)["ok"]


def test_another_policy_brings_a_credential(rig):
    """One that differs in its paths alone is another one, with a number that nothing had before."""
    broker = rig.broker_for(rig.server(echo))
    assert broker.ask("credentials")["credentials"] == []
    assert broker.set_policy(CREDENTIALS, 2)["ok"]
    broker.say(f"secret 0 {SECRET}")
    assert broker.await_line()["ok"]
    assert b"Bearer *" in broker.curl(f"https://{NAME}/").stdout
    assert broker.set_policy(CREDENTIALS.rstrip() + "\n    paths: [/v2/*]\n", 3)["ok"]
    first, second = broker.ask("credentials")["credentials"]
    assert first["ended"] and second["wanted"] and not second["ended"]
    broker.say(f"secret 0 {SECRET}")
    assert not broker.await_line()["ok"]
    broker.say(f"secret 1 {SECRET}2")
    assert broker.await_line()["ok"]
    assert b"uthorization" not in broker.curl(f"https://{NAME}/v1/a").stdout
    assert b"Bearer *" in broker.curl(f"https://{NAME}/v2/a").stdout


def test_more_credentials_than_a_broker_can_number(rig):
    broker = rig.broker_for(rig.server(echo))
    for round in range(8):
        text = ALLOW + "credentials:\n" + "".join(
            f"  - host: h{round}-{n}.example.net\n    header: x-key\n    value: \"${{secret}}\"\n    from: env:TOKEN\n" for n in range(32))
        assert broker.set_policy(text, 2 + round)["ok"]
    assert len(broker.ask("credentials")["credentials"]) == 256
    answer = broker.set_policy(CREDENTIALS, 20)
    assert not answer["ok"] and "256" in answer["why"] and "start it again" in answer["why"]
    assert broker.ask("status")["generation"] == 9


# --- locked memory ---

def run_as_ordinary_user(rig, memlock, policy, lines):
    """The messages of a broker whose person may lock so many octets; each line is answered before the next."""
    broker = rig.broker((NAME, 443, "tls", 1), policy=policy, wrapper=lambda argv: [
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "prlimit", f"--memlock={memlock}:{memlock}",
        *argv])
    answers = [broker.first]
    for line in lines if broker.pid else ():
        broker.say(line)
        answers.append(broker.await_line())
    return answers


def test_a_person_who_may_lock_too_little_is_told_how_to_raise_it(rig):
    [failed] = run_as_ordinary_user(rig, 128 << 10, CREDENTIALS, [])
    assert failed["op"] == "failed"
    assert "raise the limit of locked memory (ulimit -l) to 1 MiB or more" in failed["why"]


def test_an_ordinary_person_may_lock_enough(rig):
    """8 MiB are usual; 32 secrets of a usual length are far from that."""
    policy = ALLOW + "credentials:\n" + "".join(
        f"  - host: h{n}.example.net\n    header: x-key\n    value: \"${{secret}}\"\n    from: env:TOKEN\n"
        for n in range(32))
    ready, *answers = run_as_ordinary_user(rig, 8 << 20, policy,
                                           [f"secret {n} {'s' * 2000}{n}" for n in range(32)])
    assert ready["op"] == "ready" and [a["ok"] for a in answers] == [True] * 32


def test_a_secret_that_does_not_fit_is_an_error_and_no_end(rig):
    policy = ALLOW + "credentials:\n" + "".join(
        f"  - host: h{n}.example.net\n    header: x-key\n    value: \"${{secret}}\"\n    from: env:TOKEN\n"
        for n in range(32))
    ready, *answers = run_as_ordinary_user(rig, 1 << 20, policy,
                                           [f"secret {n} {'s' * 7000}{n}" for n in range(32)])
    assert ready["op"] == "ready" and answers[0]["ok"]
    failed = [a for a in answers if not a["ok"]]
    # AddressSanitizer makes mlock() do nothing, so everything fits there.
    assert failed or SANITIZED
    assert all("raise the limit of locked memory (ulimit -l)" in a["why"] for a in failed)
