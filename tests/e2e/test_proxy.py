# SPDX-License-Identifier: Apache-2.0
"""The proxy port: CONNECT, absolute form and SOCKS5, with real clients and with raw octets; and
`network: brokered`, where it is the only way out."""

import json
import re

import pytest

from internet.services import Ssh, apt_site, git_site, npm_site
from program import JAVA_FETCH, wait_until

CA = "/etc/ssl/certs/ca-certificates.crt"
GATEWAY = "gateway.sandgate.internal"
UNSET = "env -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY -u http_proxy -u https_proxy -u all_proxy "

# Octets for the proxy port, part by part, and all that came back.
RAW = """
def talk(parts, port=3128, pause=0.05, half_close=True, seconds=8):
    s = dial("gateway.sandgate.internal", port, seconds)
    for i, part in enumerate(parts if isinstance(parts, list) else [parts]):
        if i and pause: time.sleep(pause)
        try:
            s.sendall(part)
        except OSError:
            break
    if half_close:
        try:
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    got, end = b"", "end"
    try:
        while part := s.recv(65536): got += part
    except OSError as problem:
        end = errname(problem)
    return {"text": got.decode("latin-1"), "hex": got.hex(), "end": end}

def connect(target, early=b"", fields=b""):
    t = target.encode()
    return b"CONNECT " + t + b" HTTP/1.1\\r\\nHost: " + t + b"\\r\\n" + fields + b"\\r\\n" + early

def get(host, target="/"):
    return f"GET {target} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode()

def socks(host, port, command=1):
    name = host.encode()
    return b"\\5%c\\0\\3%c" % (command, len(name)) + name + port.to_bytes(2, "big")
"""


@pytest.fixture
def site(world):
    return world.site("api.example.com", "other.example.com",
                      handler=lambda r: f"{r.header('host')}{r.target}\n")


@pytest.fixture
def box(site, sandgate):
    return sandgate.box("--net", "brokered", "--allow", "api.example.com")


def status_of(answer):
    found = re.match(r"HTTP/1\.1 (\d+) ", answer["text"])
    return int(found[1]) if found else None


def events(sandgate, box, proto):
    lines = sandgate("net", "log", box.name, "--json").out.splitlines()
    return [e for e in map(json.loads, lines) if e.get("proto") == proto]


# Real clients, with what brokered puts into their environment.

@pytest.mark.parametrize("command", [
    "curl -sS https://{}/x", "curl -sS http://{}/x", "wget -nv -O- https://{}/x",
    "wget -nv -O- http://{}/x",
    "python3 -c \"import urllib.request as u; print(u.urlopen('https://{}/x').read().decode())\"",
    "python3 -c \"import urllib.request as u; print(u.urlopen('http://{}/x').read().decode())\"",
    UNSET + f"curl -sS --socks5-hostname {GATEWAY}:1080 https://{{}}/x",
    UNSET + f"curl -sS --socks5-hostname user:secret@{GATEWAY}:1080 http://{{}}/x",
    UNSET + f"curl -sS --proxy http://user:secret@{GATEWAY}:3128 https://{{}}/x",
    UNSET + f"curl -sS --proxy http://user:secret@{GATEWAY}:3128 http://{{}}/x",
    UNSET + f"curl -sS --proxytunnel --proxy http://{GATEWAY}:3128 http://{{}}/x",
])
def test_clients_reach_what_is_listed_and_fail_fast_elsewhere(site, box, command):
    got = box.run(command.format("api.example.com"))
    assert "api.example.com/x" in got.out, got
    refused = box.run(command.format("other.example.com"))
    assert "other.example.com/x" not in refused.out and refused.seconds < 5, refused
    assert {r.header("host") for r in site.requests} == {"api.example.com"}
    assert not any(r.header("proxy-authorization") for r in site.requests)


def test_requests_of_python(box, needs):
    needs("/usr/lib/python3/dist-packages/requests/__init__.py")
    code = ("import requests; r = requests.get('{}'); print(r.status_code, r.text)")
    for url in "https://api.example.com/x", "http://api.example.com/x":
        assert box.run(["/usr/bin/python3", "-c", code.format(url)]).out.startswith("200 api.example.com/x")
    got = box.run(["/usr/bin/python3", "-c", code.format("http://other.example.com/x")])
    assert got.out.startswith("403 sandgate: other.example.com:80: ")
    # Its message to a person has the command that allows it.
    got = box.run(["/usr/bin/python3", "-c", code.format("https://other.example.com/x")])
    assert f"sandgate net allow {box.name} site:other.example.com" in got.err


