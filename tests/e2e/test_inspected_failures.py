# SPDX-License-Identifier: Apache-2.0
"""Servers that fail, that cannot be trusted, or are not there, behind a connection that the broker opens: the
client is told in words, both logs have it, and what should not be sent is not."""

import pytest

from program import wait_until
from test_inspected import NAME, POLICY, box_of

# --- servers that fail ---

async def _no_tls(reader, writer):
    writer.write(b"220 hello\r\n")
    await reader.read(100)
    writer.close()


async def _ends(reader, writer):
    writer.close()


async def _no_http(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"SSH-2.0-something\r\n\r\n")
    writer.close()


async def _cuts(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.abort()


@pytest.mark.parametrize("serve_, tls, says", [
    (_no_tls, False, "nothing was sent"), (_ends, False, "nothing was sent"),
    (_no_http, True, "its answer cannot be passed on"),
    (_cuts, True, "it ended the connection before its answer was whole")])
def test_a_server_that_fails(world, sandgate, serve_, tls, says):
    """In words to the client, and with a reason in both logs."""
    address = world.address()
    world.tcp(address, 443, serve_, ssl=world.tls_context(NAME) if tls else None)
    world.name(NAME, address)
    box = box_of(sandgate)
    got = box.curl(f"https://{NAME}/a?secret=1", "-i", "-d", "hush")
    assert " 502" in got.out.splitlines()[0] and "sandgate-reason: upstream-failed" in got.out, got
    assert f"sandgate: {NAME}: " in got.out and says in got.out, got
    assert_noted(sandgate, box, "upstream-failed")


def test_a_server_that_has_gone_when_it_is_dialled_again(world, sandgate):
    address = world.address()
    world.name(NAME, address)

    async def once(reader, writer):
        # All of it: after an answer to half a request the broker would close the client's side as well.
        await reader.readuntil(b"hush")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
        writer.close()
    server = world.tcp(address, 443, once, ssl=world.tls_context(NAME))
    box = box_of(sandgate)
    asks = box.start_python("""
import http.client
c = http.client.HTTPSConnection('api.example.com')
def ask():
    c.request('POST', '/a?secret=1', b'hush')
    answer = c.getresponse()
    return [answer.status, answer.getheader('sandgate-reason'), answer.read().decode()]
first = ask()
open('/tmp/first', 'w').close()
while os.path.exists('/tmp/first'): time.sleep(0.01)
report(first=first[0], then=ask())
""")
    wait_until(lambda: box.run("test -e /tmp/first").ok)
    world.loop.call_soon_threadsafe(server.close)
    wait_until(lambda: not box.run(f"curl -m 5 -so /dev/null https://{NAME}/").ok)
    box.run("rm /tmp/first")
    got = asks.wait().json
    assert got["first"] == 200
    status, reason, text = got["then"]
    assert (status, reason) == (502, "upstream-failed") and text.endswith("nothing was sent\n"), got
    assert_noted(sandgate, box, "upstream-failed")


def assert_noted(sandgate, box, reason):
    for command in (("net", "log"), ("audit", "show")):
        def noted():
            return [e for e in sandgate(*command, box.name, "--json").lines
                    if e.get("reason") == reason and e["proto"] == "http"]
        wait_until(noted)
        entry = noted()[0]
        assert (entry["action"], entry["name"], entry["method"], entry["path"], entry["status"]) == (
            "sandgate.egress.deny", NAME, "POST", "/a", 502), entry


# --- servers that are not to be trusted ---

CONTEXTS = {
    "expired": lambda world: world.authority.server_context([NAME], days=-1),
    "another-name": lambda world: world.tls_context("other.example.com"),
    "self-signed": lambda world: type(world.authority)().server_context([NAME]),
}


def requests_to(world, context):
    """What is read of connections to NAME, whose certificate is in the context."""
    seen, address = [], world.address()

    async def answer(reader, writer):
        seen.append(await reader.read(65536))
        writer.close()
    world.tcp(address, 443, answer, ssl=context)
    world.name(NAME, address)
    return seen


@pytest.mark.parametrize("what, why", [("expired", "its certificate expired on "),
                                       ("another-name", "its certificate is for another name"),
                                       ("self-signed", "its certificate")])
@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_server_that_is_not_to_be_trusted(world, sandgate, what, why, version):
    seen = requests_to(world, CONTEXTS[what](world))
    box = box_of(sandgate)
    got = box.curl(f"https://{NAME}/?secret=1", "-i", version, "-d", "hush")
    assert " 502" in got.out.splitlines()[0] and "sandgate-reason: upstream-certificate" in got.out, got
    assert why in got.out and "nothing was sent" in got.out, got
    for command in (("net", "log"), ("audit", "show")):
        wait_until(lambda: "upstream-certificate" in sandgate(*command, box.name, "--json").out)
    assert not any(seen)


def test_an_authority_that_has_expired(world, sandgate):
    """It is one that this machine trusts."""
    authority = type(world.authority)(days=-1)
    seen = requests_to(world, authority.server_context([NAME]))
    world.machine.write("/home/dev/expired.pem", authority.pem, "dev")
    box = sandgate.box("--policy", "policy.yaml", files={"policy.yaml": POLICY},
                       env=world.machine.environment("dev", SSL_CERT_FILE="/home/dev/expired.pem"))
    got = box.curl(f"https://{NAME}/a", "-i", "-d", "hush")
    assert "the authority of its certificate expired on " in got.out and "nothing was sent" in got.out, got
    assert_noted(sandgate, box, "upstream-certificate")
    assert not any(seen)


def test_a_server_that_is_down(world, sandgate):
    """As without a broker the connection is refused; and it is in both logs, since requests would have been."""
    world.name(NAME, world.address())
    box = box_of(sandgate)
    got = box.curl(f"https://{NAME}/", "-i")
    assert got.status == 7, got
    got = box.curl(f"https://{NAME}/", "-x", "http://gateway.sandgate.internal:3128")
    assert "CONNECT tunnel failed, response 502" in got.err, got
    for command in (("net", "log"), ("audit", "show")):
        def noted():
            return [e for e in sandgate(*command, box.name, "--json").lines if e.get("reason") == "upstream-failed"
                    and e["action"] == "sandgate.egress.deny"]
        wait_until(lambda: len(noted()) == 2)
        assert [(e["proto"], e["name"], e["port"], e["rule"]) for e in noted()] == [
            ("tcp", NAME, 443, NAME), ("connect", NAME, 443, NAME)], noted()
    assert box.egress()["requests"]["inspected"] == 0 and box.refused() == 2
    assert "the server could not be reached" in sandgate("net", box.name).out


def test_why_a_server_was_not_reached_is_in_the_log(world, sandgate):
    """Also of one whose requests nobody sees; that is no refusal."""
    world.name(NAME, world.address())
    box = sandgate.box("--only", NAME)
    assert box.curl(f"https://{NAME}/").status == 7
    assert not box.curl(f"https://{NAME}/", "-x", "http://gateway.sandgate.internal:3128").ok

    def ends():
        return [(e["proto"], e.get("reason")) for e in sandgate("net", "log", box.name, "--json").lines
                if e["action"] == "sandgate.egress.end"]
    wait_until(lambda: ends() == [("tcp", "upstream-failed"), ("connect", "upstream-failed")], 10, "the ends")
    assert box.refused() == 0 and sandgate("net", "log", "--denied", box.name).out == ""
