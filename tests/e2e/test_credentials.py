# SPDX-License-Identifier: Apache-2.0
"""Credentials in a running sandbox: the secret is added outside, and is nowhere else."""

import asyncio
import base64
import json
import re
import threading

import pytest

from internet.web import Response
from program import SANITIZED, read_proc, wait_until
from test_broker_life import sign_in

API = "api.example.com"
OTHER = "other.example.com"
LOGIN = "login.example.com"
SECRET = "s3cr3t-of-the-person/0123456789+abc"
PRINTED = "pr1nted-by-a-command/0123456789+abc"  # stands in a policy
BEARER = f'  - {{host: {API}, header: Authorization, value: "Bearer ${{secret}}", from: "env:API_TOKEN", ' \
    'env: API_TOKEN%s}\n'


def policy(entries, hosts=(API, OTHER)):
    return f"network: deny\nallow: {json.dumps(hosts)}\ninspect: [{OTHER}]\ncredentials:\n{entries}"


def box_of(sandgate, entries, **more):
    more.setdefault("env", {"API_TOKEN": SECRET})
    return sandgate.box("--policy", "policy.yaml", files={"policy.yaml": policy(entries), **more.pop("files", {})},
                        **more)


def echo(rq):
    """All that came, as the answer's body, and each field as a header of it too."""
    text = rq.target + "\n" + "".join(f"{k}: {v}\n" for k, v in rq.headers)
    return Response(text, headers=[("X-Echo", rq.header("authorization", "none")), ("Content-Type", "text/plain")])


@pytest.fixture
def api(world):
    return world.site(API, handler=echo)


@pytest.fixture
def other(world):
    return world.site(OTHER, handler=echo)


def status_line(done):
    assert done.out, done
    return done.out.splitlines()[0] + " "


def got(site):
    """The one value of Authorization that the server saw last."""
    return site.requests[-1].header("authorization")


# --- sources and places ---

def test_sources_and_places(world, sandgate, api):
    home = "/root" if sandgate.person == "root" else "/home/dev"
    machine = world.machine
    machine.write(f"{home}/a-secret", SECRET + "-file\n", sandgate.person, 0o600)
    try:
        entries = (
            BEARER.replace("env: API_TOKEN%s", "paths: [/env]")
            + f'  - {{host: {API}, basic: ci, from: "file:~/a-secret", paths: [/file]}}\n'
            + f'  - {{host: {API}, query: key, from: "command:/usr/bin/printf %s {PRINTED}", paths: [/command]}}\n'
            + f'  - {{host: {API}, aws: {{region: eu-central-1, service: s3}}, '
              f'from: "command:/usr/bin/printf %s AKIDEXAMPLE:{PRINTED}", paths: [/aws/*]}}\n')
        box = box_of(sandgate, entries)
        for path in ("env", "file", "command", "aws/x", "none"):
            assert box.curl(f"https://{API}/{path}").ok
        env, file, command, aws, none = api.requests[-5:]
        assert env.header("authorization") == f"Bearer {SECRET}"
        assert base64.b64decode(file.header("authorization").split()[1]).decode() == f"ci:{SECRET}-file"
        assert command.target.startswith("/command?key=") and command.header("authorization") is None
        assert "pr1nted-by-a-command%2F0123456789%2Babc" in command.target
        assert re.match(r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/\d{8}/eu-central-1/s3/aws4_request, ?SignedHeaders=.*, ?"
                        r"Signature=[0-9a-f]{64}$", aws.header("authorization")), aws.headers
        assert PRINTED not in str(aws.headers)
        assert none.header("authorization") is None and "?" not in none.target
    finally:
        machine.run(f"rm -f {home}/a-secret")


@pytest.mark.parametrize("pin", ["replace", "strict", "keep"])
def test_what_the_sandbox_brings_itself(sandgate, api, pin):
    box = box_of(sandgate, BEARER % f", pin: {pin}")
    before = len(api.requests)
    done = box.curl(f"https://{API}/", "-i", "-H", "Authorization: Bearer of-the-sandbox")
    if pin == "strict":
        assert " 403 " in status_line(done) and "credential-refused" in done.out and len(api.requests) == before
    else:
        assert got(api) == ("Bearer of-the-sandbox" if pin == "keep" else f"Bearer {SECRET}")
    # A placeholder is no credential of its own.
    box.run(f'curl -sS -H "Authorization: Bearer $API_TOKEN" https://{API}/')
    assert got(api) == f"Bearer {SECRET}"