def test_node_through_connect(box, needs):
    needs("node")
    code = """
const http = require('http'), tls = require('tls');
const r = http.request({host: 'gateway.sandgate.internal', port: 3128, method: 'CONNECT',
                        path: process.argv[1] + ':443', headers: {host: process.argv[1] + ':443'}});
r.on('response', a => { console.log(a.statusCode, a.headers['sandgate-reason']); process.exit(3); });
r.on('connect', (a, socket) => {
  if (a.statusCode != 200) { console.log(a.statusCode, a.headers['sandgate-reason']); process.exit(3); }
  const t = tls.connect({socket, servername: process.argv[1]}, () =>
    t.write(`GET /x HTTP/1.1\\r\\nHost: ${process.argv[1]}\\r\\nConnection: close\\r\\n\\r\\n`));
  t.on('data', d => process.stdout.write(d)); t.on('end', () => process.exit(0)); });
r.end();
"""
    assert "api.example.com/x" in box.run(["env", f"NODE_EXTRA_CA_CERTS={CA}", "node", "-e", code,
                                           "api.example.com"]).out
    got = box.run(["node", "-e", code, "other.example.com"])
    assert got.status == 3 and got.out == "403 not-in-policy\n", got


def test_java_reads_its_options(box, needs):
    needs("javac")
    box.run(["tee", "Fetch.java"], input=JAVA_FETCH)
    got = box.run("java Fetch.java https://api.example.com/x")
    assert "api.example.com/x" in got.out, got
    assert not box.run("java Fetch.java https://other.example.com/").ok


def test_git_over_https(world, sandgate, needs):
    needs("git")
    git_site(world, "code.example.com")
    box = sandgate.box("--net", "brokered", "--allow", "code.example.com")
    got = box.run("git clone -q https://code.example.com/project.git && cat project/README")
    assert got.out == "the project\n", got
    assert not box.run("git clone -q https://other.example.com/project.git").ok


@pytest.mark.parametrize("command", [f"nc -X 5 -x {GATEWAY}:1080 %h %p",
                                     f"nc -X connect -x {GATEWAY}:3128 %h %p"])
def test_ssh_by_proxy_command(world, sandgate, needs, command):
    """demands.md, clients 6: what nc can do is enough; a server that speaks first."""
    needs("nc", "ssh", "/usr/sbin/sshd")
    address = world.address()
    world.name("code.example.com", address)
    server = Ssh(world, address)
    box = sandgate.box("--net", "brokered", "--allow", "code.example.com:22",
                       files={"key": server.private_key})
    ssh = (f"ssh -i key -o 'ProxyCommand={command}' -o StrictHostKeyChecking=no "
           "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR dev@{} echo came through")
    assert box.run(ssh.format("code.example.com")).out == "came through\n"
    admitted = events(sandgate, box, "socks" if "-X 5" in command else "connect")[0]
    assert (admitted["name"], admitted["address"], admitted["port"]) == ("code.example.com", address, 22)
    assert not box.run(ssh.format("other.example.com")).ok


def test_npm_reads_the_variables(world, sandgate, needs):
    needs("npm")
    npm_site(world, "registry.example.com")
    box = sandgate.box("--net", "brokered", "--allow", "registry.example.com")
    got = box.run("npm install --no-audit --no-fund --registry=https://registry.example.com "
                  "little-package && node -p 'require(\"little-package\")'")
    assert got.ok and got.out.endswith("installed\n"), got


def test_apt_reads_the_variables(world, sandgate, needs):
    needs("apt-get")
    apt_site(world, "deb.example.com")
    box = sandgate.box("--net", "brokered", "--allow", "deb.example.com", "--as-root")
    got = box.run("echo 'deb [trusted=yes] http://deb.example.com/ ./' > /tmp/list && "
                  "O='-o Dir::Etc::sourcelist=/tmp/list -o Dir::Etc::sourceparts=/dev/null' && "
                  "apt-get $O -q update && apt-get $O -q download little-package && ls *.deb")
    assert got.ok and got.out.endswith("little-package_1.0_all.deb\n"), got


# What brokered means.

