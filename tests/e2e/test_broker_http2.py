# SPDX-License-Identifier: Apache-2.0
"""The broker's HTTP/2 codecs between real clients and servers, in clear text (the relay of tests/broker).

    curl, nghttp, h2load or raw frames → relay → nghttpd, or node over HTTP/1.1
"""

import hashlib
import os
import subprocess

import pytest

from test_broker_smuggling import RELAY, Chain, Loopback

SERVER = 8005
MIB = 1 << 20


class Place:
    """A relay with a server behind it, in a namespace of its own."""

    def __init__(self, loop, relay):
        self.loop, self.folder, self._relay = loop, loop.folder, relay

    def serve(self, *options):
        self.loop.start(["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", str(self.folder), *options,
                         str(SERVER)], SERVER, "nghttpd.out")
        self.relay(SERVER, "h2", "h2")

    def relay(self, port, front, back):
        self.loop.start([self._relay, str(RELAY), str(port), front, back], RELAY, "judged")

    def run(self, *argv, **more):
        process = self.loop.place.popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, cwd=self.folder, **more)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (out[-2000:], err[-2000:])
        return out

    def curl(self, *argv):
        return self.run("curl", "--http2-prior-knowledge", "-sS", "--fail", *argv)

    def url(self, path="/"):
        return f"http://127.0.0.1:{RELAY}{path}"


@pytest.fixture
def place(tmp_path, program, needs):
    needs("nghttpd", "nghttp", "h2load", "curl", "node")
    with Loopback(tmp_path) as loop:
        yield Place(loop, os.path.join(os.path.dirname(program), "tests", "broker", "relay"))


def _hash(octets):
    return hashlib.sha256(octets).hexdigest()


def test_100_mb_down_and_up(place):
    body = os.urandom(MIB) * 100
    (place.folder / "file").write_bytes(body)
    place.serve("--echo-upload")
    assert _hash(place.curl(place.url("/file"))) == _hash(body)
    # nghttpd sends it back as it comes: both ways at once.
    assert _hash(place.curl("--data-binary", "@file", place.url())) == _hash(body)


@pytest.mark.parametrize("bits", [16, 20, 30])
def test_windows_of_any_size(place, bits):
    (place.folder / "file").write_bytes(os.urandom(5 * MIB))
    place.serve(f"--window-bits={bits}", f"--connection-window-bits={bits}")
    out = place.run("nghttp", "-n", "-s", f"--window-bits={bits}",
                    f"--connection-window-bits={bits}", "-m", "4", place.url("/file"))
    assert out.count(b" 200 ") == 4, out


def test_requests_on_many_streams(place):
    (place.folder / "file").write_bytes(b"x" * 100)
    place.serve()
    out = place.run("h2load", "-n", "20000", "-c", "4", "-m", "100", place.url("/file")).decode()
    assert "20000 succeeded, 0 failed" in out, out
    judged = [line for line in place.loop.lines("judged") if line.startswith("request")]
    assert len(judged) == 20000


def test_uploads_on_many_streams(place):
    (place.folder / "data").write_bytes(os.urandom(100000))
    place.serve("--echo-upload")
    out = place.run("h2load", "-n", "1000", "-c", "2", "-m", "20", "-d", "data", place.url()).decode()
    assert "1000 succeeded, 0 failed" in out, out
    assert f"{1000 * 100000}) data" in out.replace("(", "").replace(",", ""), out


def test_trailers_both_ways(place):
    (place.folder / "file").write_bytes(b"hello")
    place.serve("--trailer", "x-end: 1", "-v")
    out = place.run("nghttp", "-v", "-d", "file", "--trailer", "x-sum: 7",
                    place.url("/file")).decode()
    assert "recv (stream_id=" in out and "x-end: 1" in out, out
    assert any("x-sum: 7" in line for line in place.loop.lines("nghttpd.out"))


def test_curl_sends_a_large_head(place):
    (place.folder / "file").write_bytes(b"hello")
    place.serve()
    fields = [a for i in range(50) for a in ("-H", f"x-{i}: {'v' * 1000}")]
    assert place.curl(*fields, place.url("/file")) == b"hello"


