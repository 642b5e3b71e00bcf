# SPDX-License-Identifier: Apache-2.0
"""Modes, rules and files of policy, and that what the program explains is what it does."""

import json

import pytest

from internet.services import echo_tcp, echo_udp
from program import Sandgate, wait_until


def policy(world, text, name="/home/dev/policy.yaml"):
    world.machine.write(name, text, "dev")
    return name


def test_any_forwards_everything_private_addresses_included(world, sandgate):
    public = world.site("www.example.com")
    address = world.address()
    echo_tcp(world, address, 4444)
    echo_udp(world, address, 4444)
    world.tcp("192.168.77.1", 8088, _hello)
    box = sandgate.box("--net", "any")
    assert box.curl("https://www.example.com/").ok
    assert box.curl(f"http://{public.address}/").ok
    got = box.python('report(tcp=try_dial(sys.argv[1], 4444)[0], private=try_dial("192.168.77.1", 8088)[0],'
                     'udp=ask_udp(sys.argv[1], 4444, b"x")[0] == b"x")', address).json
    assert got == {"tcp": "connected", "private": "connected", "udp": True}
    world.name("router.example.com", "192.168.77.1")
    assert box.run("dig +short router.example.com").out == "192.168.77.1\n"
    assert box.egress()["flows"]["refused"] == 0


async def _hello(reader, writer):
    writer.write(b"hello\n")
    writer.close()


def test_any_with_a_deny_rule(world, sandgate):
    world.site("www.example.com")
    tracker = world.site("tracker.example.com")
    box = sandgate.box("--net", "any", "--deny", "tracker.example.com,93.184.9.0/24")
    assert box.curl("https://www.example.com/").ok
    assert box.curl("https://tracker.example.com/").status == 6
    assert box.curl("http://93.184.9.9/").status == 7
    assert world.zone.asked("tracker.example.com") == []
    # Nor by its address, with its name inside.
    resolve = f"tracker.example.com:{{}}:{tracker.address}"
    assert box.curl("https://tracker.example.com/", "--resolve", resolve.format(443)).status == 35
    got = box.curl("http://tracker.example.com/", "--resolve", resolve.format(80), "-i")
    assert " 403 " in got.out
    assert tracker.requests == []


def test_none_has_no_network_at_all_but_loopback(world, sandgate):
    box = sandgate.box("--net", "none")
    world.start_watching()
    got = box.python("""
links = [name for _, name in socket.if_nameindex()]
listener = socket.create_server(("127.0.0.1", 0))
report(links=links, r=try_dial("93.184.9.9", 80)[0],
       loopback=try_dial("127.0.0.1", listener.getsockname()[1])[0])""").json
    assert got["links"] == ["lo"] and got["loopback"] == "connected"
    assert got["r"] in ("ENETUNREACH", "ECONNREFUSED")
    assert world.left_the_host(dns=True) == []


def test_deny_rules_take_away(world, sandgate):
    a, b = world.address(), world.address()
    for address in (a, b):
        echo_tcp(world, address, 80)
    box = sandgate.box("--net", "deny", "--allow", f"{a.rsplit('.', 2)[0]}.0.0/16", "--deny", b)
    got = box.python("report(a=try_dial(sys.argv[1], 80)[0], b=try_dial(sys.argv[2], 80)[0])", a, b)
    assert got.json == {"a": "connected", "b": "ECONNREFUSED"}
    # A deny of the address stands whatever the name says.
    site = world.site("api.example.com")
    named = sandgate.box("--only", "api.example.com", "--deny", f"{site.address}/32")
    assert not named.curl("https://api.example.com/").ok and site.connections == []