def test_the_variables_of_brokered(site, sandgate):
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    shown = "env | grep -iE '_proxy=' | sort"
    box = sandgate.box("--net", "brokered", "--env", "https_proxy=http://127.0.0.1:1/")
    got = dict(line.split("=", 1) for line in box.run(shown).out.splitlines())
    for name in names[:3]:
        assert got[name] == f"http://{GATEWAY}:3128"
    assert got["https_proxy"] == "http://127.0.0.1:1/" and got["http_proxy"] == got["HTTP_PROXY"]
    assert {"localhost", "127.0.0.1", "::1", "host.sandgate.internal"} < set(got["NO_PROXY"].split(","))
    assert got["no_proxy"] == got["NO_PROXY"] and got["NODE_USE_ENV_PROXY"] == "1"
    assert sandgate.box("--net", "deny").run(shown).out == ""


def test_nothing_goes_the_direct_way(world, site, box, sandgate):
    """The address of what is listed is known, and still: no connection, datagram, lookup, echo."""
    assert box.run("curl -sS http://api.example.com/").ok
    world.start_watching()
    got = box.python("""
report(tcp=[try_dial(sys.argv[1], p)[0] for p in (80, 443, 8443)],
       udp=ask_udp(sys.argv[1], 443, b"x", 1)[1],
       lookup=dns_rcode(ask_udp(sys.argv[1], 53, dns_question("api.example.com"))[0]))
""", site.address)
    assert got.json["tcp"] == ["ECONNREFUSED"] * 3, got
    assert got.json["udp"] and got.json["lookup"] == 5, got
    assert world.left_the_host(dns=True) == []
    assert [e["reason"] for e in events(sandgate, box, "tcp")] == ["proxy-only"] * 2 + ["port-not-allowed"]
    assert {e["reason"] for e in events(sandgate, box, "dns")} == {"proxy-only"}
    assert not box.run(UNSET + "curl -sS -m 5 https://api.example.com/").ok


def test_explain_and_the_gate_say_the_same(box, sandgate):
    def explain(what):
        return json.loads(sandgate("net", "explain", box.name, what, "--json").out)
    assert explain("https://api.example.com/")["verdict"] == "allow"
    assert "through the proxy port only" in explain("https://api.example.com/")["note"]
    assert explain("api.example.com:443/udp")["reason"] == "proxy-only"
    assert explain("api.example.com:22")["reason"] == "port-not-allowed"
    assert explain(f"{GATEWAY}:3128")["verdict"] == "allow"
    assert explain(f"{GATEWAY}:22")["verdict"] == "deny"
    got = box.python(RAW + "report(**talk(connect('api.example.com:22')))")
    assert status_of(got.json) == 403 and "port-not-allowed" in got.json["text"]


def test_a_change_to_brokered_cuts_what_went_directly(site, started, sandgate):
    """policy.md 8: flows are judged again; what came through the proxy port stays."""
    one = started("--net", "deny", "--allow", "api.example.com")
    code = ("import socket, time, sys\n"
            "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
            "if sys.argv[3:]:\n"
            "    s.sendall(b'CONNECT api.example.com:80 HTTP/1.0\\r\\n\\r\\n'); s.recv(999)\n"
            "s.sendall(b'GET / HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n'); got = b''\n"
            "while b'api.example.com/' not in got: got += s.recv(999)\n"
            "print('up', flush=True)\n"
            "s.settimeout(20)\n"
            "try: print(repr(s.recv(9)), flush=True)\n"
            "except TimeoutError: print('stays', flush=True)\n"
            "except OSError as e: print(e.strerror, flush=True)\n")
    direct = sandgate.world.machine.popen(
        [sandgate.path, "exec", one.name, "--", "python3", "-c", code, "api.example.com", "80"],
        sandgate.person, stdout=-1, text=True)
    proxied = sandgate.world.machine.popen(
        [sandgate.path, "exec", one.name, "--", "python3", "-c", code.replace("20)", "4)"), GATEWAY,
         "3128", "x"], sandgate.person, stdout=-1, text=True)
    assert direct.stdout.readline() == "up\n" and proxied.stdout.readline() == "up\n"
    assert sandgate("net", "policy", "--preset", "brokered", one.name).ok
    assert direct.communicate(timeout=20)[0] == "Connection reset by peer\n"
    assert proxied.communicate(timeout=20)[0] == "stays\n"
    # The broker, which nothing needed before, is there for what needs it.
    wait_until(lambda: one.exec(f"curl -sS -x http://{GATEWAY}:3128 http://api.example.com/x").out
               == "api.example.com/x\n", what="the broker")


