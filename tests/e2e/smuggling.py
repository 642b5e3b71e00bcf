# SPDX-License-Identifier: Apache-2.0
"""Ways to make two readers of one HTTP/1.1 connection see different requests.

In each, @@@@@ stands for a number of its own, so that a request can be told from all others: /c@@@@@ is
the one on the outside, /s@@@@@ the one that hides in it.
"""

import random

HOST = b"Host: a.example\r\n"
INNER = b"GET /s@@@@@ HTTP/1.1\r\nHost: a.example\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def _length(octets):
    return b"Content-Length: %d\r\n" % len(octets)


def _post(fields, body):
    return b"POST /c@@@@@ HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


def _chunks(line):
    """A chunked body with this in place of its first line, and what a lax reader takes for the next."""
    return _post(CHUNKED, line + b"0\r\n\r\n" + INNER)


_CODINGS = [
    b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding : chunked\r\n",
    b"Transfer-Encoding:\x0bchunked\r\n", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
    b"Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", b" Transfer-Encoding: chunked\r\n",
    b"X: y\r\n Transfer-Encoding: chunked\r\n", b"X: y\nTransfer-Encoding: chunked\r\n",
    b"X: y\rTransfer-Encoding: chunked\r\n", b"Transfer-Encoding\r\n : chunked\r\n",
    b"Transfer-Encoding:\r\n chunked\r\n", b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding: identity, chunked\r\n", b"Transfer-Encoding: identity\r\n",
    b"Transfer-Encoding: \"chunked\"\r\n", b"Transfer-Encoding: chunked;a=b\r\n",
    b"Transfer-Encoding: chunked\x00\r\n", b"Transfer_Encoding: chunked\r\n",
    b"transfer-encoding: CHUNKED\r\ntransfer-encoding:\r\n", b"Transfer-Encoding:\xa0chunked\r\n",
    b"\x00Transfer-Encoding: chunked\r\n", b"X: y\x00\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunk\xc3\xabd\r\n", b"Transfer-Encoding: ,chunked\r\n",
    b"Foo\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding;: chunked\r\n",
    b"Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n", CHUNKED,
]
_LENGTHS = [
    b"Content-Length: 0\r\nContent-Length: %d\r\n", b"Content-Length: %d\r\nContent-Length: 0\r\n",
    b"Content-Length: 0, %d\r\n", b"Content-Length: %d, %d\r\n", b"Content-Length: +%d\r\n",
    b"Content-Length: -%d\r\n", b"Content-Length: 0x%x\r\n", b"Content-Length: %d 0\r\n",
    b"Content-Length: %d_0\r\n", b"Content-Length : %d\r\n", b"Content_Length: %d\r\n",
    b"Content-Length:\x0b%d\r\n", b"Content-Length: %d.0\r\n", b"Content-Length: \"%d\"\r\n",
    b"X: y\n Content-Length: %d\r\n", b" Content-Length: %d\r\n", b"Content-Length:\r\n %d\r\n",
    b"Content-Length: %d\x00\r\n", b"Content-Length: 1%040d\r\n",
    b"Connection: Content-Length\r\nContent-Length: %d\r\n",
]
_FIRST_CHUNK_LINES = [
    b"1\na\r\n", b"1;\na\r\n", b"1;a\nb\r\na\r\n", b"1;a\rb\r\na\r\n", b"0x1\r\na\r\n", b"+1\r\na\r\n",
    b" 1\r\na\r\n", b"1 \r\na\r\n", b"1_0\r\na\r\n", b"\r\n1\r\na\r\n", b"-1\r\na\r\n", b"g\r\na\r\n",
    b"10000000000000001\r\na\r\n", b"fffffffffffffffff\r\na\r\n", b"1\r\nab\r\n", b"1\r\na\n",
    b"1\r\na\r\r\n", b"2\r\na\r\n", b"1\r\n\r\n", b"1\x00\r\na\r\n", b"\xd9\xa1\r\na\r\n",
]
_TRAILERS = [
    b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: b.example\r\n", b"X\r\n",
    b" X: y\r\n", b"X: y\n", b"X : y\r\n", b"Authorization: x\r\n", b"\x00: y\r\n", b"Expect: x\r\n",
]
_HOSTS = [
    b"", b"Host: a.example\r\nHost: b.example\r\n", b"Host: b.example\r\n Host: a.example\r\n",
    b"Host: u@a.example\r\n", b"Host: a.example, b.example\r\n", b"Host:\r\n", b"Host : a.example\r\n",
    b"Host: a.example/x\r\n", b"Host: a.example:80x\r\n", b"Host: a.example\x00.b.example\r\n",
    b"Host: a.example\rX: y\r\n", b"Host: a.example#b\r\n", b"Host_: a.example\r\nHost: \r\n",
]
_LINES = [
    b"GET /c@@@@@ HTTP/1.1\n", b"GET  /c@@@@@ HTTP/1.1\r\n", b"GET /c@@@@@  HTTP/1.1\r\n", b"GET\t/c@@@@@ HTTP/1.1\r\n",
    b"GET /c@@@@@ HTTP/1.1 \r\n", b"GET /c@@@@@\r\n", b"GET /c@@@@@ HTTP/0.9\r\n", b"GET /c@@@@@ HTTP/1.2\r\n",
    b"GET /c@@@@@ HTTP/2.0\r\n", b"GET /c@@@@@ http/1.1\r\n", b"GET /c@@@@@\x00 HTTP/1.1\r\n", b"GET c@ HTTP/1.1\r\n",
    b"GET /c@@@@@ /s@@@@@ HTTP/1.1\r\n", b"GET /c@@@@@ HTTP/1.1 HTTP/1.1\r\n", b"\r\nGET /c@@@@@ HTTP/1.1\r\n",
    b"\nGET /c@@@@@ HTTP/1.1\r\n", b" GET /c@@@@@ HTTP/1.1\r\n", b"GE(T /c@@@@@ HTTP/1.1\r\n", b"GET * HTTP/1.1\r\n",
    b"GET http://b.example/c@@@@@ HTTP/1.1\r\n", b"GET http://a.example@b.example/c@@@@@ HTTP/1.1\r\n",
    b"GET http:/c@@@@@ HTTP/1.1\r\n", b"GET //b.example\r/c@@@@@ HTTP/1.1\r\n", b"GET /c@@@@@#x HTTP/1.1\r\n",
    b"CONNECT a.example:80 HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n", b"GET /c@@@@@\x7f HTTP/1.1\r\n",
    b"GET https://a.example/c@@@@@ HTTP/1.1\r\n", b"GET /c@@@@@ HTTP/1.1\rX: y\r\n",
]
_OTHERS = [
    b"POST /c@@@@@ HTTP/1.0\r\n" + HOST + CHUNKED + b"\r\n0\r\n\r\n" + INNER,
    b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"Expect: x\r\n\r\n" + INNER,
    b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"Upgrade: websocket, h2c\r\nConnection: upgrade\r\n\r\n" + INNER,
    b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"X: y\r\n\tfolded\r\n\r\n" + INNER,
    b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"\r\r\n\r\n" + INNER,
    b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"X" * 70000 + b": y\r\n\r\n" + INNER,
    b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 200 + b"\r\n" + INNER,
    b"GET /" + b"c" * 70000 + b" HTTP/1.1\r\n" + HOST + b"\r\n" + INNER,
]

