# SPDX-License-Identifier: Apache-2.0
"""DNS: the gate answers every question itself, over UDP and TCP, whatever server it was sent to."""

import time

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

from internet.services import echo_tcp

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])

GATE = "192.0.0.1"


def dig(box, *words):
    return box.run(["dig", "+time=3", "+tries=1", *words]).out


@pytest.mark.engines
def test_a_refused_name_is_refused_with_the_remedy_and_never_asked_upstream(world, sandgate):
    """RFC 8914. demands.md, DNS 29: a denied name never reaches the upstream resolver."""
    world.name("secret-data.example.com", world.address())
    box = sandgate.box("--only", "api.example.com")
    world.start_watching()
    for transport in ("+notcp", "+tcp"):
        got = dig(box, transport, "secret-data.example.com")
        assert "status: REFUSED" in got
        assert "EDE: 15" in got and "secret-data.example.com" in got.split("EDE: 15")[1], got
    assert box.run("getent hosts secret-data.example.com").status == 2
    assert world.zone.asked("secret-data.example.com") == []
    assert world.left_the_host(dns=True) == []


@pytest.mark.parametrize("server", [GATE, "8.8.8.8", "93.184.77.77", "192.168.77.1", "10.0.0.53",
                                    "2001:4860:4860::8888", "fd73:616e:6467:1::1"])
def test_whatever_server_is_asked_the_gate_answers(world, sandgate, server):
    """`dig @8.8.8.8` goes nowhere else: the same policy, the same answer (bypass list: DNS to any
    server)."""
    world.name("api.example.com", "93.184.210.1")
    box = sandgate.box("--only", "api.example.com")
    world.start_watching()
    for transport in ("+notcp", "+tcp"):
        assert dig(box, f"@{server}", transport, "+short", "api.example.com") == "93.184.210.1\n"
        assert "status: REFUSED" in dig(box, f"@{server}", transport, "other.example.com")
    assert world.left_the_host(to=server, where=lambda p: server != "192.168.77.1") == []


def test_the_case_of_the_question_is_echoed(world, sandgate):
    """0x20: the name comes back as it was sent, compared without case."""
    world.name("api.example.com", "93.184.210.2")
    box = sandgate.box("--only", "api.example.com")
    got = dig(box, "ApI.eXaMpLe.CoM")
    assert ";ApI.eXaMpLe.CoM." in got and "93.184.210.2" in got


HEADER_TESTS = [
    ("no question", "struct.pack('!6H', 7, 0x100, 0, 0, 0, 0)", 1),
    ("two questions", "dns_question('api.example.com', count=2)", 1),
    ("trailing octets", "dns_question('api.example.com') + b'x'", 1),
    ("chaos class", "dns_question('api.example.com', klass=3)", 5),
    ("a status request", "dns_question('api.example.com', flags=0x1000)", 4),
    ("a notify", "dns_question('api.example.com', flags=0x2000)", 4),
    ("an update", "dns_question('api.example.com', flags=0x2800)", 4),
    ("cut in the header", "b'\\0\\7\\1\\0\\0\\1'", None),
    ("cut in the name", "dns_question('api.example.com')[:18]", 1),
    ("a label of 64", "dns_question(b'\\x40' + b'a' * 64 + b'\\0')", 1),
    ("a name over 255", "dns_question((b'\\x3f' + b'a' * 63) * 4 + b'\\0')", 1),
    ("a pointer to itself", "dns_question(b'\\xc0\\x0c')", 1),
    ("a pointer forward", "dns_question(b'\\xc0\\x20')", 1),
    ("a NUL in a label", "dns_question(b'\\4ev\\0l\\7example\\3com\\0')", 5),
    ("two OPT records", "dns_question('api.example.com', extra=2, "
                        "tail=b'\\0\\0\\x29\\4\\xd0\\0\\0\\0\\0\\0\\0' * 2)", 1),
]


