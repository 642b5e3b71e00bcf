# SPDX-License-Identifier: Apache-2.0
"""From a name to the addresses that may be dialled: pins, rebinding, CNAMEs, shared addresses."""

import time

import pytest

from internet.services import echo_udp, greeter
from program import curl_refused, wait_until

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])


@pytest.mark.engines
def test_only_the_answers_given_are_open(world, sandgate):
    """demands.md, CDN 17: a name's rule opens the addresses of its answers and no other."""
    site = world.site("api.example.com")
    neighbour = world.site("neighbour.example.com")
    box = sandgate.box("--only", "api.example.com")
    assert curl_refused(box.curl(f"http://{site.address}/"))  # not yet looked up
    assert box.curl("http://api.example.com/").ok
    assert box.curl(f"http://{site.address}/", "-H", "Host: api.example.com").ok
    world.start_watching()
    assert curl_refused(box.curl(f"http://{neighbour.address}/", "-H", "Host: api.example.com"))
    assert curl_refused(box.curl(f"https://{neighbour.address}/", "-k"))
    assert world.left_the_host() == []


@pytest.mark.engines
def test_a_second_name_on_a_shared_address_is_refused(world, sandgate):
    """demands.md, CDN 18: a shared address does not leak its other tenants."""
    tenants = world.site("mine.example.com", "theirs.example.com")
    box = sandgate.box("--only", "mine.example.com")
    assert box.curl("https://mine.example.com/").ok
    resolve = f"theirs.example.com:443:{tenants.address}"
    assert box.curl("https://theirs.example.com/", "--resolve", resolve).status == 35
    got = box.curl("http://theirs.example.com/", "--resolve", resolve.replace("443", "80"), "-i")
    assert " 403 " in got.out.splitlines()[0], got
    assert [r.server_name for r in tenants.requests] == ["mine.example.com"]


def test_both_names_of_a_shared_address_when_both_are_listed(world, sandgate):
    world.site("one.example.com", "two.example.com")
    box = sandgate.box("--only", "one.example.com,two.example.com")
    assert box.curl("https://one.example.com/").ok
    assert box.curl("https://two.example.com/").ok
    assert box.curl("https://one.example.com/").ok


def test_a_listed_name_by_another_listed_names_address_is_refused(world, sandgate):
    """The server name must be one that was looked up for this address: `sni-mismatch`."""
    one = world.site("one.example.com")
    world.site("two.example.com")
    box = sandgate.box("--only", "one.example.com,two.example.com")
    assert box.curl("https://one.example.com/").ok and box.curl("https://two.example.com/").ok
    got = box.curl("https://two.example.com/", "--resolve", f"two.example.com:443:{one.address}")
    assert got.status == 35, got
    assert "not the name that the address was looked up for" in box.stop().err


def test_a_chain_of_aliases_to_a_cdn_is_allowed_by_the_name_asked_for(world, sandgate):
    """demands.md, CDN 19; policy is on the asked name, not on the CNAMEs behind it."""
    site = world.site("www.example.com", dns=False)
    world.zone.add("www.example.com", "CNAME", "www.example.com.cdn.net.")
    world.zone.add("www.example.com.cdn.net", "CNAME", "edge7.cdn.net.")
    world.name("edge7.cdn.net", site.address)
    box = sandgate.box("--only", "www.example.com")
    assert box.curl("https://www.example.com/").ok
    assert "REFUSED" in box.run("dig edge7.cdn.net").out


def test_a_loop_of_aliases_is_a_failure(world, sandgate):
    world.zone.add("a.example.com", "CNAME", "b.example.com.")
    world.zone.add("b.example.com", "CNAME", "a.example.com.")
    box = sandgate.box("--only", "a.example.com")
    got = box.run("dig +time=6 +tries=1 a.example.com")
    assert "SERVFAIL" in got.out and got.seconds < 5 + box.engine.at_once, got


