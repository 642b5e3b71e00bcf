# SPDX-License-Identifier: Apache-2.0
"""A server of the agent's own, allowed and seen, that sends guesses of a secret: what is masked, or held
back to be masked, must not say whether a guess was right."""

import asyncio
import threading

import pytest

from internet.web import Response

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

NAME, OWN, SECRET = "api.example.com", "own.example.net", "s3cret-0123456789"
POLICY = f"""network: deny
allow: [{NAME}, {OWN}]
inspect: [{OWN}]
credentials:
  - {{host: {NAME}, header: Authorization, value: "Bearer ${{secret}}", from: "file:%s"}}
"""

# The first chunk of an answer whose server waits. Whom the client trusts is not the question: some
# engines have to be given the authority.
READ = """
import ssl
s = ssl._create_unverified_context().wrap_socket(dial(sys.argv[1], 443), server_hostname=sys.argv[1])
s.sendall(f"GET /{sys.argv[2]} HTTP/1.1\\r\\nHost: {sys.argv[1]}\\r\\n\\r\\n".encode())
got = b""
def body(): return got.partition(b"\\r\\n\\r\\n")[2]
try:
    while body().count(b"\\r\\n") < 2 and (data := s.recv(65536)): got += data
except OSError: pass
report(got=body().decode())
"""


@pytest.fixture
def box(world, sandgate):
    """The secret is in a file, since not everyone who starts a sandbox hands its environment on."""
    path = f"{world.machine.new_work(sandgate.person)}/secret"
    world.machine.write(path, SECRET, sandgate.person, 0o600)
    return sandgate.box("--policy", "policy.yaml", files={"policy.yaml": POLICY % path})


def test_no_guess_is_answered(world, box):
    over = threading.Event()

    async def guess(text):
        yield text.encode()
        while not over.is_set():
            await asyncio.sleep(0.01)

    world.site(OWN, handler=lambda rq: Response(guess(rq.target[1:]), headers=[("Content-Type", "text/plain")]))
    site = world.site(NAME)
    assert box.curl(f"https://{NAME}/", "-k").ok and site.requests[-1].header("authorization") == f"Bearer {SECRET}"
    try:
        for text in (SECRET[:8], "s3cret-x", SECRET[:1], "x", SECRET[:-1], SECRET, "czNjcmV0LTAxMjM0NTY3"):
            got = box.python(READ, OWN, text).json["got"]
            assert got.split("\r\n")[1] == text, (text, got)
    finally:
        over.set()


def test_nor_in_a_field(world, box):
    world.site(OWN, handler=lambda rq: Response("ok", headers=[("X-Guess", rq.target[1:])]))
    world.site(NAME)
    assert box.curl(f"https://{NAME}/", "-k").ok
    assert f"x-guess: {SECRET}" in box.curl(f"https://{OWN}/{SECRET}", "-ik").out.lower()