def test_malformed_questions_get_the_code_of_their_fault(world, sandgate):
    """RFC 1035, 6891, 9619; nothing malformed reaches the upstream."""
    world.name("api.example.com", "93.184.210.3")
    box = sandgate.box("--only", "api.example.com")
    box.run("getent hosts api.example.com")
    asked = len(world.zone.queries)
    cases = ", ".join(f"({name!r}, {code})" for name, code, _ in HEADER_TESTS)
    got = box.python(f"""
for name, wire in [{cases}]:
    answer, problem, _ = ask_udp("192.0.0.1", 53, wire, timeout=1)
    report(name=name, rcode=dns_rcode(answer), problem=problem)
response = dns_question("api.example.com", flags=0x8100)
report(name="a response", rcode=dns_rcode(ask_udp("192.0.0.1", 53, response, timeout=1)[0]))
""")
    seen = {line["name"]: line["rcode"] for line in got.lines}
    assert {k: seen[k] for k, _, code in HEADER_TESTS if code is not None} == {
        k: code for k, _, code in HEADER_TESTS if code is not None}
    assert seen["a response"] in (None, 1)
    assert len(world.zone.queries) == asked
    assert dig(box, "+short", "api.example.com") == "93.184.210.3\n"  # it still stands


def test_edns_as_rfc_6891_says(world, sandgate):
    """A version that is not known gets BADVERS; the size is clamped; client subnet is dropped."""
    world.name("api.example.com", "93.184.210.4")
    box = sandgate.box("--only", "api.example.com")
    assert "status: BADVERS" in dig(box, "+edns=1", "+noednsneg", "api.example.com")
    got = dig(box, "+bufsize=4096", "+dnssec", "api.example.com")
    assert "flags: do; udp: 1232" in got or "flags: do, udp: 1232" in got, got
    assert "CLIENT-SUBNET" not in dig(box, "+subnet=198.51.100.0/24", "api.example.com")
    options = [o for q in world.zone.asked("api.example.com") for o in q.message.options]
    assert all(o.otype != 8 for o in options)
    assert "EDNS" not in dig(box, "+noedns", "api.example.com")


@pytest.mark.engines
def test_a_large_answer_is_cut_and_tcp_has_it_whole(world, sandgate):
    """RFC 7766; demands.md, DNS 24, 26: TC then TCP, answers fit the size asked for."""
    texts = [f'"{i:03d}{"x" * 200}"' for i in range(12)]
    world.zone.add("big.example.com", "TXT", *texts)
    box = sandgate.box("--only", "big.example.com")
    got = box.python("""
question = dns_question("big.example.com", kind=16)
answer = ask_udp("192.0.0.1", 53, question)[0]
report(size=len(answer), tc=bool(answer[2] & 2), rcode=answer[3] & 15)
""")
    assert got.json["tc"] and got.json["size"] <= 512 and got.json["rcode"] == 0
    assert len(dig(box, "+tcp", "+short", "big.example.com", "TXT").splitlines()) == 12
    got = dig(box, "big.example.com", "TXT")
    assert "Truncated, retrying in TCP mode" in got and "ANSWER: 12" in got


def test_tcp_framing_split_at_any_octet_and_pipelined(world, sandgate):
    world.name("api.example.com", "93.184.210.5")
    for i in range(10):
        world.name(f"n{i}.example.com", f"93.184.210.{50 + i}")
    world.zone.behave("n0.example.com", delay=0.5)
    box = sandgate.box("--only", "api.example.com,*.example.com")
    got = box.python("""
s = dial("192.0.0.1", 53)
wire = dns_question("api.example.com")
for octet in struct.pack("!H", len(wire)) + wire:
    s.send(bytes([octet])); time.sleep(0.002)
f = s.makefile("rb")
def answer():
    return f.read(struct.unpack("!H", f.read(2))[0])
report(split=answer()[3] & 15)
for i in range(10):
    wire = dns_question(f"n{i}.example.com", number=100 + i)
    s.sendall(struct.pack("!H", len(wire)) + wire)
ids = [struct.unpack("!H", answer()[:2])[0] for _ in range(10)]
report(all=sorted(ids) == list(range(100, 110)), last=ids[-1])
""")
    assert got.lines[0]["split"] == 0, got
    assert got.lines[1]["all"], got
    assert got.lines[1]["last"] == 100  # the slow one does not hold the others up


