# SPDX-License-Identifier: Apache-2.0
"""TLS: the client hello is peeked at, never opened; the server name decides."""

import base64

import pytest

from internet.services import Http2

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

ALERT = 21
ACCESS_DENIED = 49

# Sends what `parts` says, piece by piece, and tells what comes back: an alert, a server hello.
SEND = """
def attempt(address, parts, pause=0.0, port=443):
    s = dial(address, port)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    started = time.monotonic()
    try:
        for part in parts:
            s.sendall(part)
            if pause:
                time.sleep(pause)
        got = s.recv(4096)
        rest = got
        while rest and got[0] == 21 and len(got) < 7:
            rest = s.recv(4096)
            got += rest
    except OSError as problem:
        return {"error": errname(problem), "seconds": time.monotonic() - started}
    return {"kind": got[0] if got else None, "alert": got[6] if got[:1] == b"\\x15" else None,
            "seconds": time.monotonic() - started}
"""


def looked_up(box, *names):
    for name in names:
        assert box.run(f"getent hosts {name}").ok


def served(reply):
    return reply.get("kind") == 22  # a handshake record: the real server's hello


@pytest.mark.engines
def test_a_plain_handshake_is_untouched(world, sandgate):
    """The certificate is the far side's own: nothing is opened."""
    world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    got = box.run("openssl s_client -connect api.example.com:443 -servername api.example.com "
                  "-verify_return_error </dev/null")
    assert "Little Internet Test CA" in got.out and "Verify return code: 0" in got.out


@pytest.mark.engines
def test_the_hello_is_found_however_it_is_cut(world, sandgate):
    """One octet a segment, many records (RFC 8446 5.1), larger than an MTU (post-quantum shares).
    demands.md 46b, and the bypass list: a hello split over segments or records."""
    good, bad = world.site("api.example.com"), world.site("other.example.com")
    box = sandgate.box("--only", "api.example.com")
    looked_up(box, "api.example.com")
    got = box.python(SEND + """
def cuts(name):
    whole = client_hello(name)
    fragment = whole[5:]
    big = client_hello(name, extensions=struct.pack("!HH", 0xff01 + 77, 6000) + bytes(6000))
    yield "one octet a segment", [bytes([b]) for b in whole], 0.001
    yield "inside the record header", [whole[:3], whole[3:]], 0.05
    yield "inside the name", [whole[:-40], whole[-40:]], 0.05
    yield "a record of one octet each", [b"".join(record(bytes([b])) for b in fragment)], 0
    yield "records of 16", [b"".join(record(fragment[i:i+16]) for i in range(0, len(fragment), 16))], 0
    yield "records, each its own segment", [record(fragment[i:i+64]) for i in range(0, len(fragment), 64)], 0.01
    yield "six thousand octets", [big], 0
    yield "six thousand octets, slowly", [big[i:i+1000] for i in range(0, len(big), 1000)], 0.02
for name, address in (("api.example.com", sys.argv[1]), ("other.example.com", sys.argv[1])):
    for cut, parts, pause in cuts(name):
        report(name=name, cut=cut, **attempt(address, parts, pause))
""", good.address)
    lines = got.lines
    assert len(lines) == 16
    for line in lines:
        if line["name"] == "api.example.com":
            # openssl refuses a handshake message in records of one octet in a row: any answer that
            # is the server's own shows that the gate let it pass.
            assert served(line) or line.get("alert") not in (None, ACCESS_DENIED), line
        else:
            assert line.get("alert") == ACCESS_DENIED, line
    assert bad.connections == []


@pytest.mark.engines
def test_a_name_that_is_not_allowed_gets_access_denied_and_no_octet_leaves(world, sandgate):
    site = world.site("api.example.com", "other.example.com")
    box = sandgate.box("--only", "api.example.com")
    looked_up(box, "api.example.com")
    world.start_watching()
    got = box.python(SEND + 'report(**attempt(sys.argv[1], [client_hello("other.example.com")]))',
                     site.address)
    assert got.json["kind"] == ALERT and got.json["alert"] == ACCESS_DENIED, got
    assert got.json["seconds"] < 1
    assert [p for p in world.left_the_host(to=site.address) if p.payload] == []


