# SPDX-License-Identifier: Apache-2.0
"""As root inside, to a host with a credential, by every way that is not the broker's.

What the broker carries has the secret in the place of the agent's own key; so a server that sees the
agent's key was reached around it. The judge is that server, and the capture.
"""

import pytest

from internet.web import Response

NAME, OTHER = "api.example.com", "other.example.com"
SECRET, OWN_KEY = "the-secret-0123456789", "own-key-0123456789"
CREDENTIAL = """
credentials:
  - host: {name}
    port: {port}
    header: Authorization
    value: "Bearer ${{secret}}"
    from: env:TEST_SECRET
"""

# Everything that lets an address be reached in some other way than by the name of the host.
BASES = {
    "by name": "network: deny\nallow: [{name}, {other}]\n",
    "its address": 'network: deny\nallow: [{name}, {other}, "{address}:443"]\n',
    "its network": "network: deny\nallow: [{name}, {other}, 93.184.0.0/16]\n",
    "raw": 'network: deny\nallow: ["{name}:443/raw", {other}]\n',
    "a raw other": 'network: deny\nallow: [{name}, "{other}:443/raw"]\n',
    "open": "network: open\n",
    "any": "network: any\n",
    "synthetic": "network: deny\nallow: [{name}, {other}]\ndns_answers: synthetic\n",
    "quic": "network: deny\nallow: [{name}, {other}]\nquic: allow\n",
    "udp": 'network: deny\nallow: [{name}, {other}, "{name}:443/udp"]\n',
}

# TLS by hand: `name` is None for none; the certificate is nobody's business. Reports what came.
TRY = """
import ssl
address, port, name, host, key, first, patience = sys.argv[1:8]
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
request = (f"GET / HTTP/1.1\\r\\nHost: {host}\\r\\nAuthorization: Bearer {key}\\r\\n"
           "Connection: close\\r\\n\\r\\n").encode()
got = b""
try:
    s = dial(address, port, float(patience))
    if first: s.sendall(bytes.fromhex(first))
    if port != "80":
        s = context.wrap_socket(s, server_hostname=name or None)
    s.sendall(request)
    got = read_all(s)
except (OSError, ValueError) as e:
    report(error=type(e).__name__, text=str(e))
else:
    report(status=got.split(b" ")[1].decode() if got else None)
"""


@pytest.fixture
def target(world):
    """(the site, what Authorization it was sent)"""
    seen = []

    def answer(request):
        seen.append(request.header("authorization"))
        return Response("here")
    return world.site(NAME, OTHER, handler=answer), seen


def box_at(sandgate, base, site, port=443, more=""):
    text = BASES.get(base, base).format(name=NAME, other=OTHER, address=site.addresses[0])
    text += CREDENTIAL.format(name=NAME, port=port) + more
    box = sandgate.box("--as-root", "--yes", "--policy", "policy.yaml", files={"policy.yaml": text},
                       env={"TEST_SECRET": SECRET})
    box.run(f"getent ahostsv4 {NAME}; getent ahostsv4 {OTHER}")
    return box


def attempt(box, address, port=443, name=NAME, host=NAME, first=""):
    # What is to be refused may also be waited for in vain; what is to pass has time.
    patience = 10 if name in (NAME, OTHER) and not first else 0.5
    return box.python(TRY, address, port, name, host, OWN_KEY, first, patience).json


def address_inside(box, site):
    """What the name stands for inside: another one with synthetic answers."""
    return box.run(f"getent ahostsv4 {NAME}").out.split()[0]


@pytest.mark.parametrize("base", BASES)
def test_tls_to_it_goes_through_whatever_admits_it(world, sandgate, target, base):
    site, seen = target
    box = box_at(sandgate, base, site)
    address = address_inside(box, site)
    assert attempt(box, address) == {"status": "200"}
    assert seen == [f"Bearer {SECRET}"]
    # A hello in one octet a segment, and behind what is no hello.
    for name, host, first in (("", NAME, ""), ("front.example.net", NAME, ""), (NAME, NAME, "16"),
                              (NAME, NAME, "00"), (NAME, NAME, "160301"), (NAME, NAME, "0d0a")):
        attempt(box, address, name=name, host=host, first=first)
    assert all(one == f"Bearer {SECRET}" for one in seen), seen


@pytest.mark.parametrize("base", ["its address", "any", "raw", "open"])
def test_its_address_takes_no_hello_without_its_name(world, sandgate, target, base):
    site, seen = target
    box = box_at(sandgate, base, site)
    world.start_watching()
    for name, host in (("", NAME), ("front.example.net", NAME), ("front.example.net", "front.example.net")):
        assert "error" in attempt(box, site.addresses[0], name=name, host=host), (name, host)
    assert seen == []
    assert not world.left_the_host(to=site.addresses[0], where=lambda p: p.payload)