def test_a_private_network_is_reached_when_listed_and_only_then(worlds, program):
    """demands.md, names 12: opt-in per rule and CIDR, metadata never."""
    world, sandgate = office(worlds, program)
    world.tcp("10.20.5.5", 8000, _hello)
    world.own("169.254.169.254/32")
    world.tcp("169.254.169.254", 80, _hello)
    world.machine.place.ip("route replace 169.254.169.254 via 192.168.77.1")
    world.name("intranet.example.com", "10.20.5.5")
    try:
        with_network = sandgate.box("--only", "10.20.0.0/16,169.254.0.0/16")
        got = with_network.python('report(office=try_dial("10.20.5.5", 8000)[0],'
                                  'metadata=try_dial("169.254.169.254", 80)[0],'
                                  'beside=try_dial("10.21.0.1", 8000)[0])').json
        assert got == {"office": "connected", "metadata": "ECONNREFUSED", "beside": "ECONNREFUSED"}
        by_name = sandgate.box("--only", "intranet.example.com:8000")
        assert by_name.run("dig +short intranet.example.com").out == ""
        opted = sandgate.box("--policy", policy(world, """
network: deny
allow:
  - host: intranet.example.com
    ports: [8000]
    private: true
"""))
        got = opted.python('report(r=try_dial("intranet.example.com", 8000)[0])')
        assert got.json["r"] == "connected", opted.err
        exact = sandgate.box("--only", "169.254.169.254:80")
        assert exact.python('report(r=try_dial("169.254.169.254", 80)[0])').json["r"] == "connected"
    finally:
        sandgate.close()
        world.machine.place.ip("route del 169.254.169.254")
        world.reset()


def office(worlds, program):
    world = worlds.get(office=True)
    world.machine.use_resolver(world.usual_resolver)
    world.start_watching()
    return world, Sandgate(world, world.machine.install(program), "dev")


FORMS = [
    # what is written, what it must allow, what it must not
    ("github.com", ["github.com:443", "github.com:80"], ["www.github.com", "github.com:22", "github.com:443/udp"]),
    ("*.example.com", ["a.example.com", "a.b.example.com:80"], ["example.com", "a.example.com:8080"]),
    ("db.example.com:5432", ["db.example.com:5432"], ["db.example.com:443", "db.example.com:5432/udp"]),
    ("203.0.113.10", ["203.0.113.10:1", "203.0.113.10:53/udp", "203.0.113.10/icmp"], ["203.0.113.11:1"]),
    ("10.20.0.0/16", ["10.20.255.1:22"], ["10.21.0.1:22"]),
    ("[2001:db8::10]:443", ["[2001:db8::10]:443"], ["[2001:db8::10]:80", "[2001:db8::11]:443"]),
    ("2001:db8::/32", ["[2001:db8:5::1]:9"], ["[2001:db9::1]:9"]),
    ("host.example:1000-2000", ["host.example:1000", "host.example:2000"], ["host.example:999", "host.example:2001"]),
    ("host.example:*", ["host.example:1", "host.example:65535/udp", "host.example/icmp"], ["other.example:1"]),
    ("host.example:22,443", ["host.example:22", "host.example:443"], ["host.example:80"]),
    ("ntp.example.org:123/udp", ["ntp.example.org:123/udp"], ["ntp.example.org:123/tcp"]),
    ("site:host.example", ["host.example:443"], ["x.host.example:443"]),
    ("host.example:443/raw", ["host.example:443"], ["host.example:444"]),
]


@pytest.mark.parametrize("form, allowed, denied", FORMS, ids=[form for form, _, _ in FORMS])
def test_every_documented_form_parses_and_matches(world, sandgate, form, allowed, denied):
    """demands.md, names 9."""
    path = policy(world, f"network: deny\nallow: ['{form}']\n")
    said = {t: sandgate.json("net", "explain", "--policy", path, t)["verdict"] for t in allowed + denied}
    assert said == {t: "allow" for t in allowed} | {t: "deny" for t in denied}


def test_an_empty_list_allows_nothing(world, sandgate):
    """The bypass list: an empty list is not "all"."""
    done = sandgate("run", "--policy", policy(world, "network: deny\nallow: []\n"), "--", "true")
    assert done.status in (2, 125) and "deny" in done.err


def test_duplicates_change_nothing(world, sandgate):
    """demands.md, names 16: duplicates are idempotent."""
    world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com,api.example.com,API.example.com.,api.example.com:443")
    assert box.curl("https://api.example.com/").ok