# Each gets a 4xx or 5xx, and nothing of it reaches a server but the body of a request that was judged.
BAD = (
    [_post(coding + _length(INNER), INNER) for coding in _CODINGS] +
    [_post(_length(b"0\r\n\r\n" + INNER) + coding, b"0\r\n\r\n" + INNER) for coding in _CODINGS] +
    [_post(length.replace(b"%040d", b"%d" % 10 ** 40).replace(b"%x", b"%x" % len(INNER))
           .replace(b"%d", b"%d" % len(INNER)), INNER) for length in _LENGTHS] +
    [_chunks(line) for line in _FIRST_CHUNK_LINES] +
    [_post(CHUNKED, b"1\r\na\r\n0\r\n" + trailer + b"\r\n" + INNER) for trailer in _TRAILERS] +
    [b"GET /c@@@@@ HTTP/1.1\r\n" + host + b"\r\n" + INNER for host in _HOSTS] +
    [line + HOST + b"\r\n" + INNER for line in _LINES] + _OTHERS)

# Octets, and the requests that they are: method, path, body.
GOOD = [
    (b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"\r\n", [("GET", "/c@@@@@", b"")]),
    (b"GET /c@@@@@/%2e%2e;x/%2f?a=b%00&c HTTP/1.1\r\n" + HOST + b"\r\n",
     [("GET", "/c@@@@@/%2e%2e;x/%2f?a=b%00&c", b"")]),
    (_post(_length(INNER), INNER), [("POST", "/c@@@@@", INNER)]),
    (_post(CHUNKED, b"5;a=b\r\nhello\r\n00000006;c\r\n world\r\n0\r\nX: y\r\n\r\n"),
     [("POST", "/c@@@@@", b"hello world")]),
    (b"DELETE /c@@@@@ HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n26\r\n" + INNER[:38] + b"\r\n0\r\n\r\n",
     [("DELETE", "/c@@@@@", INNER[:38])]),
    (b"OPTIONS /c@@@@@ HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n3\r\nabc\r\n0\r\n\r\n",
     [("OPTIONS", "/c@@@@@", b"abc")]),
    (b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + _length(INNER) + b"\r\n" + INNER, [("GET", "/c@@@@@", INNER)]),
    (b"HEAD /c@@@@@ HTTP/1.1\r\n" + HOST + b"\r\n" + INNER, [("HEAD", "/c@@@@@", b""), ("GET", "/s@@@@@", b"")]),
    (_post(b"Content-Length: 0\r\n", b"") + INNER, [("POST", "/c@@@@@", b""), ("GET", "/s@@@@@", b"")]),
    (_post(CHUNKED, b"0\r\n\r\n") + INNER + b"PUT /t@@@@@ HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\n\r\nx",
     [("POST", "/c@@@@@", b""), ("GET", "/s@@@@@", b""), ("PUT", "/t@@@@@", b"x")]),
    (b"GET http://a.example/c@@@@@ HTTP/1.1\r\n" + HOST + b"\r\n", [("GET", "/c@@@@@", b"")]),
    (b"POST /c@@@@@ HTTP/1.0\r\n" + HOST + b"Content-Length: 2\r\n\r\nhi" + INNER, [("POST", "/c@@@@@", b"hi")]),
    (b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"Connection: close, x-a\r\nX-A: b\r\n\r\n" + INNER,
     [("GET", "/c@@@@@", b"")]),
    (b"GET /c@@@@@ HTTP/1.1\r\n" + HOST + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
     b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" + INNER, [("GET", "/c@@@@@", b""), ("GET", "/s@@@@@", b"")]),
]

_NASTY = [b"\r", b"\n", b"\r\n", b"\x00", b" ", b"\t", b"\x0b", b":", b";", b",", b"0", b"1", b"\xff", b"_",
          b"\r\n\r\n", b"chunked", CHUNKED, b"Content-Length: 3\r\n", b"Content-Length: 0\r\n", HOST, b"@",
          b"#", b"HTTP/1.1", b"0\r\n\r\n", INNER]


def mutants(n, seed):
    """What BAD and GOOD become by small accidents; the same for the same seed."""
    dice = random.Random(seed)
    parents = BAD + [octets for octets, _ in GOOD]
    for _ in range(n):
        octets = dice.choice(parents)[:4096]
        for _ in range(dice.randint(1, 3)):
            at, gone = dice.randint(0, len(octets)), dice.choice((0, 0, 1, 2))
            octets = octets[:at] + dice.choice(_NASTY) + octets[at + gone:]
        yield octets


def numbered(octets, number):
    return octets.replace(b"@@@@@", b"%05d" % number)