def test_any_is_answered_minimally_and_transfers_are_refused(world, sandgate):
    """RFC 8482."""
    world.name("api.example.com", "93.184.210.6")
    world.zone.add("api.example.com", "TXT", '"a"')
    box = sandgate.box("--only", "api.example.com")
    asked = len(world.zone.asked(kind="ANY"))
    got = dig(box, "+notcp", "api.example.com", "ANY")
    assert "status: NOERROR" in got and len(got) < 2000
    assert len(world.zone.asked(kind="ANY")) == asked
    for kind in ("AXFR", "IXFR=1"):
        assert "93.184.210.6" not in box.run(["dig", "+tcp", "api.example.com", kind]).out
    assert world.zone.asked(kind="AXFR") == []


def test_other_types_of_an_exact_name_are_forwarded(world, sandgate):
    """demands.md, DNS 25: a matrix of types over UDP and TCP, with and without EDNS."""
    name = "svc.example.com"
    world.name(name, "93.184.210.7")
    records = {"MX": "10 mail.example.com.", "TXT": '"v=spf1 -all"', "SRV": "1 2 5060 sip.example.com.",
               "NS": "ns1.example.com.", "CAA": '0 issue "ca.example"'}
    for kind, data in records.items():
        world.zone.add(name, kind, data)
    box = sandgate.box("--only", name)
    for transport in ("+notcp", "+tcp"):
        for edns in ("+edns", "+noedns"):
            for kind, data in records.items():
                got = dig(box, "+short", transport, edns, name, kind)
                assert got.strip() == data, (kind, transport, edns, got)
    assert "status: NOERROR" in dig(box, name, "TLSA")
    assert "ANSWER: 0" in dig(box, name, "TLSA")


def test_under_a_wildcard_only_addresses_are_answered(world, sandgate):
    """TXT under a wildcard is a data channel: NODATA, and nothing is asked (bypass: DNS tunnels)."""
    world.name("a.example.com", "93.184.210.8")
    world.zone.add("a.example.com", "TXT", '"a"')
    box = sandgate.box("--only", "*.example.com")
    assert dig(box, "+short", "a.example.com") == "93.184.210.8\n"
    for kind in ("TXT", "NULL", "MX", "SRV", "NS"):
        got = dig(box, "a.example.com", kind)
        assert "status: NOERROR" in got and "ANSWER: 0" in got, got
    assert {q.type for q in world.zone.asked("a.example.com")} <= {"A", "AAAA", "HTTPS", "CNAME"}


def test_no_such_name_and_no_data_carry_soa(world, sandgate):
    """RFC 2308, so that they are remembered as what they are."""
    world.name("api.example.com", "93.184.210.9")
    box = sandgate.box("--only", "api.example.com,gone.example.com")
    got = dig(box, "gone.example.com")
    assert "status: NXDOMAIN" in got and "SOA" in got
    got = dig(box, "api.example.com", "AAAA")
    assert "status: NOERROR" in got and "ANSWER: 0" in got and "SOA" in got


@pytest.mark.engines
def test_a_and_aaaa_in_parallel_as_glibc_asks(world, sandgate):
    """demands.md, DNS 24: both are answered, from one socket."""
    world.name("api.example.com", "93.184.210.10", "2a00:1::210:10")
    world.name("four.example.com", "93.184.210.11")
    box = sandgate.box("--only", "api.example.com,four.example.com")
    got = box.run("getent ahosts api.example.com").out
    assert "93.184.210.10" in got and "2a00:1::210:10" in got
    quick = box.run("getent ahosts four.example.com")
    assert "93.184.210.11" in quick.out and quick.seconds < box.engine.at_once