@pytest.mark.parametrize("text, says", [
    ("network: deny\nallow:\n  - api.example.com\n  - '*.com'\n", "4:"),
    ("network: deny\nalow: [a.example.com]\n", "allow"),
    ("network: opne\n", "open"),
    ("network: deny\nallow:\n  - host: a.example.com\n    ports: [0]\n", "4:"),
    ("network: deny\nallow:\n  - host: a.example.com\n    methods: ['G ET']\n", "4:"),
    ("network: deny\nallow:\n  - host: a.example.com\n    ports: [8443]\n    paths: ['/x']\n", "inspect"),
    ("network: deny\nallow: [ 'a.example.com'\n", "policy.yaml:"),
    ("network: deny\nnetwork: any\n", "network"),
    ("network: any\nallow: [a.example.com]\n", "any"),
    ("- just a list\n", "policy.yaml:1"),
    ("&a [*a]\n", "policy.yaml:1"),
    ("network: !!python/object:os.system deny\n", "policy.yaml:1"),
    ("version: 99\nnetwork: deny\n", "99"),
])
def test_what_is_not_understood_is_refused_with_its_place(world, sandgate, text, says):
    """demands.md, names 13 and 9: what cannot be enforced is not silently accepted."""
    path = policy(world, text)
    for argv in (["policy", "check", path], ["run", "--policy", path, "--", "echo", "started"]):
        done = sandgate(*argv)
        assert done.status == 2 and says in done.err, done
        assert "started" not in done.out


def test_a_file_that_is_not_there_or_not_text(world, sandgate):
    world.machine.run("head -c 4000 /dev/urandom > /home/dev/noise.yaml; mkfifo /home/dev/pipe.yaml;"
                      "head -c 20M /dev/zero > /home/dev/huge.yaml")
    for path in ("/home/dev/none.yaml", "/home/dev", "/home/dev/noise.yaml", "/home/dev/huge.yaml"):
        done = sandgate("run", "--policy", path, "--", "true", timeout=10)
        assert done.status in (2, 125) and path in done.err, done


def test_yaml_and_json_say_the_same(world, sandgate):
    world.site("api.example.com")
    path = policy(world, json.dumps({"network": "deny", "allow": ["api.example.com"]}),
                  "/home/dev/policy.json")
    box = sandgate.box("--policy", path)
    assert box.curl("https://api.example.com/").ok
    assert sandgate("policy", "check", path).ok


def test_policy_check_explains_every_rule_and_starts_nothing(world, sandgate):
    path = policy(world, "network: deny\nallow:\n  - '*.example.com'\n  - db.example.com:5432\n"
                  "deny: [tracker.example.com]\n")
    world.start_watching()
    done = sandgate("policy", "check", path)
    assert done.ok
    for word in ("*.example.com", "db.example.com", "5432", "tracker.example.com"):
        assert word in done.out
    assert world.left_the_host(dns=True) == []


def wrongly_explained(sandgate, box, path, targets):
    """The targets of which explain says another thing than happens, by the file or by the sandbox."""
    got = box.python("""
for name, port in json.loads(sys.argv[1]):
    if name == "127.0.0.1":
        report(name=name, port=port, open=False); continue
    try:
        address = socket.getaddrinfo(name, port, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        result = try_dial(address, port, 5)[0] == "connected"
    except OSError:
        result = False
    report(name=name, port=port, open=result)
""", json.dumps(targets), timeout=90)
    wrong = []
    for line in got.lines:
        target = f"{line['name']}:{line['port']}"
        for where in (["--policy", path], [box.name]):
            said = sandgate.json("net", "explain", *where, target)
            if (said["verdict"] == "allow") != line["open"]:
                wrong.append((target, where, said, line["open"]))
    assert len(got.lines) == len(targets)
    return wrong


def site_with_ports(world, name):
    site = world.site(name)
    for port in (22, 5432):
        echo_tcp(world, site.address, port)
    return site


def test_what_is_explained_is_what_happens(world, sandgate):
    """demands.md, names 14: explain == enforcement, target by target."""
    names = ["www.example.com", "a.wild.example.com", "denied.wild.example.com", "wild.example.com",
             "db.example.com", "other.example.com"]
    for name in names:
        site_with_ports(world, name)
    listed, unlisted = site_with_ports(world, "listed"), world.site("unlisted")
    path = policy(world, f"""
network: deny
allow: [www.example.com, "*.wild.example.com", "db.example.com:5432", "{listed.address}"]
deny: [denied.wild.example.com]
""")
    box = sandgate.box("--policy", path)
    targets = [(name, port) for name in (*names, listed.address, unlisted.address, "10.0.0.1", "127.0.0.1",
                                         "169.254.169.254") for port in (80, 443, 22, 5432)]
    assert wrongly_explained(sandgate, box, path, targets) == []