# The proxy port beside the direct way.

def test_the_proxy_port_is_there_under_any_base(site, sandgate):
    box = sandgate.box("--only", "api.example.com")
    got = box.run(f"curl -sS -x http://{GATEWAY}:3128 https://api.example.com/x && "
                  f"curl -sS -x socks5h://{GATEWAY}:1080 http://api.example.com/y && "
                  f"curl -sS --socks5 {GATEWAY}:1080 https://api.example.com/z && "
                  "curl -sS https://api.example.com/direct")
    assert got.out.split() == [f"api.example.com/{p}" for p in ("x", "y", "z", "direct")], got


def test_absolute_form_without_a_broker(site, sandgate):
    """It has nobody to carry it: 503 says so, and nothing is sent."""
    box = sandgate.box("--only", "api.example.com")
    got = box.python(RAW + "report(**talk(get('api.example.com', 'http://api.example.com/')))")
    assert status_of(got.json) == 503 and "broker-down" in got.json["text"], got
    assert site.requests == []


@pytest.mark.parametrize("answers", ["synthetic", "real"])
def test_either_kind_of_dns_answer(site, sandgate, answers):
    path = "p.yaml"
    box = sandgate.box("--policy", path, cwd=_policy(sandgate, path,
                       f"network: brokered\ndns_answers: {answers}\nallow: [api.example.com]\n"))
    got = box.run("curl -sS https://api.example.com/x; curl -sS http://api.example.com/y; "
                  f"{UNSET} curl -sS --socks5-hostname {GATEWAY}:1080 http://api.example.com/z")
    assert got.out.split() == ["api.example.com/x", "api.example.com/y", "api.example.com/z"], got


def _policy(sandgate, path, text):
    work = sandgate.world.machine.new_work(sandgate.person)
    sandgate.world.machine.write(f"{work}/{path}", text, sandgate.person)
    return work


# What is asked for, judged.

def test_the_name_inside_is_the_one_that_was_asked_for(site, sandgate):
    """demands.md, fronting: CONNECT, server name and Host agree, on every request."""
    box = sandgate.box("--net", "brokered", "--allow", "api.example.com", "--allow", "other.example.com")
    assert not box.run("curl -sS -k --connect-to other.example.com:443:api.example.com:443 "
                       "--proxytunnel https://other.example.com/").ok
    got = box.python(RAW + """
report(other=talk(connect("api.example.com:80", get("other.example.com"))),
       later=talk([connect("api.example.com:80"),
                   b"GET /1 HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n",
                   get("other.example.com", "/2")], pause=0.2),
       none=talk(connect("api.example.com:80", b"GET / HTTP/1.0\\r\\n\\r\\n")),
       again=talk(connect("api.example.com:80", connect("api.example.com:80"))),
       plain=talk(connect("api.example.com:443", get("api.example.com"))),
       absolute=talk(get("other.example.com", "http://api.example.com/")))
""").json
    assert "sni-mismatch" in got["other"]["text"]
    assert "api.example.com/1" in got["later"]["text"] and "sni-mismatch" in got["later"]["text"]
    assert "no-server-name" in got["none"]["text"]
    assert re.findall(r"HTTP/1.1 (\d+)", got["again"]["text"]) == ["200", "403"]
    assert got["plain"]["text"].startswith("HTTP/1.1 200 ") and "api.example.com/" not in got["plain"]["text"]
    assert status_of(got["absolute"]) == 400
    assert [r.target for r in site.requests] == ["/1"]
    mismatches = [e for e in events(sandgate, box, "connect") + events(sandgate, box, "http")
                  if e.get("reason") == "sni-mismatch"]
    assert len(mismatches) >= 2, events(sandgate, box, "connect")


def test_requests_are_seen_through_it(site, sandgate):
    """A rule for some requests: the tunnel is opened by the broker, a request in absolute form is
    judged by it."""
    work = _policy(sandgate, "p.yaml", "network: brokered\nallow:\n  - {host: api.example.com, methods: [GET]}\n")
    box = sandgate.box("--policy", "p.yaml", cwd=work)
    for client in "curl -sS", UNSET + f"curl -sS --proxy socks5h://{GATEWAY}:1080":
        for scheme in "https", "http":
            assert box.run(f"{client} {scheme}://api.example.com/x").out == "api.example.com/x\n"
            got = box.run(f"{client} -i -d secret {scheme}://api.example.com/post")
            assert "sandgate-reason: method-not-allowed" in got.out.lower(), got
    assert {(r.method, r.target) for r in site.requests} == {("GET", "/x")}
    issuer = box.run("curl -sSv https://api.example.com/ 2>&1 | grep issuer:").out
    assert "sandgate" in issuer.lower(), issuer


