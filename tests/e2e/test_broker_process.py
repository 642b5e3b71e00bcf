# SPDX-License-Identifier: Apache-2.0
"""The broker as a process between real clients and real servers."""

import pytest

from broker_rig import NAME, Rig, read_exactly, read_head


@pytest.fixture
def rig(program):
    r = Rig(program)
    yield r
    r.close()


def echo(connection):
    """HTTP/1.1, kept alive: what came of the request comes back as the body."""
    rest = b""
    while True:
        head, rest = read_head(connection, rest)
        if not head:
            return
        body = b""
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                body, rest = read_exactly(connection, int(line.split(b":")[1]), rest)
        told = head + body
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(told), told))


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