MAKE_BAD = """
def sni_entry(name, kind=0):
    return bytes([kind]) + struct.pack("!H", len(name)) + name
def sni(*entries):
    body = b"".join(entries)
    return struct.pack("!HHH", 0, len(body) + 2, len(body)) + body
API = b"api.example.com"
TWO = client_hello(None, extensions=sni(sni_entry(API), sni_entry(b"evil.net")))
TWICE = client_hello(None, extensions=sni(sni_entry(API)) + sni(sni_entry(b"evil.net")))
TYPE = client_hello(None, extensions=sni(sni_entry(API, 1)))
GOOD = client_hello(None, extensions=sni(sni_entry(API)))
CASES = {
    "good": GOOD,
    "no server name": client_hello(None),
    "an address": client_hello(sys.argv[1]),
    "a final dot": client_hello("api.example.com."),
    "an empty name": client_hello(""),
    "a NUL inside": client_hello(b"api.example.com\\0.evil.net"),
    "a NUL before": client_hello(b"evil.net\\0api.example.com"),
    "a space": client_hello(b"api.example.com "),
    "a longer name": client_hello("xapi.example.com"),
    "a name below": client_hello("api.example.com.evil.net"),
    "two names": TWO,
    "the extension twice": TWICE,
    "an unknown kind of name": TYPE,
    "plain text": b"GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n",
    "an SSLv2 hello": b"\\x80\\x2e\\x01\\x03\\x01" + bytes(43),
    "an ssh client": b"SSH-2.0-OpenSSH_9.2\\r\\n",
    "a server hello": record(b"\\x02" + bytes(40)),
    "an alert": record(b"\\x01\\x00", 21),
    "application data": record(b"hello", 23),
    "noise": os.urandom(200),
    "a length beyond the end": record(b"\\x01\\x00\\x00\\x10" + bytes(16)),
    "an extension past the end": client_hello("api.example.com",
                                              extensions=struct.pack("!HH", 77, 50) + bytes(8)),
}
for name, octets in CASES.items():
    report(case=name, **attempt(sys.argv[1], [octets]))
"""


def test_what_is_no_clean_hello_is_refused(world, sandgate):
    """Exactly one canonical host_name (RFC 6066); no SNI, plaintext and other protocols refused.
    demands.md 60: the protocol on 443 must be TLS."""
    site = world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    looked_up(box, "api.example.com")
    world.start_watching()
    got = box.python(SEND + MAKE_BAD, site.address, timeout=60)
    lines = {line.pop("case"): line for line in got.lines}
    assert served(lines.pop("good")), got
    assert len(lines) == 21
    for case, line in lines.items():
        assert not served(line), case
        assert line["seconds"] < 6, case
    left = [p.payload for p in world.left_the_host(to=site.address) if p.payload]
    assert all(b"api.example.com" in octets or octets[0] in (20, 21, 22, 23) for octets in left)
    assert not any(b"evil" in octets or b"SSH-" in octets or b"GET " in octets for octets in left)
    assert len([c for c in site.connections if c.tls and c.server_name]) <= 1


def test_a_client_that_says_nothing_is_ended_and_holds_nothing_up(world, sandgate):
    """Up to 5 s for a hello, then the end."""
    site = world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    looked_up(box, "api.example.com")
    got = box.python(SEND + """
s = dial(sys.argv[1], 443)
s.sendall(client_hello("api.example.com")[:30])
started = time.monotonic()
try:
    got = s.recv(100)
except OSError as problem:
    got = errname(problem).encode()
report(seconds=time.monotonic() - started)
""", site.address, timeout=30)
    assert 3 < got.json["seconds"] < 8, got