def test_early_data_is_the_tunnels(box):
    got = box.python(RAW + """
report(connect=talk(connect("api.example.com:80", get("api.example.com", "/early"))),
       socks=talk(b"\\5\\1\\0" + socks("api.example.com", 80) + get("api.example.com", "/early"), 1080))
""").json
    assert got["connect"]["text"].endswith("api.example.com/early\n")
    assert bytes.fromhex(got["socks"]["hex"])[:12] == b"\5\0\5\0\0\1" + bytes(6)
    assert got["socks"]["text"].endswith("api.example.com/early\n")


def test_one_request_in_absolute_form_a_connection(site, box):
    got = box.python(RAW + """
first = b"GET http://api.example.com/1 HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n"
report(**talk(first + first.replace(b"/1", b"/2") + get("other.example.com", "http://other.example.com/3")))
""").json
    assert got["text"].count("HTTP/1.1 ") == 1 and "connection: close" in got["text"].lower()
    assert [r.target for r in site.requests] == ["/1"]


SMUGGLED = ("Content-Length: 3", "Transfer-Encoding: chunked", "X: a\r\n b", "X : a", "X: a\nY: b",
            "Host: other.example.com")


def test_heads_that_could_be_read_in_two_ways(site, box):
    """protocols.md, HTTP/1.1: what is malformed there is malformed at the proxy port."""
    got = box.python(RAW + """
report(tunnels=[talk(connect("api.example.com:80", get("api.example.com"), f.encode("latin-1") + b"\\r\\n"))
                for f in sys.argv[1:]],
       others=[talk(octets) for octets in (
           b"CONNECT api.example.com:80 HTTP/1.1\\nHost: api.example.com:80\\n\\n",
           b"\\r\\nCONNECT api.example.com:80 HTTP/1.1\\r\\nHost: api.example.com:80\\r\\n\\r\\n",
           b"CONNECT api.example.com:80 HTTP/1.1\\r\\n\\r\\n",
           b"CONNECT api.example.com HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n",
           b"CONNECT u:p@api.example.com:80 HTTP/1.1\\r\\nHost: api.example.com:80\\r\\n\\r\\n",
           b"CONNECT api.example.com:80, other.example.com:80 HTTP/1.1\\r\\nHost: api.example.com:80\\r\\n\\r\\n",
           get("api.example.com"), get("api.example.com", "https://api.example.com/"),
           get("api.example.com", "http://api.example.com@other.example.com/"),
           b"\\x16\\3\\1\\2\\0\\1\\0\\n", b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n")])
""", *SMUGGLED).json
    for answer in got["tunnels"] + got["others"]:
        assert status_of(answer) == 400 and answer["text"].count("HTTP/1.1 ") == 1, answer
        assert "sandgate-reason: malformed-http" in answer["text"]
    assert "this is a proxy" in got["others"][6]["text"]
    assert "CONNECT only" in got["others"][7]["text"]
    assert site.connections == []


def test_what_leads_inward_is_refused_as_directly(world, sandgate):
    """Loopback, the gate, the host, metadata, special names; by CONNECT, absolute form and SOCKS."""
    world.name("inward.example.com", "127.0.0.1", "169.254.169.254")
    world.name("rebinding.example.com", world.address())
    listener = world.machine.listen("127.0.0.1", 9090)
    box = sandgate.box("--net", "brokered", "--allow", "*.example.com:*,localhost:9090")
    world.start_watching()
    hosts = ["127.0.0.1", "[::1]", "0.0.0.0", "localhost", "169.254.169.254", "192.0.0.1", GATEWAY,
             "192.168.77.2", "10.0.0.1", "[::ffff:127.0.0.1]", "inward.example.com"]
    got = box.python(RAW + """
hosts = sys.argv[1:]
report(connect=[talk(connect(h + ":9090")) for h in hosts],
       nested=[talk(connect(h + p)) for h in hosts[5:7] for p in (":3128", ":1080")],
       absolute=[talk(get(h + ":9090", f"http://{h}:9090/")) for h in hosts],
       socks=[talk([b"\\5\\1\\0", socks(h.strip("[]"), 9090)], 1080) for h in hosts])
""", *hosts, timeout=60).json
    for answer in got["connect"] + got["nested"] + got["absolute"]:
        assert status_of(answer) in (400, 403), answer
    for answer in got["socks"]:
        assert bytes.fromhex(answer["hex"])[2:4] in (b"\5\2", b"\5\1"), answer
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert world.left_the_host() == []
    listener.close()


