# SPDX-License-Identifier: Apache-2.0
"""The broker as a process between real clients and real servers."""

import base64
import hashlib
import os
import resource
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

from broker_rig import ALLOW, NAME, PATIENCE, Rig, answer_of, echo, get, head_of, read_exactly, read_head, until
from program import SANITIZED

GIB = 1 << 30
MIB = 1 << 20


@pytest.fixture
def rig(program):
    r = Rig(program)
    yield r
    r.close()


def test_a_get_goes_through(rig):
    broker = rig.broker_for(rig.server(echo))
    done = broker.curl(f"https://{NAME}/a/path?query=1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"GET /a/path?query=1 HTTP/1.1\r\n")
    assert f"host: {NAME}\r\n".encode() in done.stdout.lower()
    [record] = broker.await_records(1)
    assert record["method"] == "GET" and record["path"] == "/a/path" and record["status"] == 200
    assert record["name"] == NAME and record["reason"] == "allowed" and record["bytes_in"] > 0
    assert record["rule"] == NAME


# --- bodies ---

def test_a_post_goes_through_with_its_body(rig):
    broker = rig.broker_for(rig.server(echo))
    body = os.urandom(200000)
    done = broker.curl("--data-binary", "@-", "-H", "expect:", f"https://{NAME}/", input=body)
    assert done.returncode == 0 and done.stdout.endswith(body), done.stderr


def test_plain_http_goes_through(rig):
    broker = rig.broker((NAME, 80, "plain", rig.plain_server(echo).port))
    done = broker.curl(f"http://{NAME}/plain", port=80)
    assert done.stdout.startswith(b"GET /plain HTTP/1.1"), done.stderr


def _sends(total):
    piece = bytes(MIB)

    def serve(connection):
        read_head(connection)
        connection.sendall(head_of(total))
        for _ in range(total // MIB):
            connection.sendall(piece)
    return serve


def test_a_gibibyte_comes_down_in_constant_memory(rig):
    broker = rig.broker_for(rig.server(_sends(GIB)))
    with broker.connect_tls() as client:
        client.sendall(get())
        _, rest = read_head(client)
        got, before = len(rest), 0
        while got < GIB:
            more = client.recv(MIB)
            assert more
            got += len(more)
            if not before and got > 64 * MIB:
                before = broker.rss()
        assert broker.rss() - before < MIB or SANITIZED
    assert got == GIB


def test_a_gibibyte_goes_up_in_constant_memory(rig):
    seen = []

    def serve(connection):
        _, rest = read_head(connection)
        got = len(rest)
        while got < GIB:
            more = connection.recv(MIB)
            if not more:
                break
            got += len(more)
        seen.append(got)
        connection.sendall(head_of(0))

    broker = rig.broker_for(rig.server(serve))
    piece, before = bytes(MIB), 0
    with broker.connect_tls() as client:
        client.sendall(f"PUT / HTTP/1.1\r\nhost: {NAME}\r\ncontent-length: {GIB}\r\n\r\n".encode())
        for i in range(GIB // MIB):
            client.sendall(piece)
            if i == 64:
                before = broker.rss()
        assert answer_of(client)[0] == 200
        assert broker.rss() - before < MIB or SANITIZED
    assert seen == [GIB]


def _hash(octets):
    return hashlib.sha256(octets).hexdigest()


@pytest.fixture
def nghttpd(rig, tmp_path):
    return lambda *options: rig.nghttpd(str(tmp_path), *options)


def test_http2_100_mb_down(rig, nghttpd, tmp_path):
    body = os.urandom(MIB) * 100
    (tmp_path / "file").write_bytes(body)
    broker = rig.broker_for(nghttpd())
    done = broker.curl("--http2", "-w", "%{stderr}%{http_version}", f"https://{NAME}/file")
    assert done.returncode == 0 and done.stderr == b"2", done.stderr
    assert _hash(done.stdout) == _hash(body)


def test_http2_100_mb_up(rig, nghttpd):
    body = os.urandom(MIB) * 100
    broker = rig.broker_for(nghttpd("--echo-upload"))
    done = broker.curl("--http2", "-w", "%{stderr}%{http_version}", "--data-binary", "@-",
                       f"https://{NAME}/", input=body)
    assert done.returncode == 0 and done.stderr == b"2", done.stderr
    assert _hash(done.stdout) == _hash(body)


def test_http2_many_streams_at_once(rig, nghttpd, tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 100)
    broker = rig.broker_for(nghttpd())
    done = subprocess.run(["h2load", "-n", "20000", "-c", "4", "-m", "100", "--connect-to",
                           f"127.0.0.1:{broker.ports[0]}", f"https://{NAME}/file"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert "20000 succeeded, 0 failed" in done.stdout, done.stdout
    assert broker.ask("status")["requests"]["all"] == 20000


def test_ten_thousand_requests_on_one_connection(rig):
    server = rig.server(echo)
    broker = rig.broker_for(server)
    with broker.connect_tls() as client:
        rest = b""
        for i in range(10000):
            client.sendall(get(f"/{i}"))
            status, _, body, rest = answer_of(client, rest)
            assert status == 200 and body.startswith(f"GET /{i} ".encode())
    assert server.connections == 1


def test_the_server_may_close_after_each_answer(rig):
    def once(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok")

    server = rig.server(once)
    broker = rig.broker_for(server)
    with broker.connect_tls() as client:
        rest = b""
        for _ in range(20):
            client.sendall(get())
            status, _, body, rest = answer_of(client, rest)
            assert (status, body) == (200, b"ok")
    assert server.connections == 20


def test_http2_client_to_http1_server_uses_several_connections(rig):
    server = rig.server(echo)
    broker = rig.broker_for(server)
    done = subprocess.run(["h2load", "-n", "2000", "-c", "1", "-m", "50", "--npn-list=h2",
                           "--connect-to", f"127.0.0.1:{broker.ports[0]}", f"https://{NAME}/x"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert "2000 succeeded, 0 failed" in done.stdout, done.stdout
    assert 1 < server.connections <= 4


# --- as it comes ---

def test_the_first_event_comes_at_once(rig):
    go_on = threading.Event()

    def serve(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                           b"transfer-encoding: chunked\r\n\r\n7\r\ndata: 1\r\n")
        go_on.wait(PATIENCE)
        connection.sendall(b"7\r\ndata: 2\r\n0\r\n\r\n")

    broker = rig.broker_for(rig.server(serve))
    with broker.connect_tls() as client:
        client.sendall(get())
        seen = b""
        while b"data: 1" not in seen:  # the server says no more before it was seen
            seen += client.recv(65536)
        go_on.set()
        while b"0\r\n\r\n" not in seen:
            seen += client.recv(65536)
        assert b"data: 2" in seen


def test_trailers_go_both_ways(rig):
    seen = []

    def serve(connection):
        octets = b""
        while b"x-sum: 1\r\n\r\n" not in octets:
            octets += connection.recv(65536)
        seen.append(octets)
        connection.sendall(b"HTTP/1.1 200 OK\r\ntrailer: x-end\r\ntransfer-encoding: chunked\r\n\r\n"
                           b"2\r\nok\r\n0\r\nx-end: 1\r\n\r\n")

    broker = rig.broker_for(rig.server(serve))
    with broker.connect_tls() as client:
        client.sendall(f"POST / HTTP/1.1\r\nhost: {NAME}\r\ntransfer-encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"x-end: 1\r\n\r\n"):
            more = client.recv(65536)
            assert more, answer
            answer += more
    assert b"abc" in seen[0]


def test_continue_comes_from_the_server_and_only_after_the_verdict(rig):
    def serve(connection):
        head, rest = read_head(connection)
        assert b"100-continue" in head.lower() and not rest
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        read_exactly(connection, 4)
        connection.sendall(head_of(0))

    broker = rig.broker_for(rig.server(serve))
    with broker.connect_tls() as client:
        client.sendall(f"PUT / HTTP/1.1\r\nhost: {NAME}\r\ncontent-length: 4\r\n"
                       "expect: 100-continue\r\n\r\n".encode())
        head, rest = read_head(client)
        assert head == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"body")
        assert answer_of(client, rest)[0] == 200


ACCEPT_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def _websocket(connection):
    """Its first frame comes with the 101; then what comes is sent back."""
    head, rest = read_head(connection)
    key = [line.split(b":", 1)[1].strip() for line in head.split(b"\r\n")
           if line.lower().startswith(b"sec-websocket-key:")][0]
    accept = base64.b64encode(hashlib.sha1(key + ACCEPT_GUID).digest())
    connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n"
                       b"connection: Upgrade\r\nsec-websocket-accept: " + accept +
                       b"\r\n\r\n\x81\x05hello")
    while True:
        more = rest or connection.recv(65536)
        rest = b""
        if not more:
            return
        connection.sendall(more)


def test_a_websocket_with_a_first_frame_beside_the_101(rig):
    broker = rig.broker_for(rig.server(_websocket))
    with broker.connect_tls() as client:
        client.sendall(get(fields=b"upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n"
                                  b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
        head, rest = read_head(client)
        assert head.startswith(b"HTTP/1.1 101") and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
        first, rest = read_exactly(client, 7, rest)
        assert first == b"\x81\x05hello"
        frame = b"\x82\xfe" + struct.pack("!H", 60000) + b"mask" + os.urandom(60000)
        client.sendall(frame)
        assert read_exactly(client, len(frame), rest)[0] == frame


# --- the server's certificate ---

def _self_signed(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", f"{folder}/k.pem", "-out", f"{folder}/c.pem", "-subj", f"/CN={NAME}",
                    "-addext", f"subjectAltName=DNS:{NAME}"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/c.pem", f"{folder}/k.pem")
    return context


@pytest.mark.parametrize("kind,why", [
    ("self-signed", "its certificate is self-signed"),
    ("another-name", "its certificate is for another name (other.example.net)"),
    ("unknown-authority", "its certificate is from an authority that this host does not trust"),
    ("expired", "its certificate expired on"),
])
@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_server_that_cannot_be_trusted(rig, tmp_path, kind, why, version):
    read = []

    def serve(connection):
        read.append(connection.recv(65536))

    contexts = {
        "self-signed": lambda: _self_signed(tmp_path),
        "another-name": lambda: rig.authority.server_context(["other.example.net"]),
        "unknown-authority": lambda: type(rig.authority)().server_context([NAME]),
        "expired": lambda: rig.authority.server_context([NAME], days=-1),
    }
    broker = rig.broker_for(rig.server(serve, context=contexts[kind]()))
    done = broker.curl(version, "-i", "-d", "a secret", f"https://{NAME}/")
    text = done.stdout.decode().lower()
    assert " 502" in text.splitlines()[0], done.stderr
    assert "sandgate-reason: upstream-certificate" in text
    assert f"sandgate: {NAME}: {why}" in text and text.endswith("nothing was sent\n")
    [record] = broker.await_records(1)
    assert record["reason"] == "upstream-certificate" and record["status"] == 502
    assert record["bytes_out"] == 0 and not any(read)


def test_a_server_that_is_down_when_it_is_dialled_again(rig):
    def once(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")

    server = rig.server(once)
    broker = rig.broker_for(server)
    with broker.connect_tls() as client:
        client.sendall(get())
        assert answer_of(client)[0] == 200
        server.close()
        client.sendall(get())
        status, head, body, _ = answer_of(client)
        assert status == 502 and b"sandgate-reason: upstream-failed" in head
        assert body == f"sandgate: {NAME}: Connection refused; nothing was sent\n".encode()


# --- refusals ---

METHODS = f"network: deny\nallow:\n  - host: {NAME}\n    ports: [80]\n    methods: [GET]\n"


def test_a_refusal_in_the_middle_of_a_pipeline(rig):
    seen = []

    def serve(connection):
        rest = b""
        while True:
            head, rest = read_head(connection, rest)
            if not head:
                return
            seen.append(head.split(b" ")[1])
            connection.sendall(head_of(1) + b"y")

    broker = rig.broker((NAME, 80, "plain", rig.plain_server(serve).port), policy=METHODS)
    with broker.connect() as client:
        client.sendall(get("/1") + f"DELETE /2 HTTP/1.1\r\nhost: {NAME}\r\n\r\n".encode() + get("/3"))
        first = answer_of(client)
        second = answer_of(client, first[3])
        third = answer_of(client, second[3])
    assert [first[0], second[0], third[0]] == [200, 403, 200]
    assert b"sandgate-reason: method-not-allowed" in second[1]
    assert seen == [b"/1", b"/3"]
    reasons = sorted(r["reason"] for r in broker.await_records(3))
    assert reasons == ["allowed", "allowed", "method-not-allowed"]


def test_a_refusal_with_a_body_that_nobody_reads(rig):
    broker = rig.broker((NAME, 80, "plain", rig.plain_server(echo).port), policy=METHODS)
    done = broker.curl("-i", "--data-binary", "@-", f"http://{NAME}/", port=80, input=bytes(10 * MIB))
    assert b" 403 " in done.stdout.splitlines()[0], done.stderr
    assert b"sandgate net allow" in done.stdout


@pytest.mark.parametrize("version,status", [("--http1.1", b"403"), ("--http2", b"421")])
def test_another_authority_on_the_connection(rig, version, status):
    asked = []

    def serve(connection):
        asked.append(connection.recv(65536))

    broker = rig.broker_for(rig.server(serve, alpn=["h2", "http/1.1"] if "2" in version else ["http/1.1"]),
                            policy=f"network: deny\nallow: [{NAME}, other.example.net]\ninspect: all\n")
    done = broker.curl(version, "-i", "-H", "host: other.example.net", f"https://{NAME}/")
    assert status in done.stdout.splitlines()[0], done.stdout + done.stderr
    assert b"sandgate-reason: sni-mismatch" in done.stdout
    assert not any(b"other" in octets for octets in asked)


# --- cuts ---

def test_a_client_that_goes_never_looks_complete(rig):
    ends = []

    def serve(connection):
        _, rest = read_head(connection)
        try:
            while True:
                more = connection.recv(65536)
                if not more:
                    ends.append("end")
                    return
        except OSError as e:
            ends.append(e)

    broker = rig.broker_for(rig.server(serve))
    for framing in ["content-length: 100000", "transfer-encoding: chunked"]:
        client = broker.connect_tls()
        client.sendall(f"PUT / HTTP/1.1\r\nhost: {NAME}\r\n{framing}\r\n\r\n5\r\nhello\r\n".encode())
        time.sleep(0.2)
        client.close()
    until(lambda: len(ends) == 2)
    assert "end" not in ends, ends


@pytest.mark.parametrize("head", [
    b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
])
def test_a_server_that_goes_never_looks_complete(rig, head):
    def serve(connection):
        read_head(connection)
        connection.sendall(head + b"abc")
        # The end of TCP without that of TLS.
        connection.shutdown(socket.SHUT_RDWR)

    broker = rig.broker_for(rig.server(serve))
    done = broker.curl(f"https://{NAME}/")
    assert done.returncode not in (0, 28), done.stdout
    with broker.connect_tls() as client:
        client.sendall(get())
        with pytest.raises(OSError):
            while client.recv(65536):
                pass


def test_a_body_that_ends_with_the_connection(rig):
    def serve(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(100000))
        connection.unwrap()

    broker = rig.broker_for(rig.server(serve))
    done = broker.curl(f"https://{NAME}/")
    assert done.returncode == 0 and done.stdout == bytes(100000), done.stderr


def test_what_goes_away_leaves_nothing(rig):
    broker = rig.broker_for(rig.server(_sends(GIB)))
    before = broker.descriptors()
    for _ in range(20):
        client = broker.connect_tls()
        client.sendall(get())
        client.recv(1000)
        # A reset, as of a client that was killed.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    until(lambda: broker.ask("status")["connections"] == 0)
    until(lambda: broker.descriptors() <= before)
    assert broker.ask("status")["requests"]["open"] == 0


def test_a_broker_that_dies_is_seen_as_a_cut(rig):
    broker = rig.broker_for(rig.server(_sends(GIB)))
    with broker.connect_tls() as client:
        client.sendall(get())
        client.recv(1000)
        os.kill(broker.pid, 9)
        with pytest.raises(OSError):
            while client.recv(MIB):
                pass
    broker.expected_status = 9


# --- another policy ---

def test_another_policy_cuts_what_it_does_not_admit_and_nothing_else(rig):
    go_on = threading.Event()

    def serve(connection):
        read_head(connection)
        connection.sendall(head_of(2) + b"a")
        go_on.wait(PATIENCE)
        connection.sendall(b"b")

    server = rig.server(serve, names=(NAME, "other.example.net"))
    both = f"network: deny\nallow: [{NAME}, other.example.net]\ninspect: all\n"
    broker = rig.broker((NAME, 443, "tls", server.port), ("other.example.net", 443, "tls", server.port),
                        policy=both)
    with broker.connect_tls() as stays, broker.connect_tls("other.example.net", 1) as goes:
        stays.sendall(get())
        goes.sendall(get(name="other.example.net"))
        for client in (stays, goes):
            _, rest = read_head(client)
            read_exactly(client, 1, rest)
        assert broker.set_policy(ALLOW, 2)["ok"]
        with pytest.raises(OSError):
            goes.recv(1)
        go_on.set()
        assert stays.recv(1) == b"b"
    assert broker.ask("status")["generation"] == 2
    assert not broker.set_policy(both, 2)["ok"]
    [cut] = [r for r in broker.await_records(2) if r["name"] != NAME]
    assert cut["reason"] == "not-in-policy" and cut["generation"] == 2


# --- time ---

def ended(client):
    """Did the broker end it, in whatever way?"""
    try:
        while client.recv(65536):
            pass
    except OSError as e:
        assert not isinstance(e, TimeoutError)
    return True


def test_a_server_that_does_not_finish_the_handshake(rig):
    go_on = threading.Event()
    server = rig.plain_server(lambda connection: go_on.wait(PATIENCE))
    broker = rig.broker_for(server, handshake=300)
    done = broker.curl("-i", f"https://{NAME}/")
    go_on.set()
    assert b" 504 " in done.stdout.splitlines()[0], done.stderr
    assert b"sandgate-reason: upstream-timeout" in done.stdout and b"nothing was sent" in done.stdout


def test_a_client_that_does_not_finish_the_handshake(rig):
    broker = rig.broker_for(rig.server(echo), handshake=300)
    with broker.connect() as client:
        context = ssl.create_default_context()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with pytest.raises(ssl.SSLWantReadError):
            context.wrap_bio(incoming, outgoing, server_hostname=NAME).do_handshake()
        client.sendall(outgoing.read())
        assert ended(client)
    until(lambda: broker.ask("status")["connections"] == 0)


def test_a_head_that_does_not_come_to_its_end(rig):
    broker = rig.broker_for(rig.server(echo), head=300)
    with broker.connect_tls() as client:
        client.sendall(get())
        assert answer_of(client)[0] == 200
        client.sendall(b"GET / HTTP/1.1\r\nhost:")
        status, _, body, _ = answer_of(client)
        assert status == 408 and b"its head did not come to its end in time" in body
        assert client.recv(1) == b""


def test_a_connection_that_is_quiet_for_too_long(rig):
    broker = rig.broker_for(rig.server(echo), idle=300)
    with broker.connect_tls() as client:
        client.sendall(get())
        assert answer_of(client)[0] == 200
        assert client.recv(1) == b""  # in good order: a cut would be an error


def test_an_http2_connection_that_is_quiet_is_told_goaway(rig, nghttpd, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    broker = rig.broker_for(nghttpd(), idle=300)
    with broker.connect_tls(alpn=["h2"]) as client:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        seen = b""
        while more := client.recv(65536):
            seen += more
    frames = []
    while seen:
        length = int.from_bytes(seen[:3], "big")
        frames.append(seen[3])
        seen = seen[9 + length:]
    assert frames[0] == 4 and frames[-1] == 7, frames  # SETTINGS first, GOAWAY last


def test_a_client_that_takes_nothing(rig):
    broker = rig.broker_for(rig.server(_sends(GIB)), stall=300)
    with broker.connect_tls() as client:
        client.sendall(get())
        until(lambda: broker.ask("status")["connections"] == 0)
        assert broker.rss() < 64 * MIB or SANITIZED
        with pytest.raises(OSError):
            while client.recv(MIB):
                pass


# --- floods of HTTP/2 ---

FIELDS = b"\x82\x87\x84\x41" + bytes([len(NAME)]) + NAME.encode()
HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 1, 3, 4, 6, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def _many(one):
    return b"".join(one(i) for i in range(20000))


FLOODS = {
    "rapid reset": _many(lambda i: frame(HEADERS, END_STREAM | END_HEADERS, 2 * i + 1, FIELDS)
                         + frame(RST_STREAM, 0, 2 * i + 1, bytes(4))),
    "continuation": frame(HEADERS, END_STREAM, 1, FIELDS) + _many(lambda i: frame(CONTINUATION, 0, 1)),
    "large continuation": frame(HEADERS, END_STREAM, 1, FIELDS) + _many(
        lambda i: frame(CONTINUATION, 0, 1, b"\x00\x01a\x7f\x81\x07" + b"v" * 262)),
    "settings": _many(lambda i: frame(SETTINGS, 0, 0)),
    "ping": _many(lambda i: frame(PING, 0, 0, b"12345678")),
    "empty data": frame(HEADERS, END_HEADERS, 1, FIELDS.replace(b"\x82", b"\x83"))
                  + _many(lambda i: frame(0, 0, 1)),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_ends_its_connection_and_no_other(rig, kind):
    broker = rig.broker_for(rig.server(echo))
    with broker.connect_tls() as other, broker.connect_tls(alpn=["h2"]) as client:
        before, seen = broker.rss(), b""
        try:
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0) + FLOODS[kind])
            while more := client.recv(65536):
                seen += more
        except OSError as e:
            assert not isinstance(e, TimeoutError), f"{kind} goes on"
        assert broker.rss() - before < 8 * MIB or SANITIZED
        other.sendall(get())
        assert answer_of(other)[0] == 200
    until(lambda: broker.ask("status")["connections"] == 0)
    assert broker.ask("status")["requests"]["open"] == 0


# --- WebSocket over HTTP/2 ---

NODE_SERVER = """
const http2 = require('http2'), fs = require('fs');
const [, , folder] = process.argv;
const server = http2.createSecureServer({key: fs.readFileSync(folder + '/key.pem'),
  cert: fs.readFileSync(folder + '/cert.pem'), settings: {enableConnectProtocol: true}});
server.on('stream', (stream, headers) => {
  if (headers[':method'] !== 'CONNECT' || headers[':protocol'] !== 'websocket') {
    stream.respond({':status': 400}); stream.end(); return;
  }
  stream.respond({':status': 200});
  stream.on('error', () => {});
  stream.pipe(stream);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""

NODE_CLIENT = """
const http2 = require('http2'), fs = require('fs');
const [, , port, name, ca] = process.argv;
const session = http2.connect('https://' + name, {ca: fs.readFileSync(ca), servername: name,
  host: '127.0.0.1', port});
session.on('error', (e) => { console.log('session', e.message); process.exit(1); });
session.on('remoteSettings', (settings) => {
  if (!settings.enableConnectProtocol) { console.log('no connect protocol'); process.exit(1); }
  const stream = session.request({':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https',
    ':path': '/chat', ':authority': name, 'sec-websocket-version': '13'});
  const sent = Buffer.alloc(200000, 'frame'); let got = [];
  stream.on('response', (h) => { if (h[':status'] !== 200) { console.log(h[':status']); process.exit(1); }
    stream.write(sent); });
  stream.on('data', (d) => { got.push(d); const all = Buffer.concat(got);
    if (all.length === sent.length) { console.log(all.equals(sent) ? 'equal' : 'differs'); stream.end(); } });
  stream.on('end', () => session.close());
  stream.on('error', (e) => { console.log('stream', e.message); process.exit(1); });
});
"""


def test_a_websocket_over_http2(rig, tmp_path):
    certificate, key = rig.authority.issue([NAME])
    for name, text in [("cert.pem", certificate), ("key.pem", key), ("server.js", NODE_SERVER),
                       ("client.js", NODE_CLIENT)]:
        (tmp_path / name).write_text(text)
    server = subprocess.Popen(["node", tmp_path / "server.js", tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        broker = rig.broker((NAME, 443, "tls", int(server.stdout.readline())))
        done = subprocess.run(["node", tmp_path / "client.js", str(broker.ports[0]), NAME, broker.authority],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout == "equal\n", done.stdout + done.stderr
        [record] = broker.await_records(1)
        assert record["path"] == "/chat" and record["status"] == 101 and record["bytes_out"] == 200000
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


# --- programs ---

NODE_FETCH = """
const https = require('https'), fs = require('fs');
const [, , port, name, ca] = process.argv;
https.get({host: '127.0.0.1', port, servername: name, headers: {host: name}, ca: fs.readFileSync(ca)}, (r) => {
  let body = ''; r.on('data', (d) => body += d); r.on('end', () => console.log(r.statusCode, body.split('\\r\\n')[0]));
});
"""

PYTHON_GET = """
import http.client, socket, ssl, sys
port, name, ca = sys.argv[1:]
c = http.client.HTTPSConnection(name, context=ssl.create_default_context(cafile=ca))
c._create_connection = lambda *_: socket.create_connection(("127.0.0.1", int(port)))
c.request("GET", "/")
r = c.getresponse()
print(r.status, r.read().split(b"\\r\\n")[0].decode())
"""


@pytest.mark.parametrize("program_,text", [("node", NODE_FETCH), ("/usr/bin/python3", PYTHON_GET)])
def test_programs_trust_the_authority(rig, tmp_path, program_, text):
    (tmp_path / "client").write_text(text)
    broker = rig.broker_for(rig.server(echo))
    done = subprocess.run([program_, tmp_path / "client", str(broker.ports[0]), NAME, broker.authority],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "200 GET / HTTP/1.1\n", done.stdout + done.stderr


# --- the process ---

def test_the_process_is_confined(rig):
    broker = rig.broker_for(rig.server(echo))
    with open(f"/proc/{broker.pid}/status", encoding="ascii") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f)
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    assert all(int(status[k], 16) == 0 for k in ("CapEff", "CapPrm", "CapInh", "CapAmb"))
    with open(f"/proc/{broker.pid}/limits", encoding="ascii") as f:
        assert any(line.split()[:6] == ["Max", "core", "file", "size", "0", "0"] for line in f)
    with open(f"/proc/{broker.pid}/environ", "rb") as f:
        assert not f.read().strip(b"\0")

    def descriptors():
        links = [os.readlink(f"/proc/{broker.pid}/fd/{n}") for n in os.listdir(f"/proc/{broker.pid}/fd")]
        return sorted(link.split(":")[0] for link in links)

    # The descriptor of the last message is closed after its answer.
    until(lambda: descriptors() == ["/dev/null"] * 3 + ["anon_inode", "socket", "socket"])


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_more_connections_than_there_is_room_for(rig):
    broker = rig.broker((NAME, 80, "plain", rig.plain_server(lambda connection: connection.recv(1)).port))
    clients = [broker.connect() for _ in range(1024)]
    until(lambda: broker.ask("status")["connections"] == 1024)
    # The reset may be there before connect() has returned.
    with pytest.raises(ConnectionResetError), broker.connect() as one_too_many:
        one_too_many.recv(1)
    assert broker.ask("status")["connections"] == 1024
    for client in clients:
        client.close()
    until(lambda: broker.ask("status")["connections"] == 0)


@pytest.mark.parametrize("octets", [
    b"\0" * 29, b"\xff" * 300, b"\1\1\1\xbb" + bytes(24) + b"\1a", b"\3" + bytes(28)])
def test_what_the_gate_says_and_makes_no_sense_ends_nothing(rig, octets):
    broker = rig.broker_for(rig.server(echo))
    broker.say(f"raw {octets.hex()}")
    assert broker.curl(f"https://{NAME}/").returncode == 0


# --- a server that has closed an idle connection just when a request comes ---

class Forgetful:
    """Serves `n` requests of each connection, and ends it when the next head has come, unanswered."""

    def __init__(self, n, how="end"):
        self.heads, self._n, self._how = [], n, how

    def __call__(self, connection):
        rest = b""
        for i in range(self._n + 1):
            head, rest = read_head(connection, rest)
            if not head:
                return
            self.heads.append(head.split(b" ")[0].decode())
            if i == self._n:
                break
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
        if self._how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            connection.unwrap()


@pytest.mark.parametrize("how", ["end", "reset"])
@pytest.mark.parametrize("method, times", [("GET", 2), ("DELETE", 2), ("POST", 1)])
def test_a_request_that_meets_the_end_of_an_idle_connection(rig, method, times, how):
    """What may be repeated is, once, over another connection; a POST may have been worked on."""
    serve = Forgetful(1, how)
    broker = rig.broker_for(rig.server(serve))
    with broker.connect_tls() as client:
        client.sendall(get())
        assert answer_of(client)[0] == 200
        client.sendall(get().replace(b"GET", method.encode()))
        assert answer_of(client)[0] == (200 if times == 2 else 502)
    assert serve.heads == ["GET"] + [method] * times


def test_a_request_that_ends_a_fresh_connection_is_not_repeated(rig):
    serve = Forgetful(0)
    broker = rig.broker_for(rig.server(serve))
    with broker.connect_tls() as client:
        client.sendall(get())
        assert answer_of(client)[0] == 502
    assert serve.heads == ["GET"]