@pytest.mark.engines
def test_names_that_never_leave(world, sandgate):
    """RFC 6761, 8880; and the names by which browsers would go round the gate, in every mode."""
    box = sandgate.box("--net", "any")
    world.start_watching()
    got = box.run("getent ahosts localhost; getent ahosts sub.localhost").out
    assert set(line.split()[0] for line in got.splitlines()) <= {"127.0.0.1", "::1"}, got
    for name in ("x.invalid", "x.test", "x.onion", "printer.local", "x.alt",
                 "use-application-dns.net", "mask.icloud.com", "mask-h2.icloud.com"):
        assert "status: NXDOMAIN" in dig(box, name), name
    got = dig(box, "_dns.resolver.arpa", "SVCB")
    assert "status: NOERROR" in got and "ANSWER: 0" in got
    dig(box, "ipv4only.arpa", "AAAA")
    assert world.left_the_host(dns=True) == []


def test_questions_to_the_upstream_are_hard_to_forge(world, sandgate):
    """Random ids and ports (RFC 5452)."""
    world.zone.add("*.example.com", "A", "93.184.210.40")
    box = sandgate.box("--only", "*.example.com")
    world.start_watching()
    for i in range(30):
        box.run(["dig", "+short", f"n{i}.example.com"])
    asked = world.left_the_host(dns=True, where=lambda p: p.port == 53)
    ids = [p.payload[:2] for p in asked]
    assert len(asked) >= 30 and len(set(ids)) >= 28
    steps = {(int.from_bytes(b, "big") - int.from_bytes(a, "big")) & 0xFFFF for a, b in zip(ids, ids[1:])}
    assert len(steps) > 20
    assert len({p.source_port for p in asked}) > 20


def test_search_lists_end_quickly_and_are_counted_once(world, sandgate):
    """demands.md, CDN 19 and DNS 25: a five-label search list ends quickly."""
    suffixes = "a.b.c.d.corp.example b.c.d.corp.example c.d.corp.example svc.corp.example corp.example"
    world.machine.use_resolver("192.168.77.1", search=suffixes)
    world.name("api.example.com", "93.184.210.12")
    box = sandgate.box("--only", "api.example.com", "--env", f"LOCALDOMAIN={suffixes}")
    got = box.run("getent ahosts api.example.com")
    assert "93.184.210.12" in got.out and got.seconds < box.engine.at_once, got
    refused = box.run("getent ahosts other.example.com")
    assert not refused.ok and refused.seconds < box.engine.at_once
    assert world.zone.asked("*.corp.example") == []
    assert box.egress()["dns"]["refused"] > 2, "the search list was not gone through"
    rows = [line for line in box.stop().err.splitlines() if line.startswith("  ") and "corp.example" in line]
    assert len(rows) == 1 and rows[0].startswith("  a.b.c.d.corp.example (lookup, "), rows


def test_musl_with_a_search_list(world, sandgate, needs):
    """demands.md, DNS 23: musl takes no notice of REFUSED, so for it there is NXDOMAIN."""
    needs("musl-gcc")
    machine = world.machine
    machine.use_resolver("192.168.77.1", search="svc.corp.example corp.example")
    site = world.site("api.example.com")
    work = machine.new_work()
    machine.write(f"{work}/look.c", MUSL, "dev")
    machine.run("musl-gcc -static -o look look.c", cwd=work).check_returncode()
    program = machine.place.call(lambda: open(f"{work}/look", "rb").read())
    machine.write(f"{work}/nx.yaml", "network: deny\nallow: [api.example.com]\n"
                  "dns_refusal: nxdomain\n", "dev")
    for options, patience in ((["--only", "api.example.com"], 8), (["--yes", "--policy", f"{work}/nx.yaml"], 1)):
        box = sandgate.box(*options, cwd=work)
        box.bring("look", program)
        got = box.run("./look api.example.com")
        assert got.out == f"{site.address}\n" and got.seconds < box.engine.at_once, got
        refused = box.run("./look other.example.com")
        assert refused.status == 1 and refused.seconds < max(patience, box.engine.at_once), refused