def test_another_name_of_its_address_keeps_to_itself(world, sandgate, target):
    """What is said inside the other's TLS is that server's to judge (SECURITY.md, fronting); the
    secret is not there to be had."""
    site, seen = target
    box = box_at(sandgate, "by name", site)
    attempt(box, site.addresses[0], name=OTHER, host=OTHER)
    assert seen == [f"Bearer {OWN_KEY}"]
    attempt(box, site.addresses[0])
    assert seen[1:] == [f"Bearer {SECRET}"]


def test_other_ports_of_it(world, sandgate, target):
    """A credential for port 8443 holds there; nothing else on that port is its host's."""
    site, seen = target

    async def serve(reader, writer):
        from internet import web
        await web.serve(site, reader, writer)
    world.tcp(site.addresses[0], 8443, serve, ssl=world.tls_context(NAME))
    box = box_at(sandgate, 'network: deny\nallow: ["{name}:443,8443"]\n', site, port=8443)
    host = f"{NAME}:8443"
    assert attempt(box, site.addresses[0], 8443, host=host) == {"status": "200"}
    assert seen == [f"Bearer {SECRET}"]
    for name in ("", "front.example.net", OTHER):
        assert "error" in attempt(box, site.addresses[0], 8443, name=name, host=host)
    for text in ("GET / HTTP/1.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "SSH-2.0-x\r\n"):
        got = box.python("""
s = dial(sys.argv[1], 8443)
s.sendall(sys.argv[2].encode())
try: report(got=s.recv(100))
except OSError as e: report(error=errname(e))
""", site.addresses[0], text).json
        assert got.get("error") == "ECONNRESET" or got.get("got") == "", got
    assert len(seen) == 1


@pytest.mark.parametrize("text", [
    "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
    "GET / HTTP/1.1\\r\\nHost: {0}\\r\\nConnection: Upgrade, HTTP2-Settings\\r\\nUpgrade: h2c\\r\\n"
    "HTTP2-Settings: AAMAAABkAAQAAP__\\r\\n\\r\\n"])
def test_h2c_is_no_way(world, sandgate, text):
    """To a host with operations, in plain: nothing that is not a request of HTTP/1.1 gets through."""
    heads = []

    async def serve(reader, writer):
        heads.append(await reader.read(65536))
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
        heads.append(await reader.read(65536))
        writer.close()
    address = world.address()
    world.name("github.com", address)
    world.tcp(address, 80, serve)
    box = sandgate.box("--as-root", "--only", "github")
    box.run("getent ahostsv4 github.com")
    box.python(f"""
s = dial(sys.argv[1], 80, 3)
s.sendall("{text.format('github.com')}".encode())
try:
    s.recv(1000); s.sendall(b"after the switch"); s.recv(1000)
except OSError: pass
report()
""", address)
    assert not any(b"h2c" in h.lower() or b"PRI" in h or b"after" in h for h in heads), heads


def quic_box(world, sandgate, base, site):
    datagrams = []
    world.udp(site.addresses[0], 443, lambda data, _: datagrams.append(data) or b"quic")
    return box_at(sandgate, base, site), datagrams


@pytest.mark.parametrize("base", ["quic", "udp", "open", "any", "its network"])
def test_quic_to_it_is_refused(world, sandgate, target, base):
    site, _ = target
    more = "quic: allow\n" if base == "open" else ""
    text = BASES[base].replace("/16]", '/16, "93.184.0.0/16:443/udp"]')
    box, datagrams = quic_box(world, sandgate, text + more, site)
    from test_udp import QUIC
    got = box.python(QUIC + """
def send(*datagrams):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    s.connect((sys.argv[1], 443))
    try:
        for d in datagrams: s.send(d)
        return s.recv(100)
    except OSError as e: return errname(e)
report(plain=send(quic_initial(sys.argv[2])), other=send(quic_initial("front.example.net")),
       behind=send(b"\\x40" + bytes(30), quic_initial(sys.argv[2])))
""", site.addresses[0], NAME).json
    assert datagrams == [], got
    assert got["plain"] != "quic"


def test_quic_by_an_address_of_no_name_is_looked_into(world, sandgate, target):
    """The host's server has another address that no lookup gave: listed, or under `any`."""
    site, _ = target
    there = world.address()
    datagrams = []
    world.udp(there, 443, lambda data, _: datagrams.append(data) or b"quic")
    box = box_at(sandgate, "any", site)
    from test_udp import QUIC
    got = box.python(QUIC + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
s.connect((sys.argv[1], 443))
def send(data):
    try: s.send(data); return s.recv(100)
    except OSError as e: return errname(e)
report(first=send(b"\\x40" + bytes(30)), hidden=send(quic_initial(sys.argv[2])),
       other=send(quic_initial("front.example.net")))
""", there, NAME).json
    assert got["first"] == "quic" and got["hidden"] == "EHOSTUNREACH" and got["other"] == "quic", got
    assert len(datagrams) == 2