def test_the_address_that_is_dialled_is_the_vetted_one(world, sandgate):
    """demands.md, rebinding: the name is resolved once, and what comes later changes nothing."""
    site = world.site("moving.example.com", dns=False, handler=lambda r: "the first\n")
    world.zone.rounds("moving.example.com", "A", [site.address], ["127.0.0.1"], ["169.254.169.254"], ttl=0)
    box = sandgate.box("--net", "brokered", "--allow", "moving.example.com")
    assert box.run("curl -sS http://moving.example.com/").out == "the first\n"
    asked = len(world.zone.asked("moving.example.com", "A"))
    assert asked == 1


def test_a_port_of_the_host_is_reached_both_ways(world, sandgate):
    """broker.md 2: the pinhole, also with brokered; not a port that is the proxy's own."""
    async def greet(reader, writer):
        writer.write(b"hello of the host\n")
        writer.close()
    world.tcp("127.0.0.1", 5151, greet, place=world.machine.place)
    box = sandgate.box("--net", "brokered", "--host-port", "5151")
    got = box.python(RAW + """
def greeting(port):
    s = dial("host.sandgate.internal", port, 5)
    return s.recv(99).decode()
report(direct=greeting(5151), proxied=talk(connect("host.sandgate.internal:5151"), half_close=False),
       other=talk(connect("host.sandgate.internal:5152")))
""").json
    assert got["direct"] == "hello of the host\n"
    assert got["proxied"]["text"].endswith("hello of the host\n")
    assert status_of(got["other"]) == 403 and "--host-port 5152" in got["other"]["text"]


# SOCKS5.

def test_socks_replies(world, site, box):
    """RFC 1928, 6: succeeded, not allowed, refused, unknown command, unknown address type."""
    got = box.python(RAW + """
hello = b"\\5\\1\\0"
report(**{name: talk([hello, octets], 1080)["hex"] for name, octets in {
    "ok": socks("api.example.com", 80), "denied": socks("other.example.com", 80),
    "port": socks("api.example.com", 22), "bind": socks("api.example.com", 80, 2),
    "udp": socks("api.example.com", 80, 3), "type": b"\\5\\1\\0\\2abcd\\0\\120",
    "nul": socks("other.example.com\\0.api.example.com", 80),
    "v4": b"\\5\\1\\0\\1" + socket.inet_aton("10.0.0.1") + b"\\0\\120",
    "v6": b"\\5\\1\\0\\4" + socket.inet_pton(socket.AF_INET6, "::1") + b"\\0\\120"}.items()},
    methods=talk(b"\\5\\1\\1", 1080)["hex"], four=talk(b"\\4\\1\\0\\120\\1\\2\\3\\4\\0", 1080)["hex"],
    web=talk(b"GET / HTTP/1.1\\r\\n\\r\\n", 1080)["hex"])
""").json
    replies = {name: bytes.fromhex(text)[3:4] for name, text in got.items()}
    assert [replies[n] for n in ("ok", "denied", "port", "bind", "udp", "type", "nul", "v4", "v6")] == [
        bytes([n]) for n in (0, 2, 2, 7, 7, 8, 1, 2, 2)], got
    assert got["methods"] == "05ff" and got["four"] == got["web"] == ""


def test_failures_are_told_apart(world, sandgate):
    """502 and 504, SOCKS 4 and 5: what the far side, or the way to it, said."""
    address = world.address()
    world.name("closed.example.com", address)
    box = sandgate.box("--net", "brokered", "--allow", "*.example.com:*")
    got = box.python(RAW + """
report(closed=talk(connect("closed.example.com:81")), absent=talk(connect("absent.example.com:81")),
       socks=[talk([b"\\5\\1\\0", socks(n + ".example.com", 81)], 1080)["hex"] for n in ("closed", "absent")])
""", timeout=30).json
    assert status_of(got["closed"]) == 502 and "refused the connection" in got["closed"]["text"]
    assert status_of(got["absent"]) == 502 and "does not exist" in got["absent"]["text"]
    assert [bytes.fromhex(h)[3] for h in got["socks"]] == [5, 4]
    assert box.refused() == 0


