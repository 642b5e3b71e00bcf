# SPDX-License-Identifier: Apache-2.0
"""Access tokens of OAuth that the broker fetches itself: the token endpoint is a server of the test."""

import base64
import json
import os
import threading
import urllib.parse

import pytest

from broker_rig import NAME, PATIENCE, Rig, read_exactly, read_head, until

LOGIN = "login.example.net"
REFRESH_TOKEN = "refresh-token-of-the-person"
CREDENTIALS = f"""network: deny
allow: [{NAME}, {LOGIN}]
inspect: all
credentials:
  - host: {NAME}
    header: Authorization
    value: "Bearer ${{secret}}"
    from: env:REFRESH_TOKEN
    refresh:
      url: https://{LOGIN}/oauth/token
      client_id: the-client
"""


@pytest.fixture
def rig(program):
    r = Rig(program)
    yield r
    r.close()


class TokenServer:
    """Answers with `answer(n)`: (status, object) for the n-th request; `asked` has heads and forms."""

    def __init__(self, answer):
        self.asked = []
        self._answer = answer
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, connection):
        head, rest = read_head(connection)
        if not head:
            return
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                      if line.lower().startswith(b"content-length:"))
        body, _ = read_exactly(connection, length, rest)
        self.asked.append((head.decode(), dict(urllib.parse.parse_qsl(body.decode()))))
        assert self.go_on.wait(PATIENCE)
        status, answer = self._answer(len(self.asked))
        text = json.dumps(answer).encode()
        connection.sendall(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                           % (status, len(text), text))


def token(n, expires_in=3600, **more):
    return 200, {"access_token": f"access-token-{n}", "token_type": "Bearer", "expires_in": expires_in, **more}


class World:
    def __init__(self, rig, answer, policy=CREDENTIALS, login_names=(LOGIN,), **patience):
        self.seen = []
        self.tokens = TokenServer(answer)
        api = rig.server(self._serve)
        login = rig.server(self.tokens, names=login_names)
        self.broker = rig.broker((NAME, 443, "tls", api.port), (LOGIN, 443, "tls", login.port), policy=policy,
                                 **patience)

    def _serve(self, connection):
        rest = b""
        while True:
            head, rest = read_head(connection, rest)
            if not head:
                return
            self.seen += [line.split(b": ")[1].decode() for line in head.split(b"\r\n")
                          if line.lower().startswith(b"authorization")]
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")

    def give(self, secret=REFRESH_TOKEN, number=0):
        self.broker.say(f"secret {number} {secret}")
        answer = self.broker.await_line()
        assert answer["ok"], answer

    def ask(self):
        return self.broker.curl("-i", f"https://{NAME}/").stdout.decode()


def test_a_request_waits_for_an_access_token(rig):
    w = World(rig, token)
    result = []
    thread = threading.Thread(target=lambda: result.append(w.ask()))
    thread.start()
    assert w.broker.await_line() == {"op": "wanted", "credential": 0}
    assert not w.tokens.asked
    w.give()
    thread.join(PATIENCE)
    assert " 200 " in result[0].splitlines()[0] and w.seen == ["Bearer access-token-1"]
    [(head, form)] = w.tokens.asked
    assert head.startswith("POST /oauth/token HTTP/1.1\r\n") and f"host: {LOGIN}\r\n" in head
    assert form == {"grant_type": "refresh_token", "refresh_token": REFRESH_TOKEN, "client_id": "the-client"}
    # The token serves for the next ones, and neither secret is anywhere but in locked memory.
    w.ask()
    assert w.seen == ["Bearer access-token-1"] * 2 and len(w.tokens.asked) == 1
    until(lambda: w.broker.ask("status")["connections"] == 0)
    for secret in (REFRESH_TOKEN, "access-token-1"):
        assert w.broker.holds(secret.encode()) == []