@pytest.mark.parametrize("permissions", ["[github]", "[github, web]", "[install, -install:rust]"])
def test_what_is_explained_of_permissions_is_what_happens(world, sandgate, permissions):
    """Own rules win over a permission's hosts, however specific they are, in words and on the wire."""
    names = ["github.com", "api.github.com", "codeload.github.com", "pypi.org", "index.crates.io",
             "www.example.com"]
    for name in names:
        site_with_ports(world, name)
    path = policy(world, f"""
network: deny
permissions: {permissions}
allow: ["api.github.com:22"]
deny: ["*.github.com"]
""")
    box = sandgate.box("--policy", path)
    assert box.curl("https://codeload.github.com/").status == 6
    assert wrongly_explained(sandgate, box, path,
                             [(name, port) for name in names for port in (22, 5432)]) == []
    # On the web's ports a connection may begin that ends with the name inside.
    for name in names:
        for scheme in ("http", "https"):
            said = sandgate.json("net", "explain", box.name, f"{scheme}://{name}/")
            got = box.curl("-f", f"{scheme}://{name}/")
            assert (said["verdict"] == "allow") == got.ok, (said, got)


def test_a_denied_request_is_refused_at_an_address_that_is_listed(world, sandgate):
    """The address admits connections; of those to the name, some requests are denied."""
    site = world.site("www.example.com")
    path = policy(world, f"""
network: deny
allow: [www.example.com, "{site.address}"]
deny: [{{host: www.example.com, ports: [80], methods: [POST]}}]
""")
    box = sandgate.box("--policy", path)
    assert box.curl("http://www.example.com/").ok
    refused = box.curl("http://www.example.com/", "-i", "-d", "x")
    assert " 403 " in refused.out, refused
    assert [request.method for request in site.requests] == ["GET"]


def test_explain_says_rule_step_reason_and_remedy(world, sandgate):
    path = policy(world, "network: deny\nallow: ['*.example.com', 'db.example.org:5432']\n")
    said = sandgate.json("net", "explain", "--policy", path, "https://api.example.com/repos/x")
    assert list(said) == ["verdict", "step", "rule", "permission", "reason", "remedy", "note", "name",
                          "address", "port", "proto", "method", "path", "inspected", "operation", "operation_of",
                          "credential", "generation"]
    assert said["verdict"] == "allow" and said["rule"] == "*.example.com" and said["step"] == 3
    assert (said["name"], said["port"], said["proto"]) == ("api.example.com", 443, "tcp")
    said = sandgate.json("net", "explain", "--policy", path, "db.example.org:22")
    assert said["verdict"] == "deny" and said["reason"] == "port-not-allowed"
    assert "db.example.org:22" in said["remedy"]
    said = sandgate.json("net", "explain", "--policy", path, "10.0.0.5:22/tcp")
    assert said["verdict"] == "deny" and said["reason"] in ("special-address", "not-in-policy")
    text = sandgate("net", "explain", "--policy", path, "other.net")
    assert "other.net" in text.out and "--allow" in text.out
    bad = sandgate("net", "explain", "--policy", path, "http://exa mple.com")
    assert bad.status == 2