def test_a_placeholder_stands_in_the_environment_and_goes_nowhere_else(sandgate, api, other):
    box = box_of(sandgate, BEARER % "")
    placeholder = box.run("printf %s $API_TOKEN").out
    assert re.fullmatch(r"sandgate-placeholder-[0-9a-f]{32}", placeholder)
    basic = base64.b64encode(f"x:{placeholder}".encode()).decode()
    before = len(other.requests), len(api.requests)
    for url, *more in (
            (f"https://{OTHER}/", "-H", f"Authorization: Bearer {placeholder}"),
            (f"https://{OTHER}/", "-H", f"Authorization: Basic {basic}"),
            (f"https://{OTHER}/", "-H", f"X-Any: a {placeholder} b"),
            (f"https://{OTHER}/{placeholder}",),
            (f"https://{OTHER}/?x=%73andgate-placeholder-{placeholder[-32:]}",),
            (f"https://{API}/{placeholder}",),
            (f"https://{API}/", "-H", f"X-Any: {placeholder}")):
        done = box.curl(url, "-i", *more)
        assert " 403 " in status_line(done) and "sandgate-reason: credential-refused" in done.out, (url, more, done)
    assert (len(other.requests), len(api.requests)) == before
    for command in (("net", "log"), ("audit", "show")):
        def noted():
            return [e for e in sandgate(*command, box.name, "--json").lines if e.get("reason") == "credential-refused"]
        wait_until(lambda: len(noted()) == 7, 10, f"what {command} has")
        assert {(e["action"], e["name"], e["status"]) for e in noted()} == {
            ("sandgate.egress.deny", OTHER, 403), ("sandgate.egress.deny", API, 403)}
        # What is refused for its place is not shown either, where a path has it.
        assert placeholder not in str(noted())


def test_an_echo_is_masked(sandgate, api):
    box = box_of(sandgate, BEARER % "")
    done = box.curl(f"https://{API}/", "-i")
    assert got(api) == f"Bearer {SECRET}"
    stars = "*" * len(SECRET)
    assert f"x-echo: Bearer {stars}" in done.out.lower().replace("bearer", "Bearer")
    assert f"authorization: Bearer {stars}" in done.out.lower().replace("bearer", "Bearer") and SECRET not in done.out

@pytest.mark.parametrize("fields", [{"Content-Type": "image/png"}, {"Content-Encoding": "gzip"},
                                    {"Content-Type": "application/octet-stream", "Content-Encoding": "br"}])
def test_an_echo_that_says_to_be_something_else_is_masked(world, sandgate, fields):
    """Servers that answer with the fields that they are asked for: the agent chooses what is no text."""
    site = world.site(API, handler=lambda rq: Response("got " + rq.header("authorization"), headers=list(fields.items())))
    box = box_of(sandgate, BEARER % "")
    done = box.curl(f"https://{API}/", "--raw")
    assert got(site) == f"Bearer {SECRET}"
    assert done.out == f"got Bearer {'*' * len(SECRET)}", done


def test_a_session_that_is_given_for_it_stays_outside(world, sandgate):
    """The agent could bring it to another host of the domain, or to a path that the credential is not for."""
    world.site(API, handler=lambda rq: Response("ok", headers=[
        ("Set-Cookie", "session=as-good-as-it; Domain=example.com"), ("Set-Cookie", "b=2"), ("X-Other", "kept")]))
    box = box_of(sandgate, BEARER % ", paths: [/mine]")
    out = box.curl(f"https://{API}/mine", "-i").out.lower()
    assert "x-other: kept" in out and "cookie" not in out and "as-good-as-it" not in out, out
    assert "set-cookie: session=" in box.curl(f"https://{API}/else", "-i").out.lower()


def test_a_redirect_gets_none(world, sandgate, other):
    site = world.site(API, handler=lambda rq: Response(status=302, headers=[("Location", f"https://{OTHER}/taken")]))
    box = box_of(sandgate, BEARER % "")
    done = box.curl(f"https://{API}/", "-L", "--location-trusted", "-H", "Authorization: Bearer mine")
    assert done.ok and got(site) == f"Bearer {SECRET}"
    assert other.requests[-1].target == "/taken" and SECRET not in str(other.requests[-1].headers)
    # Neither does plain HTTP, whatever the client brings.
    assert box.curl(f"http://{API}/plain", "-H", "Authorization: Bearer mine").ok
    assert site.requests[-1].port == 80 and SECRET not in str(site.requests[-1].headers)
    # Nor a name that a client only says, on the connection of another.
    box.curl(f"https://{OTHER}/", "-H", f"Host: {API}")
    box.curl(f"https://{API}/", "-H", f"Host: {OTHER}")
    assert all(SECRET not in str(rq.headers) for rq in other.requests)


