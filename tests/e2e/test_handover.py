# SPDX-License-Identifier: Apache-2.0
"""Connections whose requests have to be seen go from the gate to the broker, and no other way."""

import asyncio
import os
import signal
import ssl

import pytest

from internet.services import Http2
from internet.web import Response
from program import descendants, read_proc, wait_until
from test_tls import looked_up

NAME = "api.example.com"
PLAIN = "plain.example.com"
POLICY = "network: deny\nallow: [{0}, {1}]\ninspect: [{0}]\n".format(NAME, PLAIN)
OWN = "sandgate"  # stands in the issuer of the sandbox's authority


def hello(request):
    return Response("hello")


def box_of(sandgate, text=POLICY, *options):
    return sandgate.box("--policy", "policy.yaml", *options, files={"policy.yaml": text})


def broker_of(box):
    return next(pid for pid in descendants(box.process.pid)
                if read_proc(pid, "comm").strip() == "sandgate-broker")


def change(box, *words):
    done = box.sandgate("net", words[0], box.name, *words[1:])
    assert done.ok, done


def logged(box, **wanted):
    """Entries of the connection log; they come a moment after what they tell of."""
    def match():
        lines = box.sandgate("net", "log", box.name, "--json").lines
        found[:] = [e for e in lines if all(e.get(k) == v for k, v in wanted.items())]
        return found
    found = []
    wait_until(match, 10, f"an entry with {wanted}")
    return found


def reasons(box):
    return [e["reason"] for e in logged(box, verdict="deny")]


def open_flows(box):
    return box.egress()["flows"]["open"]


# --- real clients ---

def test_h1(world, sandgate):
    site = world.site(NAME, handler=hello)
    box = box_of(sandgate)
    got = box.run(f"curl -sSv https://{NAME}/one https://{NAME}/two")
    assert got.out == "hellohello" and f"issuer: CN={OWN}" in got.err.replace("O=", "CN="), got
    assert [(r.method, r.target, r.header("host")) for r in site.requests] == [
        ("GET", "/one", NAME), ("GET", "/two", NAME)]
    # One connection of the client is one flow, and its requests were inspected.
    wait_until(lambda: open_flows(box) == 0)
    assert box.egress()["requests"] == {"inspected": 2, "refused": 0}
    end, = logged(box, proto="tcp", action="sandgate.egress.end")
    assert end["bytes_out"] > 100 and end["bytes_in"] > 50 and "reason" not in end
    assert len(logged(box, proto="tcp", action="sandgate.egress.allow")) == 1
    assert [e["path"] for e in logged(box, proto="http")] == ["/one", "/two"]


def test_h2(world, sandgate):
    address = world.address()
    world.name(NAME, address)
    Http2(world, address, [NAME], {"file": b"over h2"})
    box = box_of(sandgate)
    got = box.run(f"curl -sS -w '%{{http_version}}' https://{NAME}/file")
    assert got.out == "over h22", got


def test_openssl_and_python(world, sandgate):
    world.site(NAME, handler=hello)
    box = box_of(sandgate)
    got = box.run(f"printf 'GET / HTTP/1.1\\r\\nHost: {NAME}\\r\\nConnection: close\\r\\n\\r\\n' | "
                  f"openssl s_client -quiet -connect {NAME}:443 -servername {NAME} "
                  "-verify_return_error -ign_eof")
    assert got.out.endswith("hello"), got
    got = box.python("import urllib.request\n"
                     f"print(urllib.request.urlopen('https://{NAME}/').read().decode())")
    assert got.out == "hello\n", got


def test_another_host_keeps_its_own_certificate(world, sandgate):
    world.site(NAME, PLAIN, handler=hello)
    box = box_of(sandgate)
    got = box.run(f"curl -sSv https://{PLAIN}/")
    assert got.out == "hello" and "Little Internet Test CA" in got.err, got
    assert box.egress()["requests"]["inspected"] == 0