def test_a_hello_over_64_kib_is_refused(world, sandgate):
    site = world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    looked_up(box, "api.example.com")
    got = box.python(SEND + """
fragment = b"\\x01" + struct.pack("!I", 100000)[1:] + bytes(100000)
report(**attempt(sys.argv[1], [record(fragment[i:i+16000]) for i in range(0, 100000, 16000)]))
""", site.address)
    assert not served(got.json), got


def test_without_a_server_name_to_an_address_that_is_listed(world, sandgate):
    """No SNI is refused unless the destination is listed literally by address."""
    site = world.site("api.example.com")
    box = sandgate.box("--only", site.address)
    assert box.curl(f"https://{site.address}/", "-k").ok
    got = box.python(SEND + "report(**attempt(sys.argv[1], [client_hello(None)]))", site.address)
    assert served(got.json), got


def test_raw_skips_the_check_on_purpose(world, sandgate):
    """`host:443/raw`: bytes, for what is not TLS there."""
    address = world.address()
    world.name("raw.example.com", address)

    async def echo(reader, writer):
        writer.write(await reader.read(100))
        writer.close()
    world.tcp(address, 443, echo)
    box = sandgate.box("--only", "raw.example.com:443/raw")
    looked_up(box, "raw.example.com")
    got = box.python('s = dial(sys.argv[1], 443); s.sendall(b"not tls"); '
                     "report(r=s.recv(99).decode())", address)
    assert got.json["r"] == "not tls"


def test_tls_on_another_listed_port_is_carried_as_bytes(world, sandgate):
    address = world.address()
    world.name("odd.example.com", address)

    async def hello(reader, writer):
        writer.write(b"secret greeting\n")
        await writer.drain()
        writer.close()
    world.tcp(address, 8443, hello, ssl=world.tls_context("odd.example.com"))
    box = sandgate.box("--only", "odd.example.com:8443")
    got = box.run("openssl s_client -quiet -verify_return_error -connect odd.example.com:8443 "
                  "-servername anything.at.all </dev/null 2>/dev/null; true")
    assert "secret greeting" in got.out, got


def test_grease_ech_is_spliced_and_can_be_refused(world, sandgate):
    """GREASE ECH cannot be told from a real one: spliced when the outer name is allowed;
    `ech: refuse` closes it."""
    site = world.site("api.example.com")
    code = SEND + """
ech = b"\\0" + b"\\0\\1\\0\\1" + b"\\x07" + b"\\0\\x20" + os.urandom(32) + b"\\0\\x90" + os.urandom(144)
report(**attempt(sys.argv[1], [client_hello("api.example.com",
       extensions=struct.pack("!HH", 0xfe0d, len(ech)) + ech)]))
"""
    box = sandgate.box("--only", "api.example.com")
    looked_up(box, "api.example.com")
    assert served(box.python(code, site.address).json)
    world.machine.write("/home/dev/ech.yaml", "network: deny\nallow: [api.example.com]\n"
                        "ech: refuse\n", "dev")
    strict = sandgate.box("--policy", "/home/dev/ech.yaml")
    looked_up(strict, "api.example.com")
    assert not served(strict.python(code, site.address).json)
    assert strict.curl("https://api.example.com/").ok  # without ECH as before


def test_service_records_lose_ech_and_h3_and_foreign_hints(world, sandgate):
    """RFC 9460: `ech` is stripped, `h3` taken out, hints replaced by vetted pinned addresses."""
    site = world.site("api.example.com", v6=True)
    world.zone.add("api.example.com", "HTTPS",
                   "1 . alpn=h2,h3 ipv4hint=10.0.0.1,93.184.99.99 ipv6hint=fd00::1 ech=AEX+DQBBpQAgACD4")
    box = sandgate.box("--only", "api.example.com")
    got = box.run("dig +short api.example.com HTTPS").out
    assert got and "ech=" not in got and "h3" not in got and "h2" in got, got
    for foreign in ("10.0.0.1", "93.184.99.99", "fd00::1"):
        assert foreign not in got
    assert box.run("getent ahosts api.example.com").ok
    got = box.run("dig +short api.example.com HTTPS").out
    assert got.split()[2:] == ['alpn="h2"', f"ipv4hint={site.addresses[0]}", f"ipv6hint={site.addresses[1]}"]
    assert box.curl("http://93.184.99.99/").status == 7