def test_a_source_that_fails(sandgate, api, other):
    entries = BEARER % "" + f'  - {{host: {OTHER}, header: X-Key, value: "${{secret}}", ' \
        'from: "command:/usr/bin/false"}\n'
    box = box_of(sandgate, entries, env={})
    for host, source in ((API, "env:API_TOKEN"), (OTHER, "command:/usr/bin/false")):
        done = box.curl(f"https://{host}/", "-i")
        assert " 502 " in status_line(done) and "sandgate-reason: credential-missing" in done.out, done
        assert source in done.out and "nothing was sent" in done.out, done
    assert api.requests == []
    for command in (("net", "log"), ("audit", "show")):
        wait_until(lambda: sandgate(*command, box.name, "--json").out.count("credential-missing") >= 2)


# --- OAuth ---

REFRESHED = f'  - {{host: {API}, header: Authorization, value: "Bearer ${{secret}}", from: "env:API_TOKEN", ' \
    f'env: API_TOKEN, refresh: {{url: "https://{LOGIN}/oauth/token", client_id: me}}}}\n'


def test_an_access_token_is_fetched_for_the_sandbox(world, sandgate, api):
    """The sandbox itself may not go to the token endpoint."""
    login = world.site(LOGIN, handler=lambda rq: Response(
        json.dumps({"access_token": "access-token-1", "token_type": "Bearer", "expires_in": 3600}),
        headers=[("Content-Type", "application/json")]))
    box = box_of(sandgate, REFRESHED)
    for _ in range(2):
        assert box.curl(f"https://{API}/").ok and got(api) == "Bearer access-token-1"
    assert len(login.requests) == 1 and login.requests[0].server_name == LOGIN
    assert f"refresh_token={SECRET.replace('/', '%2F').replace('+', '%2B')}" in login.requests[0].body.decode()
    assert not box.curl(f"https://{LOGIN}/oauth/token", timeout=3).ok and len(login.requests) == 1


def test_a_client_inside_that_refreshes_by_itself(world, sandgate, api):
    """With a placeholder, which is answered with one: its request is seen, and goes nowhere."""
    login = world.site(LOGIN, handler=lambda rq: Response("{}"))
    box = sandgate.box("--policy", "policy.yaml", env={"API_TOKEN": SECRET},
                       files={"policy.yaml": policy(REFRESHED, (API, LOGIN))})
    done = box.run(f"curl -sS -d grant_type=refresh_token -d refresh_token=$API_TOKEN https://{LOGIN}/oauth/token")
    placeholder = box.run("printf %s $API_TOKEN").out
    assert done.json["access_token"] == done.json["refresh_token"] == placeholder
    assert login.requests == []


@pytest.mark.parametrize("address, says", [("10.9.8.7", "the gate does not dial it"),
                                           (None, "its name cannot be looked up")])
def test_a_token_endpoint_that_is_not_dialled(world, sandgate, api, address, says):
    """A name must not lead the refresh token into the host's own network."""
    if address:
        world.name(LOGIN, address)
    box = box_of(sandgate, REFRESHED)
    for _ in range(3):
        done = box.curl(f"https://{API}/", "-i")
        assert " 502 " in status_line(done) and says in done.out, done
    assert api.requests == []
    # The person is told once, and so is the audit log.
    wait_until(lambda: "sandgate.credential.failed" in sandgate("audit", "show", box.name, "--json").out)
    assert sandgate("audit", "show", box.name, "--json").out.count("sandgate.credential.failed") == 1
    wait_until(lambda: says in box.err, what="the words for the person")
    assert box.err.count(says) == 1, box.err


# --- nowhere else ---

def memory_of(pid):
    """All that can be read of a process, but for locked memory that is empty in a child."""
    octets, region = [], None
    with open(f"/proc/{pid}/smaps", encoding="ascii") as f, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in f:
            fields = line.split()
            if "-" in fields[0] and not fields[0].endswith(":"):
                region = fields
            elif fields[0] == "VmFlags:" and "wf" not in fields and "rd" in fields:
                start, end = (int(x, 16) for x in region[0].split("-"))
                if end - start > 1 << 30 or start >> 47:
                    continue
                try:
                    memory.seek(start)
                    octets.append(memory.read(end - start))
                except OSError:
                    pass
    return b"".join(octets)