def test_bodies_larger_than_what_is_allowed_at_once(world, sandgate):
    """The gate lets a MiB be read and then the next: both ways whole, and counted."""
    octets = 8 << 20
    world.site(NAME, handler=lambda request: Response(request.body))
    box = box_of(sandgate)
    got = box.run(f"head -c {octets} /dev/urandom >/tmp/there; "
                  f"curl -sS -m 50 --data-binary @/tmp/there -o /tmp/back https://{NAME}/ && "
                  "cmp /tmp/there /tmp/back")
    assert got.ok, got
    end, = logged(box, proto="tcp", action="sandgate.egress.end")
    for way in ("bytes_out", "bytes_in"):
        assert octets < end[way] < octets + 65536


# --- hellos ---

def test_the_hello_is_found_however_it_is_cut(world, sandgate):
    site = world.site(NAME, handler=hello)
    box = box_of(sandgate)
    looked_up(box, NAME)
    got = box.python("""
import ssl
context = ssl.create_default_context()
# None at all, one, the other, both: what is offered is what the broker may choose from.
for offers in ([], ["http/1.1"], ["h2", "http/1.1"]):
    for size, pause in ((1, 0.0005), (100, 0.005), (4096, 0)):
        there, here = ssl.MemoryBIO(), ssl.MemoryBIO()
        if offers:
            context.set_alpn_protocols(offers)
        tls = context.wrap_bio(there, here, server_hostname=sys.argv[2])
        s = dial(sys.argv[1], 443)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        first = True
        def step(work):
            global first
            while True:
                try:
                    return work()
                except ssl.SSLWantReadError:
                    out = here.read()
                    if first:
                        for i in range(0, len(out), size):
                            s.sendall(out[i:i + size])
                            time.sleep(pause)
                        first = False
                    else:
                        s.sendall(out)
                    got = s.recv(65536)
                    there.write(got) if got else there.write_eof()
        step(tls.do_handshake)
        tls.write(b"GET / HTTP/1.1\\r\\nHost: " + sys.argv[2].encode() + b"\\r\\n\\r\\n")
        got = step(lambda: tls.read(4096))
        report(offers=offers, size=size, chosen=tls.selected_alpn_protocol(),
               answer=got.decode().split("\\r\\n")[0])
""", site.addresses[0], NAME)
    assert len(got.lines) == 9, got
    for line in got.lines:
        assert line["answer"] == "HTTP/1.1 200 OK", line
        assert line["chosen"] == ("http/1.1" if line["offers"] else None), line


def test_what_offers_no_http_is_told_at_once(world, sandgate):
    site = world.site(NAME, handler=hello)
    box = box_of(sandgate)
    got = box.run(f"openssl s_client -connect {NAME}:443 -servername {NAME} -alpn mqtt </dev/null")
    assert "alert no application protocol" in got.err, got
    assert reasons(box) == ["not-http"]
    assert not world.left_the_host(to=site.addresses[0], where=lambda p: p.payload)


# --- plain HTTP ---

GITHUB = "network: deny\npermissions: [github]\nallow: [{0}]\n".format(PLAIN)


def test_plain_http_to_a_host_with_operations(world, sandgate):
    site = world.site("github.com", PLAIN, handler=hello, https=False)
    box = box_of(sandgate, GITHUB)
    refs = "http://github.com/o/r/info/refs?service=git-"
    assert box.curl(refs + "upload-pack").out == "hello"
    got = box.run(f"curl -sS -w ' %{{http_code}}' {refs}receive-pack")
    assert "403" in got.out and "github:push" in got.out, got
    assert [r.target for r in site.requests] == ["/o/r/info/refs?service=git-upload-pack"]


def test_a_later_request_does_not_reach_it(world, sandgate):
    """Both names are at one address: the first request of a connection decides who carries it."""
    site = world.site("github.com", PLAIN, handler=hello, https=False)
    box = box_of(sandgate, GITHUB)
    looked_up(box, "github.com", PLAIN)
    got = box.python("""
def ask(host):
    return f"POST /o/r/git-receive-pack HTTP/1.1\\r\\nHost: {host}\\r\\nContent-Length: 0\\r\\n\\r\\n"
s = dial(sys.argv[1], 80)
s.sendall((ask("plain.example.com") + ask("github.com")).encode())
got = b""
while part := s.recv(65536):
    got += part
print(got.decode())
""", site.addresses[0])
    first, second = got.out.split("HTTP/1.1 ")[1:]
    assert first.startswith("200 ") and second.startswith("403 "), got
    assert "sandgate-reason: not-inspected" in second
    assert [r.header("host") for r in site.requests] == [PLAIN]


