# SPDX-License-Identifier: Apache-2.0
"""A broker as a process that gets another gate, and other names to sign for."""

import json
import os
import ssl

import pytest

from broker_rig import NAME, Rig, echo, until


@pytest.fixture
def rig(program):
    r = Rig(program)
    yield r
    r.close()


# A reset under TLS: which of the two depends on the version of Python.
UNTIDY_END = (ConnectionResetError, ssl.SSLEOFError)


def test_it_outlives_the_gate_whose_connections_are_reset(rig):
    broker = rig.broker_for(rig.server(echo))
    with broker.connect_tls() as client:
        until(lambda: broker.ask("status")["connections"] == 1)
        broker.say("gate")
        with pytest.raises(UNTIDY_END):
            client.recv(1)
    assert broker.ask("status")["connections"] == 0
    broker.say("new-gate")
    assert broker.await_line() == {"op": "gate", "ok": True}
    assert broker.curl(f"https://{NAME}/").returncode == 0


def test_a_gate_in_the_place_of_another_one(rig):
    """The clients of the first are reset; what it asked for is forgotten."""
    broker = rig.broker_for(rig.server(echo))
    with broker.connect_tls() as client:
        until(lambda: broker.ask("status")["connections"] == 1)
        broker.say("new-gate")
        assert broker.await_line()["ok"]
        with pytest.raises(UNTIDY_END):
            client.recv(1)
    assert broker.curl(f"https://{NAME}/").returncode == 0


# --- authorities ---

def names_policy(*names):
    return f"network: deny\nallow: {json.dumps(names)}\ninspect: {json.dumps(names)}\n"


def test_another_policy_has_names_that_no_authority_is_for(rig):
    """What clients trusted goes on, and so does what they trust from then on."""
    other = "other.example.net"
    server = rig.server(echo, names=(NAME, other))
    broker = rig.broker((NAME, 443, "tls", server.port), (other, 443, "tls", server.port), policy=names_policy(NAME))
    assert broker.authorities == 1
    with open(broker.authority, encoding="ascii") as f:
        first = broker.write("first.pem", f.read())
    with pytest.raises(OSError):
        broker.connect_tls(other, 1)
    assert broker.set_policy(names_policy(NAME, other), 2)["ok"] and broker.authorities == 2
    for site, name in enumerate((NAME, other)):
        assert broker.curl(f"https://{name}/", name=name, site=site).returncode == 0
    broker.authority = first
    assert broker.curl(f"https://{NAME}/").returncode == 0
    assert broker.curl(f"https://{other}/", name=other, site=1).returncode == 60
    # Nothing new is needed for what some authority is for already.
    assert broker.set_policy(names_policy(other), 3)["ok"] and broker.authorities == 2


def test_more_authorities_than_there_may_be(rig):
    """The oldest but the first makes room, and its names are with the new one."""
    names = [f"n{i}.example.net" for i in range(10)]
    server = rig.server(echo, names=names)
    broker = rig.broker(*((name, 443, "tls", server.port) for name in names), policy=names_policy(names[0]))
    for i, name in enumerate(names[1:]):
        assert broker.set_policy(names_policy(name), 2 + i)["ok"]
    assert broker.authorities == 8
    assert broker.set_policy(names_policy(*names), 20)["ok"] and broker.authorities == 8
    for site, name in enumerate(names):
        assert broker.curl(f"https://{name}/", name=name, site=site).returncode == 0, name


def test_an_authority_for_more_names_than_fit_is_for_any(rig):
    names = [f"{'x' * 60}.{'y' * 60}.{i}.example.net" for i in range(400)]
    broker = rig.broker_for(rig.server(echo), policy=names_policy(NAME, *names))
    assert broker.authorities == 1 and os.path.getsize(broker.authority) < 2000
    assert broker.curl(f"https://{NAME}/").returncode == 0
