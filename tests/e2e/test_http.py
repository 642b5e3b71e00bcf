# SPDX-License-Identifier: Apache-2.0
"""Plain HTTP/1.1: a verdict for each request, strict about framing, transparent about bodies."""

import asyncio
import hashlib
import json
import os

import pytest

from internet.web import Response
from program import SANITIZED

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

FULL = os.environ.get("SANDGATE_FULL") == "1"

# Sends octets on one connection and reports the status lines and how it ended.
RAW = """
import re
def talk(address, octets, pause=0.0, port=80):
    s = dial(address, port, 4)
    for part in octets if isinstance(octets, list) else [octets]:
        try:
            s.sendall(part)
        except OSError:
            break
        if pause: time.sleep(pause)
    try:
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    got = b""
    end = "end"
    try:
        while part := s.recv(65536): got += part
    except OSError as problem:
        end = errname(problem)
    statuses = [int(code) for code in re.findall(rb"HTTP/1\\.[01] (\\d+) ", got)]
    return {"statuses": statuses, "end": end, "text": got.decode("latin-1")[-300:]}
"""


def admitted(box, *names):
    for name in names:
        assert box.run(f"getent hosts {name}").ok


@pytest.mark.engines
def test_a_name_that_is_not_allowed_gets_403_with_the_remedy(world, sandgate):
    site = world.site("api.example.com", "other.example.com")
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    got = box.curl("http://other.example.com/", "-i", "--resolve",
                   f"other.example.com:80:{site.address}")
    head, _, body = got.out.partition("\n\n")
    assert " 403 " in head.splitlines()[0]
    assert "other.example.com" in body and len(body.strip().splitlines()) == 1, body
    assert site.requests == []


@pytest.mark.engines
def test_every_request_of_a_kept_connection_is_judged(world, sandgate):
    """The bypass list, fronting: Host is checked on every keep-alive request; answers in order."""
    site = world.site("api.example.com", "other.example.com",
                      handler=lambda r: f"{r.header('host')}{r.target}\n")
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    got = box.python(RAW + """
good = lambda n: b"GET /%d HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n" % n
bad = b"GET /bad HTTP/1.1\\r\\nHost: other.example.com\\r\\n\\r\\n"
report(case="one by one", **talk(sys.argv[1], [good(1), good(2), bad, good(3)], 0.1))
report(case="pipelined", **talk(sys.argv[1], good(1) + good(2) + bad + good(3)))
""", site.address)
    for line in got.lines:
        assert line["statuses"] == [200, 200, 403], line
    assert [r.target for r in site.requests] == ["/1", "/2"] * 2
    assert box.egress()["requests"]["refused"] >= 2


