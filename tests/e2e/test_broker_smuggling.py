# SPDX-License-Identifier: Apache-2.0
"""Requests through the broker's HTTP/1.1 codecs to real servers: none is read that was not judged.

    raw octets → relay (judges) → nginx, node or haproxy → what it was led to believe

nginx and haproxy pass on what they read to a node that writes it down, and log it themselves too.
"""

import collections
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

import smuggling
from internet.netns import Place

FULL = os.environ.get("SANDGATE_FULL") == "1"
MUTANTS = 5000 if FULL else 400

RELAY, FRONT, RECORDER = 8001, 8002, 8003
RECORDER_JS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "broker", "recorder.js")

NGINX = f"""
daemon off; master_process off; user root; pid nginx.pid; error_log stderr crit;
events {{ worker_connections 512; }}
http {{
  log_format seen escape=json '{{"method":"$request_method","path":"$request_uri"}}';
  access_log seen.log seen;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  large_client_header_buffers 8 64k;
  server {{
    listen 127.0.0.1:{FRONT};
    location / {{
      proxy_pass http://127.0.0.1:{RECORDER};
      proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_request_buffering off;
    }}
  }}
}}
"""

# The octets of the answer (%B) make haproxy log a request once, at its end.
HAPROXY = f"""
defaults
  mode http
  log-format "%{{+Q}}HM %{{+Q}}HU %B"
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend in
  bind 127.0.0.1:{FRONT}
  log stdout format raw local0
  default_backend out
backend out
  server recorder 127.0.0.1:{RECORDER}
"""


class Loopback:
    """A namespace with nothing but loopback, and programs in it that end with it: in a `with`, so
    that a later one that does not start leaves none of those before it."""

    def __init__(self, folder):
        self.place, self.folder = Place(), folder
        self.place.ip("link set lo up")
        self._running = []

    def start(self, argv, port, name):
        """Runs it with its output in the file `name`, until it listens."""
        with open(self.folder / name, "wb") as output:
            process = self.place.popen(argv, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, cwd=self.folder)
        self._running.append(process)
        deadline = time.monotonic() + 60
        while True:
            try:
                return self.dial(port).close()
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, \
                    (self.folder / name).read_text(errors="replace")
                time.sleep(0.02)

    def dial(self, port):
        return self.place.call(lambda: socket.create_connection(("127.0.0.1", port), 20))

    def lines(self, name):
        return (self.folder / name).read_text(errors="replace").splitlines()

    @property
    def alive(self):
        return [process.args for process in self._running if process.poll() is None]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self._running):
            process.terminate()
        for process in self._running:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.place.close()


def _nginx(loop):
    (loop.folder / "nginx.conf").write_text(NGINX)
    loop.start(["nginx", "-p", str(loop.folder), "-c", "nginx.conf"], FRONT, "front.out")
    return lambda: [(seen["method"], seen["path"]) for seen in map(json.loads, loop.lines("seen.log"))
                    if seen["method"]]


def _haproxy(loop):
    (loop.folder / "haproxy.cfg").write_text(HAPROXY)
    loop.start(["haproxy", "-db", "-f", "haproxy.cfg"], FRONT, "front.out")

    def seen():
        rows = re.findall(r'^"(.*)" "(.*)" \d+$', "\n".join(loop.lines("front.out")), re.MULTILINE)
        return [tuple(re.sub("#([0-9A-F]{2})", lambda escaped: chr(int(escaped[1], 16)), part)
                      for part in row) for row in rows if row[0] != "<BADREQ>"]
    return seen


# What starts the server in front, and answers what it logged that it had read; node needs none.
FRONTS = {"nginx": _nginx, "haproxy": _haproxy, "node": None}