def test_the_secret_is_nowhere(world, sandgate, api):
    """Not in the environment, arguments and memory of any process of the run, nor in a file of it."""
    box = box_of(sandgate, BEARER % "")
    assert box.run("curl -sS -H \"Authorization: Bearer $API_TOKEN\" "
                   f"https://{API}/?q=1").ok and got(api) == f"Bearer {SECRET}"
    wait_until(lambda: box.egress()["flows"]["open"] == 0)
    secret, named = SECRET.encode(), []
    for pid in box.others():
        for name in ("environ", "cmdline"):
            if SECRET in read_proc(pid, name):
                named.append((pid, read_proc(pid, "comm"), name))
        # AddressSanitizer keeps a copy of the environment that it was started with.
        if not SANITIZED and secret in memory_of(pid):
            named.append((pid, read_proc(pid, "comm"), "memory"))
        if read_proc(pid, "comm").strip() in ("sandgate-broker", "sandgate-gate"):
            assert re.search(r"Max core file size +0 +0 ", read_proc(pid, "limits"))
    assert named == []
    homes = ["/root"] if sandgate.person == "root" else ["/home/dev"]
    found = world.machine.run(f"grep -rlaF -- {SECRET} {' '.join(homes)} /run/user /run/sandgate /tmp/sandgate* /var/log "
                              "2>/dev/null | head -5; true")
    assert found.stdout.strip() == "", found
    assert SECRET not in box.run("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'").out
    assert SECRET not in box.err


# --- while it runs ---

def test_signing_in_to_github_while_it_runs(world, sandgate):
    """With what git has for the person; and it ends when the permission is taken away."""
    site = world.site("github.com", handler=lambda rq: Response("refs"))
    home = "/root" if sandgate.person == "root" else "/home/dev"
    world.machine.write(f"{home}/.gitconfig", "[credential]\n\thelper = store\n", sandgate.person)
    world.machine.write(f"{home}/.git-credentials", "https://person:ghp-0123456789abcdef@github.com\n",
                        sandgate.person, 0o600)
    try:
        box = sandgate.box("--net", "deny", "--allow", "github")

        def ask():
            done = box.curl("https://github.com/a/b.git/info/refs?service=git-upload-pack")
            assert done.out == "refs", done
            value = got(site)
            return value and base64.b64decode(value.split()[1]).decode()

        assert ask() is None
        for _ in range(2):
            done = sandgate("net", "allow", box.name, "github:as-you", "--yes")
            assert done.ok, done
            assert ask() == "x-access-token:ghp-0123456789abcdef"
            assert sandgate("net", "deny", box.name, "github:as-you").ok
            assert ask() is None
    finally:
        world.machine.run(f"rm -f {home}/.gitconfig {home}/.git-credentials", sandgate.person)

def test_what_still_runs_with_a_credential_ends_with_it(world, sandgate):
    """Once the secret is wiped an answer that repeats it could not be masked, and a stream would go on
    being the person's."""
    gone = threading.Event()

    async def wait():
        while not gone.is_set():
            await asyncio.sleep(0.01)

    async def late(rq):
        await wait()
        return Response(rq.header("authorization"))

    async def stream(rq):
        yield b"first\n"
        await wait()
        yield rq.header("authorization").encode()

    def handler(rq):
        what = rq.target.split("/")[1]
        return late(rq) if what == "late" else Response(stream(rq)) if what == "stream" else Response("refs")

    site = world.site("github.com", handler=handler)
    token = "gho-0123456789abcdef"
    sign_in(world, token)
    box = sandgate.box("--net", "deny", "--allow", "github")
    ask = "curl -sS -N -i -m20 https://github.com/{}/b.git/info/refs?service=git-upload-pack"
    before = box.start(ask.format("stream") + " > without; true")
    wait_until(lambda: len(site.requests) == 1, 10, "a request without a credential")
    assert sandgate("net", "allow", box.name, "github:as-you", "--yes").ok
    running = [box.start(f"{ask.format(what)} > {what}; true") for what in ("late", "stream")]
    wait_until(lambda: len(site.requests) == 3, 10, "the requests")
    wait_until(lambda: "first" in box.run("cat stream").out, 10, "the first line")
    given = got(site)
    assert token in base64.b64decode(given.split()[1]).decode()
    assert sandgate("net", "deny", box.name, "github:as-you").ok
    gone.set()
    for one in (before, *running):
        one.wait()
    out = box.run("cat late stream").out
    assert given not in out and token not in out, out
    assert "sandgate-reason: credential-refused" in box.run("cat late").out
    # What went without one goes on.
    assert box.run("cat without").out.count("first") == 1


def test_a_rule_that_denies_a_token_endpoint_holds(world, sandgate, api):
    login = world.site(LOGIN, handler=lambda rq: Response("{}"))
    text = policy(REFRESHED) + f"deny: [{LOGIN}]\n"
    box = sandgate.box("--policy", "policy.yaml", env={"API_TOKEN": SECRET}, files={"policy.yaml": text})
    assert "the gate does not dial it" in box.curl(f"https://{API}/").out
    assert login.requests == []