def test_mandatory_stays_valid_and_h3_stays_where_quic_is_admitted(world, sandgate):
    """RFC 9460, section 8: `mandatory` names what is there; a record of h3 alone is no record."""
    records = {"all": "1 . mandatory=alpn,ipv4hint alpn=h2,h3 no-default-alpn port=443 ipv4hint=10.0.0.1",
               "h3": "1 . mandatory=alpn alpn=h3 no-default-alpn",
               "ech": "1 . mandatory=ech alpn=h2 ech=AEX+DQBBpQAgACD4",
               "foreign": "1 pool.other.net. alpn=h2"}
    for name, record in records.items():
        world.name(f"{name}.example.com", "93.184.224.9")
        world.zone.add(f"{name}.example.com", "HTTPS", record)

    def asked(box, name):
        return box.run(f"dig +short {name}.example.com HTTPS").out.strip()
    box = sandgate.box("--only", "*.example.com")
    assert asked(box, "all") == '1 . mandatory=alpn alpn="h2" no-default-alpn port=443'
    assert asked(box, "h3") == "" and asked(box, "foreign") == ""
    assert asked(box, "ech") == '1 . alpn="h2"'
    world.machine.write("/home/dev/quic.yaml", "network: deny\nallow: ['*.example.com']\nquic: allow\n", "dev")
    box = sandgate.box("--policy", "/home/dev/quic.yaml")
    assert asked(box, "all") == '1 . mandatory=alpn alpn="h2,h3" no-default-alpn port=443'
    assert asked(box, "h3") == '1 . mandatory=alpn alpn="h3" no-default-alpn'


def test_an_alias_of_a_service_record_is_judged(world, sandgate):
    world.zone.add("api.example.com", "HTTPS", "0 hidden.other.net.")
    world.name("api.example.com", "93.184.224.1")
    box = sandgate.box("--only", "api.example.com")
    got = box.run("dig +short api.example.com HTTPS").out
    assert "hidden.other.net" not in got


def test_client_octets_are_replayed_untouched(world, sandgate):
    """The gate adds and drops nothing in a spliced stream: the far side reads what was sent."""
    address = world.address()
    world.name("api.example.com", address)
    seen = []

    async def keep(reader, writer):
        seen.append(await reader.readexactly(2000))
        writer.write(b"\x16kept")
        await writer.drain()
        writer.close()
    world.tcp(address, 443, keep)
    box = sandgate.box("--only", "api.example.com")
    looked_up(box, "api.example.com")
    got = box.python(SEND + """
import base64
hello = client_hello("api.example.com")
whole = hello + os.urandom(2000 - len(hello))
attempt(sys.argv[1], [whole[:50], whole[50:300], whole[300:]], 0.02)
report(sent=base64.b64encode(whole).decode())
""", address)
    assert seen == [base64.b64decode(got.json["sent"])]


@pytest.mark.parametrize("size", [100_000, 20_000_000])
def test_http2_bodies_pass_whole(world, sandgate, needs, size):
    """demands.md, relay 39: HTTP/2 bodies beyond one window."""
    needs("nghttpd")
    address = world.address()
    world.name("h2.example.com", address)
    Http2(world, address, ["h2.example.com"], {"file": b"z" * size})
    box = sandgate.box("--only", "h2.example.com")
    got = box.curl("https://h2.example.com/file", "--http2", "-o", "/dev/null", "-w",
                   "%{http_version} %{size_download}")
    assert got.out == f"2 {size}"