def test_host_port_opens_one_port_of_the_hosts_loopback(world, sandgate):
    """demands.md, CA and localhost 49: host loopback only by rule; localhost inside untouched."""
    machine = world.machine
    listeners = [machine.listen("127.0.0.1", 5999), machine.listen("127.0.0.1", 6001)]
    world.tcp("127.0.0.1", 6000, _hello, place=machine.place)
    try:
        box = sandgate.box("--net", "deny", "--host-port", "6000")
        got = box.python("""
report(open=dial("host.sandgate.internal", 6000).recv(10).decode(),
       beside=try_dial("host.sandgate.internal", 5999)[0], above=try_dial("host.sandgate.internal", 6001)[0],
       localhost=try_dial("127.0.0.1", 6000)[0])""").json
        assert got == {"open": "hello\n", "beside": "ECONNREFUSED", "above": "ECONNREFUSED",
                       "localhost": "ECONNREFUSED"}
        shut = sandgate.box("--net", "any")
        got = shut.python("""
names = ["127.0.0.1", "192.0.0.1", "192.168.77.2", "::1", "2a00:99::2", "fd73:616e:6467:1::1", "0.0.0.0",
         "127.0.0.53", "10.0.2.2", "172.17.0.1"]
report(**{n: try_dial(n, 6000, 2)[0] for n in names})""").json
        assert "connected" not in got.values(), got
    finally:
        for s in listeners:
            s.close()


def test_the_machines_own_addresses_are_not_a_way_to_its_services(world, sandgate):
    """Services of the host that listen on every address stay out of reach of names and rules."""
    everywhere = world.machine.listen("0.0.0.0", 6100)
    six = world.machine.listen("::", 6101)
    try:
        box = sandgate.box("--only", "*.example.com,93.184.0.0/16,192.0.0.0/24")
        got = box.python("""
report(**{a: try_dial(a, 6101 if ":" in a else 6100, 2)[0] for a in
          ("192.168.77.2", "2a00:99::2", "192.0.0.1", "127.0.0.1", "127.0.0.2", "::1")})""").json
        assert "connected" not in got.values(), got
    finally:
        everywhere.close()
        six.close()


def test_publish_lets_the_person_in(world, sandgate):
    """demands.md, CA and localhost 49: inbound publish, on the host's loopback alone."""
    box = sandgate.box("--net", "deny", "--publish", "8080:3000")
    serving = box.start("echo published > index.html; exec python3 -m http.server 3000")
    machine = world.machine
    wait_until(lambda: machine.run("curl -sS http://127.0.0.1:8080/").stdout == "published\n", 10,
               "the published page")
    assert machine.run("curl -gsS http://[::1]:8080/").stdout == "published\n"
    for outside in ("192.168.77.2", "[2a00:99::2]"):
        assert machine.run(f"curl -gsS -m2 http://{outside}:8080/").returncode == 7, outside
    assert "8080" not in box.run("cat /proc/net/tcp").out
    serving.kill()
    local = box.start("exec python3 -m http.server 3000 --bind 127.0.0.1")
    wait_until(lambda: machine.run("curl -sS -o /dev/null http://127.0.0.1:8080/").returncode == 0, 10,
               "a server on the sandbox's loopback")
    local.kill()


def test_publish_of_a_port_that_is_taken(world, sandgate):
    taken = world.machine.listen("127.0.0.1", 8081)
    try:
        done = sandgate("run", "--net", "deny", "--publish", "8081:3000", "--", "true")
        assert done.status == 125 and "8081" in done.err
    finally:
        taken.close()


def test_localhost_inside_is_the_sandboxs_own(world, sandgate):
    box = sandgate.box("--net", "deny")
    got = box.python("""
for address in "127.0.0.1", "::1", "192.0.0.2":
    listener = socket.create_server((address, 0), family=family_of(address))
    report(address=address, r=try_dial(address, listener.getsockname()[1])[0])
""")
    assert [line["r"] for line in got.lines] == ["connected"] * 3
    assert box.egress()["flows"]["opened"] == 0


def test_what_later_versions_will_have_is_refused_not_guessed(world, sandgate):
    for argv in (["--net", "fakenet"], ["--allow", "instal:python"]):
        done = sandgate("run", *argv, "--", "echo", "started")
        assert done.status in (2, 125) and "started" not in done.out, (argv, done)


def test_a_hundred_thousand_rules_start_as_fast_as_one(world, sandgate):
    names = "".join(f"  - h{i}.example.org\n" for i in range(100000))
    path = policy(world, f"network: deny\nallow:\n{names}  - api.example.com\n")
    world.site("api.example.com")
    done = sandgate.run("--policy", path, command="curl -sS https://api.example.com/")
    assert done.ok and done.seconds < 3 and len(done.err) < 1000, done