MUSL = """
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
int main(int n, char **a)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *r;
	char text[64];
	if (getaddrinfo(a[1], "80", &hints, &r)) return 1;
	inet_ntop(AF_INET, &((struct sockaddr_in *)r->ai_addr)->sin_addr, text, sizeof(text));
	return puts(text) < 0;
}
"""


def test_reverse_lookups_come_from_the_gates_own_table(world, sandgate):
    """demands.md, DNS 62. Never forwarded."""
    world.name("api.example.com", "93.184.210.13")
    box = sandgate.box("--only", "api.example.com")
    assert "status: NXDOMAIN" in dig(box, "-x", "93.184.210.13")
    box.run("getent hosts api.example.com")
    assert dig(box, "+short", "-x", "93.184.210.13") == "api.example.com.\n"
    assert "status: NXDOMAIN" in dig(box, "-x", "10.1.2.3")
    assert world.zone.asked(kind="PTR") == []


def test_a_dead_resolver_is_servfail_within_five_seconds_and_no_refusal(world, sandgate):
    """The log says that the resolver did not answer, not that policy refused."""
    world.zone.dead = True
    box = sandgate.box("--only", "api.example.com")
    got = box.run(["dig", "+time=8", "+tries=1", "api.example.com"])
    assert "status: SERVFAIL" in got.out and got.seconds < 5 + box.engine.at_once, got
    assert "the resolver did not answer" in got.out  # RFC 8914, code 22
    assert box.egress()["dns"]["refused"] == 0
    assert "--allow" not in box.stop().err


def test_fail_over_to_the_second_server(world, sandgate):
    world.machine.use_resolver("93.185.0.53", "192.168.77.1")  # the first is a black hole
    world.name("api.example.com", "93.184.210.14")
    box = sandgate.box("--only", "api.example.com")
    got = box.run(["dig", "+short", "+time=8", "+tries=1", "api.example.com"])
    assert got.out == "93.184.210.14\n" and got.seconds < 4 + box.engine.at_once, got


def test_a_truncated_answer_of_the_upstream_is_asked_again_over_tcp(world, sandgate):
    world.name("api.example.com", "93.184.210.15")
    world.zone.behave("api.example.com", truncated=True)
    box = sandgate.box("--only", "api.example.com")
    assert dig(box, "+short", "api.example.com") == "93.184.210.15\n"
    assert {q.transport for q in world.zone.asked("api.example.com", "A")} == {"udp", "tcp"}


def test_failures_of_the_upstream_are_passed_on_as_failures(world, sandgate):
    box = sandgate.box("--only", "*.example.com")
    for code in ("SERVFAIL", "REFUSED", "FORMERR", "NOTIMP"):
        name = f"{code.lower()}.example.com"
        world.zone.behave(name, rcode=code)
        got = box.run(["dig", "+time=8", "+tries=1", name]).out
        assert "status: SERVFAIL" in got, (code, got)
        assert "EDE: 15" not in got


def test_an_upstream_that_does_not_know_edns(world, sandgate):
    """Old home routers answer FORMERR to it: asked again without."""
    def old(query):
        answer = dns.message.make_response(query)
        if query.edns >= 0:
            answer.use_edns(-1)
            answer.set_rcode(dns.rcode.FORMERR)
        elif query.question[0].rdtype == dns.rdatatype.A:
            answer.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "A",
                                                     "93.184.210.30"))
        return answer
    box = sandgate.box("--only", "*.example.com")
    for name in ("one.example.com", "two.example.com"):
        world.zone.behave(name, answer=old)
        got = box.run(["getent", "ahosts", name])
        assert "93.184.210.30" in got.out and got.seconds < 2, got