PRIVATE = ["10.1.2.3", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.77.1", "192.168.1.1",
           "100.64.0.1", "0.0.0.0", "224.0.0.1", "198.18.0.1", "192.0.2.1", "255.255.255.255",
           "168.63.129.16", "100.100.100.200", "192.0.0.1", "192.0.0.2", "192.31.196.1", "192.52.193.1",
           "192.88.99.1", "192.175.48.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "198.19.255.255"]
PRIVATE6 = ["::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "::",
            "::ffff:10.0.0.1", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:a00:1::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2a00:99::5", "3fff::1", "fec0::1", "2001:2::1",
            "2620:4f:8000::1", "100::1", "4000::1", "2a00:1::5efe:10.0.0.1", "::ffff:0:10.0.0.1",
            "64:ff9b::169.254.169.254", "fd20:ce::254"]


@pytest.mark.engines
@pytest.mark.parametrize("network", ["allow", "wildcard"])
def test_names_cannot_point_inward(world, sandgate, network):
    """Rebinding: an answer that is not public is withheld, every address vetted, v4 and v6."""
    for i, address in enumerate(PRIVATE):
        world.zone.add(f"v4-{i}.example.com", "A", address)
    for i, address in enumerate(PRIVATE6):
        world.zone.add(f"v6-{i}.example.com", "AAAA", address)
    names = [f"v4-{i}.example.com" for i in range(len(PRIVATE))]
    six = [f"v6-{i}.example.com" for i in range(len(PRIVATE6))]
    rules = ",".join(names + six) if network == "allow" else "*.example.com"
    box = sandgate.box("--only", rules)
    got = box.run(["dig", "+noall", "+answer"] + [w for n in names for w in (n, "A")]
                  + [w for n in six for w in (n, "AAAA")])
    assert got.ok and got.out.strip() == "", got
    world.start_watching()
    assert not box.curl("http://v4-4.example.com/").ok
    assert world.left_the_host() == []
    assert "private, loopback, link-local" in box.stop().err


def test_a_mixed_answer_keeps_the_public_part(world, sandgate):
    """Policy 5: a mixed public and private answer keeps the public ones and logs the rest."""
    site = world.site("mixed.example.com", dns=False)
    world.zone.add("mixed.example.com", "A", "10.0.0.1", site.address, "127.0.0.1")
    box = sandgate.box("--only", "mixed.example.com")
    assert box.run("dig +short mixed.example.com").out == f"{site.address}\n"
    assert box.curl("http://mixed.example.com/").ok


@pytest.mark.engines
def test_rebinding_between_look_up_and_connection(world, sandgate):
    """The address dialled is the one that was vetted; a second answer changes nothing for it."""
    site = world.site("rebind.example.com", dns=False)
    world.zone.rounds("rebind.example.com", "A", [site.address], ["192.168.77.1"], ttl=0)
    box = sandgate.box("--only", "rebind.example.com")
    got = box.python("""
first = socket.getaddrinfo("rebind.example.com", 80, socket.AF_INET, socket.SOCK_STREAM)
time.sleep(6)
try:
    second = socket.getaddrinfo("rebind.example.com", 80, socket.AF_INET, socket.SOCK_STREAM)
except OSError as problem:
    second = []
report(first=[a[4][0] for a in first], second=[a[4][0] for a in second],
       router=try_dial("192.168.77.1", 80)[0], router53=try_dial("192.168.77.1", 53)[0])
""")
    assert got.json["first"] == [site.address]
    assert got.json["second"] in ([], [site.address])
    assert got.json["router"] == "ECONNREFUSED"


def test_rotating_addresses_do_not_cut_flows(world, sandgate):
    """demands.md, CDN 20, 22: an open flow outlives its answer; differing answers do not refuse."""
    sites = [world.site("spin.example.com", dns=False) for _ in range(4)]
    world.zone.rounds("spin.example.com", "A", *[[s.address] for s in sites], ttl=0)
    box = sandgate.box("--only", "spin.example.com")
    got = box.python("""
address = socket.gethostbyname("spin.example.com")
s = dial(address, 80)
f = s.makefile("rb")
seen = {address}
for _ in range(8):
    http_get(s, "spin.example.com")
    assert read_response(f)[0] == 200
    time.sleep(0.8)
    seen.add(socket.gethostbyname("spin.example.com"))
report(old=try_dial(address, 80)[0], addresses=len(seen))
""", timeout=60)
    assert got.json["old"] == "connected" and got.json["addresses"] > 1, got


def test_a_ttl_of_zero_is_raised_and_a_long_one_lowered(world, sandgate):
    """demands.md, CDN 21: TTL clamped to 5..60 s."""
    world.zone.add("zero.example.com", "A", "93.184.220.1", ttl=0)
    world.zone.add("week.example.com", "A", "93.184.220.2", ttl=604800)
    box = sandgate.box("--only", "zero.example.com,week.example.com")
    for name in ("zero", "week"):
        ttl = int(box.run(f"dig +noall +answer {name}.example.com").out.split()[1])
        assert ttl == {"zero": 5, "week": 60}[name]


def test_up_to_sixteen_addresses_an_answer(world, sandgate):
    addresses = [f"93.184.221.{i}" for i in range(1, 41)]
    world.name("many.example.com", *addresses)
    box = sandgate.box("--only", "many.example.com")
    got = box.run("dig +short +tcp many.example.com").out.split()
    assert len(got) == 16 and set(got) <= set(addresses)


def test_a_wildcard_covers_what_is_below_and_not_the_name_itself(world, sandgate):
    """demands.md, names 8; the bypass list: matches are by label (`evilx.com`, `x.com.evil`)."""
    for name in ("example.com", "a.example.com", "a.b.example.com", "notexample.com",
                 "a.example.com.evil.net", "example.com.evil.net"):
        world.site(name, https=False)
    box = sandgate.box("--only", "*.example.com")
    reached = {name for name in ("example.com", "a.example.com", "a.b.example.com", "notexample.com",
                                 "a.example.com.evil.net", "example.com.evil.net")
               if box.curl(f"http://{name}/").ok}
    assert reached == {"a.example.com", "a.b.example.com"}
    assert {q.name for q in world.zone.queries} == reached


def test_most_specific_wins_and_deny_wins_a_draw(world, sandgate):
    """demands.md, names 10: a table of precedence."""
    names = ["jira.corp.example.com", "wiki.corp.example.com", "www.example.com", "draw.example.com",
             "deep.open.corp.example.com"]
    for name in names:
        world.site(name, https=False)
    box = sandgate.box("--only", "*.example.com,jira.corp.example.com,draw.example.com,"
                       "*.open.corp.example.com", "--deny", "*.corp.example.com,draw.example.com")
    reached = {name for name in names if box.curl(f"http://{name}/").ok}
    assert reached == {"jira.corp.example.com", "www.example.com", "deep.open.corp.example.com"}


def test_case_and_the_final_dot_are_one_name(world, sandgate):
    """The bypass list: canonicalised once, everywhere the same octets."""
    world.site("api.example.com")
    box = sandgate.box("--only", "API.Example.COM.")
    for name in ("api.example.com", "API.EXAMPLE.COM", "api.example.com."):
        assert box.curl(f"http://{name}/").ok, name
    assert box.curl("https://Api.Example.Com/").ok


def test_international_names(world, sandgate):
    world.site("xn--bcher-kva.example.com", https=False)
    box = sandgate.box("--only", "bücher.example.com")
    assert box.curl("http://xn--bcher-kva.example.com/").ok
    # Encoded by the client (RFC 3490), which curl does with a locale alone that not every image has.
    assert box.python('report(r=try_dial("b\\u00fccher.example.com", 80)[0])').json["r"] == "connected"


@pytest.mark.parametrize("name", [
    "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "127.0.0.1.", "1.2.3.4.5", "1.0x10"])
def test_addresses_in_disguise_are_never_resolved(world, sandgate, name):
    """The bypass list: a name whose last label is numeric is an address attempt."""
    world.zone.add(name.rstrip("."), "A", "93.184.222.1")
    box = sandgate.box("--net", "deny", "--allow", "*.example.com")
    got = box.run(["dig", "+short", name])
    assert got.out.strip() == "" and world.zone.queries == []


def test_synthetic_answers_give_every_protocol_a_name(world, sandgate):
    """`dns_answers: synthetic`: one private address per name; what is dialled is the real one."""
    world.site("api.example.com", v6=True)
    shared = world.address()
    world.name("mail.example.com", shared)
    world.name("other.example.com", shared)
    greeter(world, shared, 25, b"220 ready\r\n")
    world.machine.write("/home/dev/s.yaml", "network: deny\ndns_answers: synthetic\n"
                        "allow: [api.example.com, \"mail.example.com:25\"]\n", "dev")
    box = sandgate.box("--policy", "/home/dev/s.yaml")
    four = box.run("dig +short api.example.com").out.strip()
    assert four.startswith(("198.18.", "198.19.")), four
    assert box.run("dig +short api.example.com").out.strip() == four
    six = box.run("dig +short api.example.com AAAA").out.strip()
    assert six.startswith("fd"), six
    assert box.curl("https://api.example.com/").ok
    assert box.curl("http://api.example.com/", "-6").ok
    mail = box.run("dig +short mail.example.com").out.strip()
    assert mail != four
    got = box.python('report(r=dial(sys.argv[1], 25).recv(100).decode())', mail)
    assert got.json["r"] == "220 ready\r\n"
    assert "REFUSED" in box.run("dig other.example.com").out


def test_synthetic_answers_for_datagrams_pings_and_services(world, sandgate):
    """What is dialled is the real address; the private one of one name opens no other name, and the
    real one is nobody's."""
    site = world.site("api.example.com", "other.example.com", v6=True)
    address = world.address()
    world.name("any.example.com", address)
    echo_udp(world, address, 123)
    world.zone.add("api.example.com", "HTTPS", "1 . alpn=h2,h3 ipv4hint=10.0.0.1 ipv6hint=fd00::1")
    world.machine.write("/home/dev/s.yaml", "network: deny\ndns_answers: synthetic\n"
                        "allow: [api.example.com, 'any.example.com:*']\n", "dev")
    box = sandgate.box("--policy", "/home/dev/s.yaml")
    got = box.python("""
own = socket.gethostbyname("any.example.com")
report(own=own, answer=ask_udp(own, 123, b"x")[0] == b"x", real=ask_udp(sys.argv[1], 123, b"x")[0],
       tcp=try_dial(own, 1)[0], real_tcp=try_dial(sys.argv[1], 1)[0])
""", address).json
    own = got.pop("own")
    assert got == {"answer": True, "real": None, "tcp": "ECONNREFUSED", "real_tcp": "ECONNREFUSED"}
    assert "1 received" in box.run(["ping", "-n", "-c", "1", "-W", "2", "any.example.com"]).out
    assert box.run(["dig", "+short", "-x", own]).out == "any.example.com.\n"
    four, six = (box.run(["dig", "+short", "api.example.com", kind]).out.strip() for kind in ("A", "AAAA"))
    assert four.startswith("198.18.") and six.startswith("fd")
    hints = box.run("dig +short api.example.com HTTPS").out
    assert hints.split() == ["1", ".", 'alpn="h2"', f"ipv4hint={four}", f"ipv6hint={six}"]
    for to in (four, *site.addresses):
        at = f"[{to}]" if ":" in to else to
        got = box.curl("https://other.example.com/", "--resolve", f"other.example.com:443:{at}")
        assert got.status in (7, 35), got
    assert site.requests == []


def test_a_refused_name_ends_quickly_for_every_resolver(world, sandgate):
    """demands.md, DNS 28: one documented signal per layer."""
    box = sandgate.box("--only", "api.example.com")
    for command in ("getent hosts no.example.com",
                    "python3 -c 'import socket; socket.getaddrinfo(\"no.example.com\", 80)'",
                    "curl -sS https://no.example.com/", "wget -q -O- https://no.example.com/",
                    "ping -c1 no.example.com"):
        got = box.run(command)
        assert not got.ok and got.seconds < 1 + box.engine.at_once, (command, got)


def test_wildcard_names_are_counted_and_limited(world, sandgate):
    """A channel for data in names: 64 distinct names a minute under one wildcard."""
    world.zone.add("*.example.com", "A", "93.184.223.1")
    box = sandgate.box("--only", "*.example.com")
    got = box.python("""
codes = [dns_rcode(ask_udp("192.0.0.1", 53, dns_question(f"x{i}.example.com"))[0]) for i in range(80)]
again = dns_rcode(ask_udp("192.0.0.1", 53, dns_question("x3.example.com"))[0])
long = dns_rcode(ask_udp("192.0.0.1", 53, dns_question(".".join(["y" * 60] * 3 + ["y" * 20]) + ".example.com"))[0])
report(answered=codes.count(0), refused=codes.count(5), again=again, long=long)
""")
    assert got.json == {"answered": 64, "refused": 16, "again": 0, "long": 5}, got
    assert len({q.name for q in world.zone.asked("*.example.com")}) == 64
    wild = box.egress()["wildcards"]
    assert "*.example.com" in str(wild) and "x0.example.com" in str(wild)
    assert "limit" in box.stop().err


def test_a_network_that_is_joined_later_is_withheld_from_names(world, sandgate):
    """The host's own addresses and connected subnets are followed as they change (rtnetlink)."""
    site = world.site("late.example.com")
    box = sandgate.box("--only", "late.example.com")
    assert box.run("dig +short late.example.com").out == f"{site.address}\n"
    prefix = site.address.rsplit(".", 1)[0]
    world.machine.place.ip(f"addr add {prefix}.254/24 dev lo")
    try:
        wait_until(lambda: box.run("dig +short late.example.com").out == "", 10, "the withholding")
    finally:
        world.machine.place.ip(f"addr del {prefix}.254/24 dev lo")
    time.sleep(0.1)