def test_a_head_that_is_too_large_is_answered(place):
    place.serve()
    fields = [a for i in range(130) for a in ("-H", f"x-{i}: v")]
    out = place.run("curl", "--http2-prior-knowledge", "-sS", "-o", "/dev/null", "-w",
                    "%{http_code} %{http_version}", *fields, place.url("/file"))
    assert out == b"431 2"


# --- to a server of HTTP/1.1 ---

@pytest.fixture
def to_http1(tmp_path, program, needs):
    """The recorder behind the relay; send() takes frames."""
    needs("node", "curl", "h2load")
    relay = os.path.join(os.path.dirname(program), "tests", "broker", "relay")
    with Loopback(tmp_path) as loop:
        yield Chain(loop, relay, "node", "h2", "h1")


def _frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") +
            payload)


def _literal(fields):
    out = b""
    for name, value in fields:
        out += b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    return out


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0)
RESET = b"\0\0\x04\x03\0"  # the head of a RST_STREAM
EVIL = b"GET /evil HTTP/1.1\r\nHost: a.example\r\n\r\n"


def _request(stream, *fields, path=b"/x", method=b"POST"):
    return _frame(1, 4, stream, _literal([
        (b":method", method), (b":scheme", b"http"), (b":authority", b"a.example"), (b":path", path),
        *fields]))


def _exchange(chain, frames):
    """One connection, until the stream is reset."""
    got = b""
    with chain.loop.dial(RELAY) as s:
        s.sendall(PREFACE + frames)
        s.settimeout(20)
        while RESET not in got:
            part = s.recv(65536)
            if not part:
                break
            got += part
    return got


SMUGGLES = [
    _request(1, (b"transfer-encoding", b"chunked")) + _frame(0, 1, 1, b"0\r\n\r\n" + EVIL),
    _request(1, (b"content-length", b"0")) + _frame(0, 1, 1, EVIL),
    _request(1, (b"content-length", b"5")) + _frame(0, 1, 1, b"01234" + EVIL),
    _request(1, (b"x", b"a\r\ntransfer-encoding: chunked")) + _frame(0, 1, 1, b"0\r\n\r\n" + EVIL),
    _request(1, (b"x", b"a\n\n" + EVIL)) + _frame(0, 1, 1),
    _request(1, (b"x: y\r\ntransfer-encoding", b"chunked")) + _frame(0, 1, 1, b"0\r\n\r\n" + EVIL),
    _request(1, path=b"/x HTTP/1.1\r\nHost: a.example\r\n\r\n" + EVIL) + _frame(0, 1, 1),
    _request(1, method=b"GET /evil HTTP/1.1\r\nx:") + _frame(0, 1, 1),
    _request(1, (b"connection", b"content-length")) + _frame(0, 1, 1, EVIL),
    _request(1, (b"content_length", b"0")) + _frame(0, 1, 1, EVIL),
    _request(1, (b"host", b"b.example")) + _frame(0, 1, 1, EVIL),
    _request(1, (b"upgrade", b"h2c")) + _frame(0, 1, 1, EVIL),
]


@pytest.mark.parametrize("frames", SMUGGLES, ids=range(len(SMUGGLES)))
def test_nothing_is_smuggled_to_http1(to_http1, frames):
    got = _exchange(to_http1, frames)
    assert RESET in got, got
    assert not any(path == "/evil" for _, path, *_ in to_http1.recorded())
    to_http1.check()


def test_octets_of_a_body_stay_a_body(to_http1):
    body = b"0\r\n\r\n" + EVIL
    (to_http1.loop.folder / "body").write_bytes(body)
    run = to_http1.loop.place.popen(
        ["curl", "--http2-prior-knowledge", "-sS", "--fail", "--data-binary", "@body", "-H",
         "host: a.example", f"http://127.0.0.1:{RELAY}/x"], stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL, cwd=to_http1.loop.folder)
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert to_http1.recorded() == [("POST", "/x", "a.example", body, True)]
    to_http1.check()


def test_many_requests_to_http1_are_those_that_were_judged(to_http1):
    run = to_http1.loop.place.popen(
        ["h2load", "-n", "2000", "-c", "2", "-m", "20", f"http://127.0.0.1:{RELAY}/x"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    out, _ = run.communicate(timeout=120)
    assert b"2000 succeeded, 0 failed" in out, out
    assert len(to_http1.recorded()) == 2000
    to_http1.check()