# --- the broker's end ---

SLOW = """
import ssl
context = ssl.create_default_context()
s = context.wrap_socket(dial(sys.argv[1], 443), server_hostname=sys.argv[2],
                        suppress_ragged_eofs=False)
s.sendall(b"GET /slow HTTP/1.1\\r\\nHost: " + sys.argv[2].encode() + b"\\r\\n\\r\\n")
problem, got = None, 0
try:
    while part := s.recv(65536):
        got += len(part)
        with open("/tmp/begun", "w") as f: f.write(str(got))
except OSError as e:
    problem = type(e).__name__
report(problem=problem, got=got)
"""


class Slow:
    """An answer that goes on until it is let end."""

    def __init__(self):
        self.over = False

    def __call__(self, request):
        if request.target != "/slow":
            return hello(request)
        return Response(self._parts())

    async def _parts(self):
        while not self.over:
            yield b"x" * 100
            await asyncio.sleep(0.02)


def begin_slow(box, address, name=NAME, mark="begun"):
    """Looks the name up, and begins an answer, of which something has come."""
    looked_up(box, name)
    pending = box.start_python(SLOW.replace("begun", mark), address, name)
    wait_until(lambda: got_so_far(box, mark), 10, "the answer")
    return pending


def got_so_far(box, mark="begun"):
    return int(box.run(f"cat /tmp/{mark}").out or 0)


def test_a_broker_that_is_killed_costs_what_it_had_and_no_more(world, sandgate):
    site = world.site(NAME, PLAIN, handler=Slow())
    box = box_of(sandgate)
    pending = begin_slow(box, site.addresses[0])
    assert open_flows(box) == 1
    # The gate was told twice a second, and ten parts come in that time.
    wait_until(lambda: got_so_far(box) > 5000, 20, "some of the answer")
    os.kill(broker_of(box), signal.SIGKILL)
    got = pending.wait(60).json
    assert got["problem"] and got["got"], got
    end, = logged(box, proto="tcp", action="sandgate.egress.end", reason="broker-down")
    assert 0 < end["bytes_in"] <= got["got"] + 4096 and end["bytes_out"] > 0, end
    wait_until(lambda: open_flows(box) == 0)
    wait_until(lambda: box.curl(f"https://{NAME}/").out == "hello", 20, "the next broker")


def test_a_gate_that_is_killed_cuts_them(world, sandgate):
    site = world.site(NAME, handler=Slow())
    box = box_of(sandgate)
    pending = begin_slow(box, site.addresses[0])
    os.kill(box.gate_pid, signal.SIGKILL)
    assert pending.wait(60).json["problem"]
    wait_until(lambda: box.curl(f"https://{NAME}/").out == "hello", 20, "the next gate")


# --- another policy ---

def test_one_that_is_not_admitted_any_more_is_cut(world, sandgate):
    site = world.site(NAME, PLAIN, handler=Slow())
    box = box_of(sandgate)
    pending = begin_slow(box, site.addresses[0])
    change(box, "allow", "other.example.com")
    assert open_flows(box) == 1
    change(box, "deny", NAME)
    assert pending.wait(60).json["problem"]
    wait_until(lambda: open_flows(box) == 0)


def test_a_policy_that_begins_to_inspect_cuts_what_it_cannot_see(world, sandgate):
    """`github` holds its hosts to operations; they were all open by `web`."""
    site = world.site("github.com", PLAIN, handler=Slow())
    box = box_of(sandgate, "network: standard\npermissions: [web, -github]\n")
    goes, stays = (begin_slow(box, site.addresses[0], name, mark=name)
                   for name in ("github.com", PLAIN))
    change(box, "allow", "github")
    assert goes.wait(60).json["problem"]
    assert "not-inspected" in reasons(box)
    assert open_flows(box) == 1
    stays.kill()
    got = box.run("curl -sS -w ' %{http_code}' https://github.com/o/r/settings")
    assert "403" in got.out, got