class Chain:
    """The relay with a real server behind it."""

    def __init__(self, loop, relay, server, *versions):
        """versions: of HTTP, in front of the relay and behind it."""
        self.loop = loop
        self.loop.start(["node", RECORDER_JS, str(RECORDER)], RECORDER, "recorded")
        front = FRONTS[server]
        self.front_saw = front(self.loop) if front else lambda: []
        self.loop.start([relay, str(RELAY), str(FRONT if front else RECORDER), *versions], RELAY, "judged")
        self._number = 0

    def send(self, octets):
        """On a connection of its own, to its end: what came back."""
        self._number += 1
        got = b""
        with self.loop.dial(RELAY) as s:
            try:
                s.sendall(smuggling.numbered(octets, self._number))
                s.shutdown(socket.SHUT_WR)
                while part := s.recv(65536):
                    got += part
            except ConnectionError:  # refused before all was sent, or cut
                pass
        return self._number, got

    def judged(self):
        """[method, path, authority, body, whole] of each, in order."""
        made = []
        for word, *rest in map(str.split, self.loop.lines("judged")):
            if word == "request":
                made.append([bytes.fromhex(part).decode("latin-1") for part in rest] + [b"", False])
            elif word == "body":
                made[-1][3] += bytes.fromhex(rest[0])
            elif word == "end":
                made[-1][4] = True
        return [tuple(one) for one in made]

    def recorded(self):
        return [(seen["method"], seen["path"], seen["host"], bytes.fromhex(seen["body"]), seen["whole"])
                for seen in map(json.loads, self.loop.lines("recorded"))]

    def check(self):
        """What was read is what was judged, no more often; a body that was cut is its beginning."""
        judged, recorded = self.judged(), self.recorded()
        unjudged = collections.Counter(r for r in recorded if r[4]) - collections.Counter(
            judged_whole(judged))
        assert not unjudged, unjudged
        for method, path, host, body, whole in recorded:
            assert whole or any(j[:3] == (method, path, host) and j[3].startswith(body)
                                for j in judged), (method, path, host, body)
        extra = collections.Counter(self.front_saw()) - collections.Counter(j[:2] for j in judged)
        assert not extra, extra


def judged_whole(judged):
    """An upgrade has no end of its body; what is recorded of it has none either."""
    return [one[:4] + (True,) for one in judged]


@pytest.fixture(params=FRONTS)
def chain(request, tmp_path, program, needs):
    needs(request.param, "node")
    relay = os.path.join(os.path.dirname(program), "tests", "broker", "relay")
    with Loopback(tmp_path) as loop:
        yield Chain(loop, relay, request.param)


@pytest.mark.parametrize("server", FRONTS)
def test_a_chain_that_is_not_made_leaves_nothing(tmp_path, needs, server):
    needs(server, "node")
    with pytest.raises(FileNotFoundError), Loopback(tmp_path) as loop:
        Chain(loop, str(tmp_path / "relay"), server)
    assert loop.alive == []
    with pytest.raises(AssertionError), Loopback(tmp_path) as loop:
        Chain(loop, shutil.which("false"), server)
    assert loop.alive == []


def test_good_requests_arrive_as_they_were_judged(chain):
    expected = []
    for octets, requests in smuggling.GOOD:
        number, got = chain.send(octets)
        assert got.count(b"HTTP/1.1 200 OK\r\n") == len(requests), (octets, got)
        expected += [(method, smuggling.numbered(path.encode(), number).decode(), "a.example",
                      smuggling.numbered(body, number), True) for method, path, body in requests]
    assert chain.judged() == expected
    assert chain.recorded() == expected
    chain.check()


def test_no_request_hides_in_another(chain):
    for octets in smuggling.BAD:
        _, got = chain.send(octets)
        status = got.rsplit(b"HTTP/1.1 ", 1)[-1][:3]
        assert status[:1] in b"45" and status, (octets[:300], got)
    hidden = [one for one in chain.recorded() if one[1].startswith("/s")]
    assert not hidden
    chain.check()


def test_no_accident_makes_one(chain):
    for octets in smuggling.mutants(MUTANTS, seed=41):
        chain.send(octets)
    assert len(chain.recorded()) > MUTANTS // 20
    chain.check()