def test_many_requests_ask_once(rig):
    w = World(rig, token)
    w.give()
    w.tokens.go_on.clear()
    threads = [threading.Thread(target=w.ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    until(lambda: w.broker.ask("status")["requests"]["open"] == 20 and len(w.tokens.asked) == 1)
    w.tokens.go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert w.seen == ["Bearer access-token-1"] * 20 and len(w.tokens.asked) == 1


def test_a_token_is_fetched_anew_before_it_is_over(rig):
    """Without a request, with the refresh token that the server gave last."""
    w = World(rig, lambda n: token(n, expires_in=3 if n == 1 else 3600, refresh_token=f"refresh-token-{n}"))
    w.give()
    w.ask()
    until(lambda: len(w.tokens.asked) == 2)
    assert w.tokens.asked[1][1]["refresh_token"] == "refresh-token-1"
    until(lambda: w.ask() and w.seen[-1] == "Bearer access-token-2")
    assert len(w.tokens.asked) == 2


def test_what_nobody_uses_is_not_fetched_in_advance(rig):
    """A token that is over is fetched when it is needed, and the request waits."""
    w = World(rig, lambda n: token(n, expires_in=1))
    w.give()
    w.ask()
    until(lambda: len(w.tokens.asked) == 2)  # that one was used, the second is not
    until(lambda: w.broker.ask("credentials")["credentials"][0]["wanted"] is False)
    threading.Event().wait(2.5)  # longer than the second lasts
    assert len(w.tokens.asked) == 2
    w.ask()
    assert w.seen[-1] == "Bearer access-token-3"


def test_a_refused_refresh_token_is_told_once_and_not_tried_again_and_again(rig):
    w = World(rig, lambda n: (400, {"error": "invalid_grant", "error_description": REFRESH_TOKEN}))
    w.give()
    for _ in range(5):
        answer = w.ask()
        assert " 502 " in answer.splitlines()[0] and "sandgate-reason: credential-missing" in answer
        assert "invalid_grant" in answer and "sign in again outside of the sandbox" in answer
        assert REFRESH_TOKEN not in answer
    assert len(w.tokens.asked) == 1 and w.seen == []
    failing = w.broker.await_line()
    assert failing["op"] == "failing" and failing["credential"] == 0 and "invalid_grant" in failing["why"]
    assert w.broker.ask("status")["op"] == "status"  # it was said once
    # A new sign-in, which the supervisor may hand in at any time.
    w.tokens._answer = token
    w.give("another-refresh-token")
    assert " 200 " in w.ask().splitlines()[0]
    assert w.tokens.asked[-1][1]["refresh_token"] == "another-refresh-token"


@pytest.mark.parametrize("what, says", [
    ("certificate", "its certificate is for another name"), ("dial", "Connection refused"),
    ("silence", "it took too long"), ("no-json", "no JSON object")])
def test_a_token_endpoint_that_cannot_be_asked(rig, what, says):
    w = World(rig, lambda n: (200, [] if what == "no-json" else token(n)[1]), head=300,
              login_names=("other.example.net",) if what == "certificate" else (LOGIN,),
              policy=CREDENTIALS.replace(f"https://{LOGIN}", "https://nowhere.example.net")
              if what == "dial" else CREDENTIALS)
    if what == "silence":
        w.tokens.go_on.clear()
    w.give()
    answer = w.ask()
    w.tokens.go_on.set()
    assert " 502 " in answer.splitlines()[0] and says in answer, answer
    assert w.seen == [] and len(w.tokens.asked) == (what in ("silence", "no-json"))


def test_an_answer_that_is_too_large_or_cut(rig):
    w = World(rig, lambda n: (200, {"access_token": "x" * 70000}) if n == 1 else token(n))
    w.give()
    assert "its answer is not whole, or too large" in w.ask()


def test_a_client_with_a_secret_says_who_it_is(rig):
    w = World(rig, token, policy=CREDENTIALS.rstrip() + "\n      client_secret: env:CLIENT_SECRET\n")
    w.give()
    result = []
    thread = threading.Thread(target=lambda: result.append(w.ask()))
    thread.start()
    assert w.broker.await_line() == {"op": "wanted", "credential": 0, "part": "client-secret"}
    w.broker.say("client-secret 0 the:client+secret")
    assert w.broker.await_line()["ok"]
    thread.join(PATIENCE)
    assert w.seen == ["Bearer access-token-1"]
    [(head, form)] = w.tokens.asked
    basic = base64.b64encode(b"the-client:the%3Aclient%2Bsecret").decode()
    assert f"authorization: Basic {basic}\r\n" in head and "client_id" not in form
    until(lambda: w.broker.ask("status")["connections"] == 0)
    for secret in ("the:client+secret", "the%3Aclient%2Bsecret", basic):
        assert w.broker.holds(secret.encode()) == []


def test_a_client_inside_that_refreshes_by_itself_gets_a_placeholder(rig):
    w = World(rig, token)
    w.give()
    placeholder = w.broker.ask("credentials")["credentials"][0]["placeholder"]
    for version in ("--http1.1", "--http2"):
        done = w.broker.curl(version, "-i", "-d", f"grant_type=refresh_token&refresh_token={placeholder}",
                             f"https://{LOGIN}/oauth/token", name=LOGIN, site=1)
        head, body = done.stdout.decode().split("\r\n\r\n", 1)
        assert " 200 " in head.splitlines()[0] + " " and "no-store" in head
        answer = json.loads(body)
        assert answer["access_token"] == placeholder and answer["token_type"] == "Bearer"
        assert answer["refresh_token"] == placeholder and answer["expires_in"] > 0
    assert w.tokens.asked == []
    # Its own goes its way, and what is no request for a token as well.
    done = w.broker.curl("-d", "grant_type=refresh_token&refresh_token=its-own",
                         f"https://{LOGIN}/oauth/token", name=LOGIN, site=1)
    assert json.loads(done.stdout)["access_token"] == "access-token-1"
    assert w.tokens.asked[0][1]["refresh_token"] == "its-own"


def test_a_gate_that_goes_takes_its_dials_along(rig):
    """The next request asks the next gate."""
    w = World(rig, token)
    w.give()
    w.broker.say("gate")
    until(lambda: w.broker.ask("status")["connections"] == 0)
    w.broker.say("new-gate")
    assert w.broker.await_line()["ok"]
    assert " 200 " in w.ask().splitlines()[0]
    assert os.path.exists(f"/proc/{w.broker.pid}")