# Bounds.

def test_a_slow_head_is_timed_out(box):
    got = box.python(RAW + """
began = time.monotonic()
answer = talk([b"CONNECT api.exa", b"mple.com:80 HTTP/1.1\\r\\n"], half_close=False, seconds=25)
report(seconds=time.monotonic() - began, **answer)
""", timeout=40).json
    assert status_of(got) == 408 and got["seconds"] < 20, got


def test_a_large_head_is_refused(box):
    got = box.python(RAW + """
report(**talk(connect("api.example.com:80", fields=b"X: " + b"x" * 70000 + b"\\r\\n")))
""").json
    assert status_of(got) == 431, got


def test_a_head_octet_by_octet(box):
    got = box.python(RAW + """
head = connect("api.example.com:80") + get("api.example.com", "/slow")
report(**talk([head[i:i + 1] for i in range(len(head))], pause=0.001))
""").json
    assert got["text"].endswith("api.example.com/slow\n"), got


def test_limits_hold_here_too(site, sandgate):
    work = _policy(sandgate, "p.yaml", "network: brokered\nallow: [api.example.com, '*.example.net']\n"
                   "limits: {flows: 8, wildcard_names_per_minute: 3}\n")
    box = sandgate.box("--policy", "p.yaml", cwd=work)
    got = box.python(RAW + """
held = []
for _ in range(12):
    try:
        held.append(dial("gateway.sandgate.internal", 3128, 3))
    except OSError:
        pass
n = len(held)
for s in held: s.close()
time.sleep(0.3)
report(held=n, names=[talk(connect(f"n{i}.example.net:443"))["text"].split("\\r\\n")[0] for i in range(6)])
""", timeout=40).json
    assert got["held"] == 8
    statuses = [line.split()[1] for line in got["names"]]
    assert statuses == ["502"] * 3 + ["403"] * 3, got


def test_the_rate_of_new_connections_holds_here_too(site, sandgate):
    work = _policy(sandgate, "p.yaml", "network: brokered\nallow: [api.example.com]\n"
                   "limits: {flows_per_second: 1, flows_burst: 5}\n")
    box = sandgate.box("--policy", "p.yaml", cwd=work)
    got = box.python("report(r=[try_dial('gateway.sandgate.internal', 3128, 3)[0] for _ in range(30)])").json["r"]
    assert 5 <= got.count("connected") < 30 and "ECONNREFUSED" in got, got
    wait_until(lambda: "limit-rate" in {e.get("reason") for e in events(sandgate, box, "tcp")}, what="the log")


def test_the_log_and_the_counters(site, box, sandgate):
    box.run("curl -sS https://api.example.com/; curl -sS https://other.example.com/; "
            f"{UNSET} curl -sS --socks5-hostname {GATEWAY}:1080 https://other.example.com/")
    def noted():
        return [e["action"].rsplit(".", 1)[1] for e in events(sandgate, box, "connect")]
    wait_until(lambda: noted() == ["allow", "end", "deny"], what="the log")
    admitted, ended, refused = events(sandgate, box, "connect")
    assert admitted["name"] == "api.example.com" and admitted["port"] == 443
    assert admitted["address"] == site.address and ended["bytes_in"] > 0
    assert refused["reason"] == "not-in-policy" and "site:other.example.com" in refused["remedy"]
    assert [e["reason"] for e in events(sandgate, box, "socks")] == ["not-in-policy"]
    assert [e["address"] for e in events(sandgate, box, "connect")[:2]] == [site.address] * 2
    totals = box.egress()
    assert totals["flows"]["opened"] == 1 and totals["flows"]["refused"] == 2
    assert totals["dns"]["answered"] == 0
    box.stop()
    assert "other.example.com" in box.err


def test_allowed_while_it_runs(box, sandgate):
    """The command that the refusal shows works."""
    command = re.search(r"to allow it: (sandgate net allow \S+ \S+)",
                        box.run("curl -sS http://other.example.com/").out)[1]
    assert sandgate(*command.split()[1:]).ok
    assert box.run("curl -sS https://other.example.com/now").out == "other.example.com/now\n"
