# SPDX-License-Identifier: Apache-2.0
"""Which requests pass: methods and paths of rules, operations of permissions, inside TLS as outside of it."""

import asyncio

import pytest

from internet.registries import NPM
from internet.web import Response
from program import wait_until

READ, OPEN = "read.example.com", "open.example.com"
RULES = f"""
network: deny
allow:
  - {{host: {READ}, methods: [GET, HEAD], paths: ["/v1/*"]}}
  - {OPEN}
deny:
  - {{host: {OPEN}, ports: [80, 443], methods: [DELETE]}}
"""
# An HTTP status, and the body of a refusal.
ASK = 'curl -sS -m 20 -o - -w "\\n%{{http_code}}" -X {method} {url}'


def ask(box, url, method="GET"):
    """The status and the body."""
    got = box.run(ASK.format(method=method, url=url))
    assert got.ok, got
    body, _, status = got.out.rpartition("\n")
    return int(status), body


def with_policy(sandgate, text):
    return sandgate.box("--policy", "policy.yaml", files={"policy.yaml": text})


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_methods_and_paths_of_rules(world, sandgate, scheme):
    read, opened = (world.site(name, handler=lambda rq: Response("hello")) for name in (READ, OPEN))
    box = with_policy(sandgate, RULES)
    rows = [
        (READ, "GET", "/v1/x", 200), (READ, "HEAD", "/v1/x", 200), (READ, "POST", "/v1/x", 403),
        (READ, "GET", "/v2/x", 403), (READ, "GET", "/v1/%2e%2e/v2", 403),
        (OPEN, "GET", "/", 200), (OPEN, "POST", "/x", 200), (OPEN, "DELETE", "/x", 403)]
    for host, method, path, wanted in rows:
        url = f"{scheme}://{host}{path}"
        got = box.run(["curl", "-sS", "--path-as-is", "-m", "30", "-o", "/dev/null", "-w", "%{http_code}",
                       *(["-I"] if method == "HEAD" else ["-X", method]), url])
        assert got.out == str(wanted), (url, method, got)
        said = sandgate.json("net", "explain", box.name, url, method)["verdict"]
        assert said == ("allow" if wanted == 200 else "deny"), (url, method)
    assert [r.method for r in read.requests] == ["GET", "HEAD"]
    assert [r.method for r in opened.requests] == ["GET", "POST"]
    status, body = ask(box, f"{scheme}://{READ}/v1/x", "POST")
    assert status == 403 and body.startswith("sandgate: ") and body.count("\n") <= 1, body
    assert READ in body and "method" in body, body


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_websocket_is_for_who_may_write(world, sandgate, scheme):
    """It is asked for by GET, and carries anything."""
    read, opened = (world.site(name, handler=lambda rq: Response("hello")) for name in (READ, OPEN))
    box = with_policy(sandgate, RULES)
    for host, wanted in ((READ, "403"), (OPEN, "200")):
        got = box.curl(f"{scheme}://{host}/v1/x", "--http1.1", "-i", "-H", "Connection: Upgrade", "-H",
                       "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13", "-H",
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==").out
        assert got.split()[1] == wanted, got
    assert read.requests == [] and len(opened.requests) == 1


def test_operations_of_a_permission_in_plain_http(world, sandgate):
    site = world.site("deb.debian" + ".org", handler=lambda rq: Response("hello"))
    box = sandgate.box("--net", "deny", "--allow", "install:system")
    assert ask(box, f"http://{site.name}/debian/x")[0] == 200
    status, body = ask(box, f"http://{site.name}/debian/x", "PUT")
    assert status == 403 and "sandgate: " in body, body
    assert [r.method for r in site.requests] == ["GET"]


# --- which TLS is opened ---

ISSUER = "openssl s_client -connect {0}:{1} -servername {0} </dev/null 2>/dev/null | openssl x509 -noout -issuer"


def is_opened(box, host, port=443):
    got = box.run(ISSUER.format(host, port))
    assert got.ok, got
    return "sandgate" in got.out.lower()


def test_which_tls_is_opened(world, sandgate):
    names = ["a.example.com", "b.example.com", "www.b.example.com", "pinned.b.example.com"]
    for name in names:
        world.site(name)
    box = with_policy(sandgate, "network: open\ninspect: [a.example.com, '*.b.example.com']\n"
                                "splice: [pinned.b.example.com]\n")
    assert [is_opened(box, name) for name in names] == [True, False, True, False]
    box.stop()
    box = sandgate.box("--net", "open", "--yes", "--inspect", "all", "--splice", "pinned.b.example.com")
    assert [is_opened(box, name) for name in names] == [True, True, True, False]
    for name in names:
        assert box.curl(f"https://{name}/").ok, name


def test_a_closed_host_is_not_judged(world, sandgate):
    site = world.site("github.com", handler=lambda rq: Response("pushed"))
    text = "network: deny\npermissions: [github]\nsplice: [github.com]\n"
    box = with_policy(sandgate, text)
    assert not is_opened(box, "github.com")
    assert ask(box, "https://github.com/x/y.git/git-receive-pack", "POST") == (200, "pushed")
    # Plain HTTP is seen all the same.
    assert "sandgate net allow" in ask(box, "http://github.com/x/y.git/git-receive-pack", "POST")[1]
    assert len(site.requests) == 1
    said = sandgate.json("net", "explain", box.name, "https://github.com/x/y.git/git-receive-pack", "POST")
    assert (said["verdict"], said["inspected"]) == ("allow", None)


# --- what is said of it ---

PUSH = "https://github.com/x/y.git/info/refs?service=git-receive-pack"


def test_a_refused_push_is_told_in_words(world, sandgate):
    site = world.site("github.com")
    box = sandgate.box("--net", "deny", "--allow", "github")
    for _ in range(2):
        assert ask(box, PUSH)[0] in (200, 403)  # git's own refusal is an answer of 200
    assert site.requests == []
    wait_until(lambda: any(r["permission"] == "github:push" for r in
                           sandgate.json("net", box.name)["refused"]), 10, "the refusals")
    assert next(r for r in sandgate.json("ls") if r["name"] == box.name)["refused"] == 2
    row = next(r for r in sandgate.json("net", box.name)["refused"] if r["permission"] == "github:push")
    assert (row["says"], row["count"], row["reasons"]) == ("push to GitHub", 2, ["operation-not-allowed"])
    assert row["remedy"] == f"sandgate net allow {box.name} github:push"
    assert "the agent tried to push to GitHub, 2 times\n" in sandgate("net", box.name).out
    wait_until(lambda: "github:push" in sandgate("net", "log", box.name, "--denied").out, 10, "the log")
    learned = sandgate("net", "learn", box.name)
    assert learned.ok and "github:push" not in learned.out.split("left out")[0], learned
    ended = box.stop()
    assert "the agent tried to push to GitHub, 2 times" in ended.err, ended
    assert f"sandgate net allow {box.name} github:push" in ended.err, ended


# --- a change while it runs ---

SLOW = """
import http.client
c = http.client.HTTPSConnection(sys.argv[1], timeout=20)
c.request("GET", sys.argv[2])
answer = c.getresponse()
got = 0
try:
    while part := answer.read1(4096):
        got += len(part)
    problem = None
except Exception as e:
    problem = type(e).__name__
report(status=answer.status, got=got, problem=problem)
"""
UPLOAD = """
import http.client
c = http.client.HTTPSConnection(sys.argv[1], timeout=20)
c.putrequest("PUT", sys.argv[2])
c.putheader("content-type", "application/json")
c.putheader("transfer-encoding", "chunked")
c.endheaders()
problem = None
try:
    for _ in range(300):
        c.send(b"5\\r\\nhello\\r\\n")
        time.sleep(0.1)
    c.send(b"0\\r\\n\\r\\n")
    c.getresponse().read()
except OSError as e:
    problem = type(e).__name__
report(problem=problem)
"""


def slow_site(world, name):
    """Answers without an end, until `over` is set; counts how many it is at."""
    over, at = [], []

    def answer(request):
        async def parts():
            at.append(request)
            try:
                while not over:
                    yield b"x" * 100
                    await asyncio.sleep(0.05)
            finally:
                at.remove(request)
        return Response(parts())
    return world.site(name, handler=answer, streams_body=True), over, at


def test_a_permission_that_is_taken_away_ends_its_requests(world, sandgate):
    site, over, at = slow_site(world, "codeload.github.com")
    _, other_over, other_at = slow_site(world, "pypi.org")
    box = sandgate.box("--net", "deny", "--allow", "github,install:python")
    goes = box.start_python(SLOW, "codeload.github.com", "/x/y/tar.gz/main")
    stays = box.start_python(SLOW, "pypi.org", "/simple/x/")
    wait_until(lambda: at and other_at, 10, "both requests")
    assert sandgate("net", "deny", box.name, "github").ok
    got = goes.wait(60).json
    assert got["problem"] is not None, got
    wait_until(lambda: site.connections[-1].reader.at_eof() or site.connections[-1].writer.is_closing(), 10,
               "the end at the far side")
    over.append(True)
    other_over.append(True)
    got = stays.wait(60).json
    assert got["problem"] is None and got["status"] == 200, got


def test_an_operation_that_is_taken_away_ends_though_its_host_stays(world, sandgate):
    """The reading permission goes on having the host: what ends is the request that only writing let through."""
    site = world.site(NPM, handler=lambda rq: Response("hello"), streams_body=True)
    box = sandgate.box("--net", "deny", "--allow", "install:node,publish:node")
    writes = box.start_python(UPLOAD, NPM, "/thing")
    wait_until(lambda: [r.method for r in site.requests] == ["PUT"], 10, "the upload")
    assert sandgate("net", "deny", box.name, "publish:node").ok
    assert writes.wait(60).json["problem"] is not None
    assert ask(box, f"https://{NPM}/thing")[0] == 200
    assert ask(box, f"https://{NPM}/thing", "PUT")[0] == 403
    assert sandgate("net", "allow", box.name, "publish:node", "--yes").ok
    assert ask(box, f"https://{NPM}/thing", "PUT")[0] == 200