def test_hostile_answers_of_the_upstream_do_no_harm(world, sandgate):
    """A mangled, mismatched or poisoned answer is thrown away, and the gate goes on."""
    def other_name(query):
        answer = dns.message.make_response(query)
        answer.answer.append(dns.rrset.from_text("victim.example.com.", 60, "IN", "A", "93.184.66.6"))
        return answer

    def cut(query):
        return dns.message.make_response(query).to_wire()[:20]

    def loop_pointer(query):
        return query.to_wire()[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + b"\xc0\x0c\0\1\0\1" * 3

    box = sandgate.box("--only", "*.example.com")
    answers = (other_name, cut, loop_pointer, lambda query: b"", lambda query: b"\0" * 600)
    for i, answer in enumerate(answers):
        world.zone.behave(f"bad{i}.example.com", answer=answer)
    asking = [box.start(["dig", "+time=8", "+tries=1", f"bad{i}.example.com"])
              for i in range(len(answers))]
    for i, one in enumerate(asking):
        got = one.wait()
        assert "status: SERVFAIL" in got.out or "ANSWER: 0" in got.out, (i, got)
    world.name("good.example.com", "93.184.210.16")
    assert dig(box, "+short", "good.example.com") == "93.184.210.16\n"
    assert box.curl("http://93.184.66.6/").status == 7


def test_musl_and_the_choice_of_refusal(world, sandgate):
    """demands.md, DNS 23: `dns_refusal: nxdomain` for resolvers that stumble over REFUSED."""
    world.machine.write("/home/dev/nx.yaml", "network: deny\nallow: [api.example.com]\n"
                        "dns_refusal: nxdomain\n", "dev")
    box = sandgate.box("--policy", "/home/dev/nx.yaml")
    assert "status: NXDOMAIN" in dig(box, "other.example.com")
    assert world.zone.asked("other.example.com") == []


def test_dns_off_resolves_nothing_and_addresses_still_work(world, sandgate):
    site = world.site("api.example.com")
    world.machine.write("/home/dev/off.yaml", "network: deny\n"
                        f"allow: [api.example.com, {site.address}]\ndns: off\n", "dev")
    box = sandgate.box("--policy", "/home/dev/off.yaml")
    assert "status: REFUSED" in dig(box, "api.example.com")
    assert world.zone.queries == []
    assert box.curl(f"http://{site.address}/").out == "hello from api.example.com\n"


def test_dns_over_tls_and_known_doh_names_are_shut(world, sandgate):
    """Port 853, and DNS over HTTPS, are not a way round (bypass list: DoT 853, DoH)."""
    address = world.address()
    for name in ("mozilla.cloudflare-dns.com", "resolver.example.com"):
        world.name(name, address)
    echo_tcp(world, address, 853)
    code = """
try: report(r=try_dial(socket.gethostbyname(sys.argv[1]), 853)[0])
except OSError: report(r="no address")
"""
    box = sandgate.box("--only", "*.cloudflare-dns.com:*,resolver.example.com")
    assert dig(box, "+short", "mozilla.cloudflare-dns.com") == ""
    assert box.python(code, "resolver.example.com").json["r"] == "ECONNREFUSED"
    listed = sandgate.box("--only", "resolver.example.com:853,mozilla.cloudflare-dns.com")
    assert dig(listed, "+short", "mozilla.cloudflare-dns.com") == f"{address}\n"
    assert listed.python(code, "resolver.example.com").json["r"] == "connected"


def test_hosts_file_of_the_host_is_used(world, sandgate):
    """The upstream is the host's resolver as configured: the hosts file too."""
    machine = world.machine
    before = machine.read("/etc/hosts")
    site = world.site("pinned.example.com", dns=False)
    machine.write("/etc/hosts", before + f"{site.address} pinned.example.com\n")
    try:
        box = sandgate.box("--only", "pinned.example.com")
        # Asked of the gate: some engines give the machine's file to their containers, and who finds a name there
        # asks nobody.
        assert dig(box, "+short", "pinned.example.com") == f"{site.address}\n"
        assert box.curl("http://pinned.example.com/").out == "hello from pinned.example.com\n"
    finally:
        machine.write("/etc/hosts", before)


@pytest.mark.parametrize("configuration", ["", "# nothing\n", "nameserver not-an-address\n"])
def test_a_machine_without_a_resolver(world, sandgate, configuration):
    """It starts; what needs no name works, and names fail at once as unanswered."""
    site = world.site("api.example.com")
    world.machine.replace("/etc/resolv.conf", configuration)
    box = sandgate.box("--only", f"api.example.com,{site.address}")
    got = box.run(["dig", "+time=8", "+tries=1", "api.example.com"])
    assert "status: SERVFAIL" in got.out and got.seconds < 4 + box.engine.at_once, got
    assert box.curl(f"http://{site.address}/").ok


@pytest.mark.parametrize("resolver", ["127.0.0.53", "127.0.0.1", "169.254.169.254", "2a00:99::1"])
def test_resolvers_on_loopback_and_metadata_addresses(worlds, world, sandgate, resolver):
    """demands.md, DNS 32 (systemd-resolved's stub) and 58 (resolver on a metadata address): :53 to
    it works, through the gate, and its other ports stay shut."""
    machine = world.machine
    if resolver.startswith("127."):
        world.dns_on_machine(resolver)
        web = machine.listen(resolver, 80)
    elif ":" in resolver:
        web = None
    else:
        world.own(f"{resolver}/32")
        world.resolver(resolver)
        world.site("metadata", addresses=[resolver], https=False, dns=False)
        web = None
    machine.use_resolver(resolver)
    world.name("api.example.com", "93.184.210.20")
    box = sandgate.box("--only", "api.example.com")
    assert dig(box, "+short", "api.example.com") == "93.184.210.20\n"
    assert box.python(f'report(r=try_dial("{resolver}", 80)[0])').json["r"] == "ECONNREFUSED"
    if web:
        web.close()


def test_a_change_of_the_resolver_is_followed(world, sandgate):
    """The configuration is read at the start and followed when it changes, however it is written."""
    world.resolver("93.184.53.53")
    world.name("api.example.com", "93.184.210.21")
    world.name("two.example.com", "93.184.210.22")
    world.name("three.example.com", "93.184.210.23")
    box = sandgate.box("--only", "*.example.com")
    assert dig(box, "+short", "api.example.com") == "93.184.210.21\n"
    assert world.zone.asked("api.example.com")[0].server == "192.168.77.1"
    world.machine.use_resolver("93.184.53.53")                                # renamed over
    answered_by(world, box, "two.example.com", "93.184.53.53")
    world.machine.write("/etc/resolv.conf", "nameserver 192.168.77.1\n")      # written in place
    answered_by(world, box, "three.example.com", "192.168.77.1")
    # A link, as systemd-resolved and NetworkManager keep it, and its target that changes.
    world.machine.run("mkdir -p /run/net && echo nameserver 192.168.77.1 > /run/net/r && "
                      "ln -sf /run/net/r /etc/resolv.conf", person="root").check_returncode()
    box = sandgate.box("--only", "*.example.com")
    answered_by(world, box, "api.example.com", "192.168.77.1")
    world.machine.replace("/run/net/r", "nameserver 93.184.53.53\n")
    answered_by(world, box, "two.example.com", "93.184.53.53")


def answered_by(world, box, name, server):
    """The question of a fresh name goes to `server` soon after the change."""
    deadline = time.monotonic() + 60
    while True:
        time.sleep(0.2)
        dig(box, "+short", name)
        if world.zone.asked(name)[-1].server == server:
            return
        assert time.monotonic() < deadline, world.zone.asked(name)