# --- limits ---

def test_limits_on_flows_count_them(world, sandgate):
    site = world.site(NAME, handler=Slow())
    box = box_of(sandgate, POLICY + "limits: {flows: 2}\n")
    pending = [begin_slow(box, site.addresses[0], mark=mark) for mark in ("one", "two")]
    got = box.curl(f"https://{NAME}/")
    assert not got.ok
    assert reasons(box) == ["limit-flows"]
    for one in pending:
        one.kill()
    wait_until(lambda: open_flows(box) == 0, 10, "their end")
    assert box.curl(f"https://{NAME}/").out == "hello"


@pytest.mark.parametrize("key, reason", [("bytes_out", "limit-bytes"),
                                         ("bytes_out_per_host", "limit-bytes-per-host")])
def test_limits_on_octets_hold(world, sandgate, key, reason):
    taken = []

    async def take(reader, writer):
        try:
            while part := await reader.read(65536):
                taken.append(len(part))
        except (ConnectionError, ssl.SSLError):
            pass
        writer.close()
    address = world.address()
    world.name(NAME, address)
    world.tcp(address, 443, take, ssl=world.tls_context(NAME))
    box = box_of(sandgate, POLICY + "limits: {%s: 200000}\n" % key)
    got = box.run(f"head -c 1000000 /dev/zero | curl -sS -m 20 -T - https://{NAME}/up")
    assert not got.ok
    assert reasons(box) == [reason]
    end, = logged(box, proto="tcp", action="sandgate.egress.end")
    # To the octet, as they are inside TLS; what the server gets has another head.
    assert end["bytes_out"] == 200000 and end["reason"] == reason
    assert 0 < sum(taken) < 202000
    assert not box.curl(f"https://{NAME}/").ok


def test_a_limit_holds_over_h2_and_leaves_the_rest_alone(world, sandgate):
    """One that is at its limit is cut; another that has some left goes on."""
    address = world.address()
    world.name(NAME, address)
    Http2(world, address, [NAME], {"file": b"there"})
    other = world.site(PLAIN, handler=hello)
    box = box_of(sandgate, POLICY + "limits: {bytes_out_per_host: 200000}\n")
    got = box.run(f"head -c 1000000 /dev/zero | curl -sS -m 20 -T - https://{NAME}/file")
    assert not got.ok
    end, = logged(box, proto="tcp", action="sandgate.egress.end")
    assert (end["bytes_out"], end["reason"]) == (200000, "limit-bytes-per-host")
    assert box.curl(f"https://{PLAIN}/").out == "hello" and len(other.requests) == 1


def test_what_was_sent_last_arrives_though_the_sandbox_ends(world, sandgate):
    """The command ends right after its last write; its octets are on their way, some at the broker."""
    octets, taken = 3 << 20, []

    async def take(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        try:
            while sum(taken) < octets and (part := await reader.read(65536)):
                taken.append(len(part))
                await asyncio.sleep(0.01)
        except (ConnectionError, ssl.SSLError):
            pass
        writer.close()
    address = world.address()
    world.name(NAME, address)
    world.tcp(address, 443, take, ssl=world.tls_context(NAME))
    work = world.machine.new_work(sandgate.person)
    world.machine.write(f"{work}/policy.yaml", POLICY, sandgate.person, 0o600)
    done = sandgate.run("--policy", "policy.yaml", cwd=work, command=["python3", "-c", f"""
import socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("{NAME}", 443)),
                                             server_hostname="{NAME}")
s.sendall(b"POST /last HTTP/1.1\\r\\nHost: {NAME}\\r\\nContent-Length: {octets}\\r\\n\\r\\n" + bytes({octets}))
s.setblocking(False)
try: s.unwrap()  # says that it has come to its end, and does not wait for the other's
except OSError: pass
s.close()
"""])
    assert done.ok, done
    wait_until(lambda: sum(taken) >= octets, 10, "the rest")
