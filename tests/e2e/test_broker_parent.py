# SPDX-License-Identifier: Apache-2.0
"""The broker's process and a gate that was taken over: the parent proxy's password goes to the parent
alone, whatever socket the gate says leads there."""

import base64
import queue

import pytest

from broker_rig import PATIENCE, Rig, until

PASSWORD = "the-parents-password"
SIGNED = base64.b64encode(f"me:{PASSWORD}".encode())
OTHER_TUNNEL = b"CONNECT evil.example.com:80 HTTP/1.1\r\nHost: evil.example.com:80\r\n\r\n"


class Listener:
    """What comes on each connection, until nothing comes; it answers a head with `answer`."""

    def __init__(self, rig, answer=b"HTTP/1.1 200 OK\r\n\r\n"):
        self.came, self.answer = queue.Queue(), answer
        self.port = rig.plain_server(self._serve).port

    def _serve(self, connection):
        connection.settimeout(0.5)
        got = b""
        try:
            while data := connection.recv(65536):
                got += data
                if got.endswith(b"\r\n\r\n"):
                    connection.sendall(self.answer)
        except OSError:
            pass
        self.came.put(got)

    def take(self):
        return self.came.get(timeout=PATIENCE)


@pytest.fixture
def rig(program):
    rig = Rig(program)
    yield rig
    rig.close()


@pytest.fixture
def parent(rig):
    return Listener(rig)


@pytest.fixture
def broker(rig, parent, monkeypatch):
    monkeypatch.setenv("PARENT_PORT", str(parent.port))
    broker = rig.broker(("api.example.com", 443, "tls", 1))
    broker.say(f"parent-secret 0 {PASSWORD}")
    until(lambda: broker.await_line() == {"op": "secret", "ok": True})
    return broker


def test_the_parent_gets_it(broker, parent):
    broker.say(f"tunnel {parent.port} ask")
    assert b"Proxy-Authorization: Basic " + SIGNED in parent.take()


def test_no_other_does(rig, broker):
    other = Listener(rig)
    broker.say(f"tunnel {other.port} ask")
    assert other.take() == b""


def test_nor_who_is_behind_a_tunnel_that_is_there(broker, parent):
    """The first tunnel leads to anybody; what is asked for in it would be theirs to read."""
    broker.say(f"tunnel {parent.port} ask ask")
    assert parent.take().count(SIGNED) == 1
    broker.say(f"tunnel {parent.port} {OTHER_TUNNEL.hex()} ask")
    assert parent.take() == OTHER_TUNNEL
    # The broker goes on.
    broker.say(f"tunnel {parent.port} ask")
    assert SIGNED in parent.take()