def test_a_later_refusal_does_not_wait_for_a_server_that_never_closes(world, sandgate):
    """The answers before it come first, but not for ever."""
    address = world.address()
    world.name("api.example.com", address)

    async def never_close(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await asyncio.sleep(60)

    world.tcp(address, 80, never_close)
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    got = box.python(RAW.replace("4)", "30)") + """
one = lambda host: b"GET / HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % host
report(**talk(sys.argv[1], one(b"api.example.com") + one(b"other.example.com")))
""", address)
    assert got.json["statuses"] == [200, 403], got


def test_a_later_head_that_is_too_large_is_refused_at_once(world, sandgate):
    site = world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    got = box.python(RAW + """
head = b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n"
began = time.monotonic()
got = talk(sys.argv[1], [head + b"\\r\\n", head + b"X: " + b"x" * 70000 + b"\\r\\n\\r\\n"], 0.1)
report(seconds=time.monotonic() - began, **got)
""", site.address)
    assert got.json["statuses"] == [200, 403] and got.json["seconds"] < 3, got


def get(*fields, target="/", host="Host: api.example.com", version="HTTP/1.1"):
    return "\r\n".join([f"GET {target} {version}", host, *fields, "", ""])


def post(*fields, body="", version="HTTP/1.1"):
    return "\r\n".join([f"POST / {version}", "Host: api.example.com", *fields, "", body])


CHUNKED = "Transfer-Encoding: chunked"
LAST = "0\r\n\r\n"
SMUGGLING = {
    "content-length with transfer-encoding": post("Content-Length: 6", CHUNKED, body=LAST + "G"),
    "two content-lengths": post("Content-Length: 1", "Content-Length: 2", body="ab"),
    "content-lengths in a list": post("Content-Length: 1, 2", body="ab"),
    "a sign": post("Content-Length: +1", body="a"),
    "an underscore": post("Content-Length: 1_0", body="0123456789"),
    "hexadecimal": post("Content-Length: 0x1", body="a"),
    "over 2^63": post("Content-Length: 9223372036854775808", body="a"),
    "a coding that is not chunked": post("Transfer-Encoding: xchunked", body=LAST),
    "chunked not last": post("Transfer-Encoding: chunked, gzip", body=LAST),
    "chunked twice": post(CHUNKED, CHUNKED, body=LAST),
    "chunked in 1.0": post(CHUNKED, body=LAST, version="HTTP/1.0"),
    "a folded line": get("X: a\r\n b"),
    "a space before the colon": get("Transfer-Encoding : chunked"),
    "bare LF": "GET / HTTP/1.1\nHost: api.example.com\n\n",
    "bare CR": get("X: a\rb"),
    "NUL": get("X: a\0b"),
    "NUL in the host": get(host="Host: api.example.com\0.evil.net"),
    "chunk size overflow": post(CHUNKED, body="fffffffffffffffff\r\nab\r\n" + LAST),
    "LF in a chunk extension": post(CHUNKED, body="2;\nxx\r\nab\r\n" + LAST),
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "two hosts": get("Host: other.example.com"),
    "the same host twice": get("Host: api.example.com"),
    "userinfo": get(target="http://api.example.com@other.example.com/",
                    host="Host: other.example.com"),
    "a control character in the target": get(target="/a\x01b"),
    "absolute form unlike host": get(target="http://other.example.com/"),
    "leading junk": "\0\0" + get(),
    "an empty line first": "\r\n" + get(),
    "no protocol": "SSH-2.0-OpenSSH\r\n\r\n",
    "a TLS hello": "\x16\x03\x01\x00\x05hello",
    "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": "GET /\r\n\r\n",
    "CONNECT": get(target="other.example.com:443", host="Host: other.example.com:443").replace(
        "GET", "CONNECT"),
    "a port in the host that is another": get(host="Host: other.example.com:80"),
    "a host with a path": get(host="Host: api.example.com/x"),
    "129 fields": get(*["X: y"] * 128),
    "a head over 64 KiB": get("X: " + "y" * 66000),
}


def test_smuggling_and_malformed_requests_are_refused(world, sandgate):
    """RFC 9112; the bypass list, smuggling: nothing of such a request reaches the far side."""
    heard = []

    async def hear(reader, writer):
        heard.append(await reader.read(-1))
        writer.close()
    address = world.address()
    world.tcp(address, 80, hear)
    for name in ("api.example.com", "other.example.com"):
        world.name(name, address)
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    cases = {name: text.encode("latin-1").hex() for name, text in SMUGGLING.items()}
    got = box.python(RAW + """
for name, text in json.load(sys.stdin).items():
    report(case=name, **talk(sys.argv[1], bytes.fromhex(text)))
""", address, timeout=120, input=json.dumps(cases))
    lines = {line.pop("case"): line for line in got.lines}
    assert len(lines) == len(SMUGGLING)
    wrong = {case: line for case, line in lines.items()
             if not (set(line["statuses"]) <= {400, 403, 431, 505} and len(line["statuses"]) <= 1)}
    assert wrong == {}
    # Chunk faults show only in the body: the head may have passed, what is malformed may not.
    for octets in heard:
        assert b"other.example.com" not in octets and b"fffffffff" not in octets
        assert b"2;\n" not in octets and b"\nHost" not in octets.replace(b"\r\nHost", b"")


def test_requests_that_are_unusual_and_right(world, sandgate):
    site = world.site("api.example.com", handler=lambda r: f"{r.method} {r.target} {len(r.body)}\n")
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    cases = {
        "host in capitals": b"GET /1 HTTP/1.1\r\nHost: API.EXAMPLE.COM\r\n\r\n",
        "host with its port": b"GET /2 HTTP/1.1\r\nhost:api.example.com:80\r\n\r\n",
        "absolute form": b"GET http://api.example.com/3 HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
        "HTTP/1.0 with host": b"GET /4 HTTP/1.0\r\nHost: api.example.com\r\n\r\n",
        "chunked DELETE": b"DELETE /5 HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n"
                          b"3\r\nabc\r\n0\r\n\r\n",
        "a chunk extension and a trailer": b"POST /6 HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding:"
                                           b" Chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
        "a percent-coded slash": b"GET /@scope%2fname HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
        "a query with odd characters": b"GET /q?a=[1]&b={x}|y HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
        "one octet at a time": b"GET /8 HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
        "a head of 60 KiB": b"GET /9 HTTP/1.1\r\nHost: api.example.com\r\nCookie: " + b"c" * 60000
                            + b"\r\n\r\n",
        "options for the server": b"OPTIONS * HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    }
    got = box.python(RAW + """
for name, text in json.load(sys.stdin).items():
    octets = bytes.fromhex(text)
    slow = name == "one octet at a time"
    report(case=name, **talk(sys.argv[1], [bytes([b]) for b in octets] if slow else octets, 0.002 if slow else 0))
""", site.address, timeout=60, input=json.dumps({k: v.hex() for k, v in cases.items()}))
    wrong = [line for line in got.lines if line["statuses"] != [200]]
    assert wrong == []
    by_path = {r.target: r for r in site.requests}
    assert "/@scope%2fname" in by_path       # demands.md, relay 46: the raw path is forwarded
    assert by_path["/5"].body == b"abc"       # byte-exact, not re-framed


def test_large_bodies_stream_both_ways(world, sandgate):
    """demands.md, relay 37: a large upload to a slow server, and a large answer, in constant memory. 1 GiB in a full
    run, but where each instruction is emulated."""
    size = (1 << 30) if FULL and not sandgate.engine.own_kernel else (48 << 20)
    digests = {}

    async def take(request):
        digest, left = hashlib.sha256(), int(request.header("content-length"))
        while left:
            data = await request.connection.reader.read(min(left, 1 << 20))
            digest.update(data)
            left -= len(data)
            await asyncio.sleep(0)
        digests["up"] = digest.hexdigest()
        block = bytes(range(256)) * 256

        async def parts():
            for _ in range(size // len(block)):
                yield block
        return Response(parts())
    world.site("big.example.com", handler=take, streams_body=True, https=False)
    box = sandgate.box("--only", "big.example.com")
    got = box.run(f"head -c {size} /dev/zero | curl -sS -m 200 -T - -H 'Content-Length: {size}' "
                  "-H 'Transfer-Encoding:' -H 'Expect:' -X POST http://big.example.com/ | sha256sum",
                  timeout=300)
    assert got.out.split()[0] == hashlib.sha256(bytes(range(256)) * (size // 256)).hexdigest(), got
    assert digests["up"] == hashlib.sha256(bytes(size)).hexdigest()


def test_events_arrive_when_they_are_sent(world, sandgate):
    """demands.md, relay 40: SSE's first event within 100 ms, a gap is kept."""
    async def events(request):
        async def parts():
            yield b"data: one\n\n"
            await asyncio.sleep(2)
            yield b"data: two\n\n"
        return Response(parts(), headers=[("Content-Type", "text/event-stream")])
    world.site("events.example.com", handler=events)
    box = sandgate.box("--only", "events.example.com")
    got = box.python("""
address = socket.gethostbyname("events.example.com")
s = dial(address, 80)
started = time.monotonic()
http_get(s, "events.example.com")
got = b""
while b"one" not in got: got += s.recv(1000)
first = time.monotonic() - started
while b"two" not in got: got += s.recv(1000)
report(first=first, second=time.monotonic() - started)
""").json
    assert got["first"] < (0.1 if not SANITIZED else 0.5)
    assert 1.9 < got["second"] < 3


def test_a_web_socket_with_its_first_frame_in_the_same_segment(world, sandgate):
    """demands.md, clients 2 and relay 44: frames after 101 are not lost; then opaque."""
    async def switch(request):
        writer = request.connection.writer
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                     b"Connection: Upgrade\r\n\r\n\x81\x05first")

        async def echo():
            while data := await request.connection.reader.read(1000):
                writer.write(data)
            writer.close()
        asyncio.ensure_future(echo())
        return None
    world.site("ws.example.com", handler=switch, https=False)
    box = sandgate.box("--only", "ws.example.com")
    got = box.python("""
s = dial("ws.example.com", 80)
http_get(s, "ws.example.com", "/ws", "Upgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n")
got = b""
while b"first" not in got: got += s.recv(1000)
s.sendall(b"\\x81\\x85\\0\\0\\0\\0GET /")
echo = s.recv(1000)
report(head=got.split(b"\\r\\n")[0].decode(), echo=echo.hex())
""").json
    assert got == {"head": "HTTP/1.1 101 Switching Protocols", "echo": b"\x81\x85\0\0\0\0GET /".hex()}


def test_101_that_nobody_asked_for_is_not_believed(world, sandgate):
    """A switch that was not asked for does not make the connection opaque."""
    async def switch(request):
        writer = request.connection.writer
        writer.write(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
        return None
    site = world.site("api.example.com", "other.example.com", handler=switch, https=False)
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    box.python(RAW + """
report(**talk(sys.argv[1], [b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n",
                            b"GET /smuggled HTTP/1.1\\r\\nHost: other.example.com\\r\\n\\r\\n"], 0.3))
""", site.address)
    assert all(r.header("host") == "api.example.com" for r in site.requests)


def test_100_continue(world, sandgate):
    site = world.site("api.example.com", "other.example.com")
    box = sandgate.box("--only", "api.example.com")
    got = box.curl("http://api.example.com/", "-H", "Expect: 100-continue", "--data", "body", "-i")
    assert "100 Continue" in got.out and "hello" in got.out
    got = box.curl("http://other.example.com/", "-H", "Expect: 100-continue", "--data-binary",
                   "x" * 100000, "-i", "--resolve", f"other.example.com:80:{site.address}")
    assert " 403 " in got.out and "100 Continue" not in got.out


def test_rules_of_methods_and_paths(world, sandgate):
    """demands.md, policy 53: GET yes, POST no, on one host; every reading of a path must hold."""
    site = world.site("status.example.com", https=False)
    world.machine.write("/home/dev/paths.yaml", """
network: deny
allow:
  - host: status.example.com
    ports: [80]
    methods: [GET, HEAD]
    paths: ["/v1/public/*"]
""", "dev")
    box = sandgate.box("--policy", "/home/dev/paths.yaml")
    admitted(box, "status.example.com")
    expected = {
        ("GET", "/v1/public/x"): 200, ("HEAD", "/v1/public/x"): 200, ("GET", "/v1/public/a/b?q=1"): 200,
        ("POST", "/v1/public/x"): 403, ("DELETE", "/v1/public/x"): 403, ("get", "/v1/public/x"): 403,
        ("GET", "/v1/private"): 403, ("GET", "/v1/public/../private"): 403,
        ("GET", "/v1/public/%2e%2e/private"): 403, ("GET", "/v1/public/%252e%252e/private"): 403,
        ("GET", "/v1/public/..;/private"): 403, ("GET", "/v1%2fpublic/x"): 403,
        ("GET", "//v1/public/x"): 403, ("GET", "/V1/public/x"): 403, ("GET", "/"): 403,
    }
    cases = [[m, p] for m, p in expected]
    got = box.python(RAW + f"""
for method, path in {cases!r}:
    t = talk(sys.argv[1], f"{{method}} {{path}} HTTP/1.1\\r\\nHost: status.example.com\\r\\nConnection: close\\r\\n\\r\\n".encode())
    report(method=method, path=path, status=t["statuses"][:1])
""", site.address)
    seen = {(line["method"], line["path"]): (line["status"] or [None])[0] for line in got.lines}
    assert {k: v for k, v in seen.items() if v != expected[k]
            and not (expected[k] == 403 and v == 400)} == {}
    assert all(r.target.startswith("/v1/public/") for r in site.requests)


def test_a_refusal_with_an_unread_body_closes(world, sandgate):
    site = world.site("api.example.com", "other.example.com")
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    got = box.python(RAW + """
report(**talk(sys.argv[1], b"POST / HTTP/1.1\\r\\nHost: other.example.com\\r\\nContent-Length: 2000000\\r\\n\\r\\n"
              + b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n" * 40000))
""", site.address)
    assert got.json["statuses"] == [403], got
    assert site.requests == []


@pytest.mark.parametrize("kind", ["head", "nothing"])
def test_a_client_that_dawdles_is_timed_out(world, sandgate, kind):
    """Slow readers and writers do not hold a flow for ever, and no other is held up."""
    site = world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    admitted(box, "api.example.com")
    slow = box.start_python("""
s = dial(sys.argv[1], 80, 90)
s.sendall(b"GET / HTTP/1.1\\r\\nHo" if sys.argv[2] == "head" else b"")
started = time.monotonic()
try: s.recv(100)
except OSError: pass
report(seconds=time.monotonic() - started)
""", site.address, kind)
    assert box.curl("http://api.example.com/").ok
    if kind == "head":
        assert slow.wait(70).json["seconds"] < 65
    else:
        slow.kill()
