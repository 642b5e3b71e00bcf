# SPDX-License-Identifier: Apache-2.0
"""ls, egress, doctor: what a person sees of a running sandbox."""

import json
import re

import pytest

from internet.services import echo_udp
from program import wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])


@BOTH
def test_ls_lists_what_runs(sandgate, person):
    assert sandgate.json("ls") == []
    box = sandgate.box("--only", "api.example.com")
    rows = sandgate.json("ls")
    assert [row["name"] for row in rows] == [box.name]
    assert list(rows[0]) == ["name", "network", "engine", "uptime_s", "flows_open", "refused",
                             "generation", "state"]
    assert rows[0]["state"] == "running"
    assert rows[0]["engine"] == "bwrap" and rows[0]["network"] == "deny"
    assert box.name in sandgate("ls").out
    box.stop()
    assert sandgate.json("ls") == []


def test_egress_counts_exactly(world, sandgate):
    site = world.site("api.example.com", "other.example.com")
    echo_udp(world, site.address, 7000)
    box = sandgate.box("--only", f"api.example.com,{site.address}:7000/udp")
    for _ in range(5):
        assert box.curl("http://api.example.com/", "-4").ok
    for scheme in "http", "https":
        box.curl(f"{scheme}://other.example.com/", "--resolve", f"other.example.com:80:{site.address}",
                 "--resolve", f"other.example.com:443:{site.address}")
    box.python("""
for port in range(1000, 1007): try_dial("93.184.9.9", port)
for n in range(3): ask_udp("93.184.9.9", 5000, b"x")
for n in range(2): ask_udp(sys.argv[1], 7000, b"x")
for i in range(4): ask_udp("192.0.0.1", 53, dns_question(f"no{i}.example.com"))
""", site.address)
    box.run(["ping", "-c", "1", "-W", "1", "93.184.9.9"])
    seen = box.egress()
    assert list(seen) == ["policy", "generation", "frames", "flows", "dns", "requests", "wildcards"]
    assert seen["policy"] == f"allow: api.example.com, {site.address}:7000/udp (deny)"
    assert (seen["generation"], seen["wildcards"]) == (1, [])
    # Seven connections were made, two of them ended by the name inside; two datagram flows live on.
    assert seen["flows"] == {"opened": 9, "refused": 13, "open": 2}
    assert seen["dns"] == {"answered": 5, "refused": 4}
    assert seen["requests"] == {"inspected": 6, "refused": 1}
    assert seen["frames"]["denied"] == 17


def test_every_frame_is_in_one_of_three_counts(world, sandgate):
    """What the sandbox's own device says it sent is what was passed, denied or noise. Only what the
    kernel inside says before the command starts may come before there is a counter."""
    site = world.site("api.example.com", "other.example.com", v6=True, handler=lambda r: "x" * 300000)
    box = sandgate.box("--only", "api.example.com")

    def missed():
        sent = int(box.run("grep eth0: /proc/net/dev").out.split()[10])
        return sent - sum(box.egress()["frames"].values())
    before = missed()
    assert before in (0, 1), before
    for scheme, family in (("http", "-4"), ("http", "-6"), ("https", "-4"), ("https", "-6")):
        assert box.curl(f"{scheme}://api.example.com/", family).ok
    box.curl("https://other.example.com/", "--resolve", f"other.example.com:443:{site.address}")
    box.python("""
for address in "93.184.9.9", "2a00:1::9", "10.0.0.1", "224.0.0.251", "ff02::fb":
    try_dial(address, 80, 1)
    ask_udp(address, 5353, b"x" * 30, 0.1)
    ask_udp(address, 53, dns_question("no.example.com"), 0.5)
    ask_udp(address, 53, b"x", 0.2)
""")
    # The kernel inside speaks of its own accord, too: between one look and the other.
    wait_until(lambda: missed() == before, 10, "the same count on both sides")


def test_the_text_of_egress(world, sandgate):
    """Its lines, their order and words; what is zero is said as well."""
    world.zone.add("*.example.com", "A", "93.184.223.1")
    box = sandgate.box("--net", "deny")
    assert EGRESS.fullmatch(sandgate("egress", box.name).out)
    assert "policy:   deny, generation 1\n" in sandgate("egress", box.name).out
    world.machine.write("/home/dev/egress.yaml", "network: deny\nallow: ['*.example.com', www.example.org]\n"
                        "deny: [x.example.com]\nlimits: {wildcard_names_per_minute: 100}\n", "dev")
    box = sandgate.box("--policy", "/home/dev/egress.yaml")
    box.python('for i in range(70): ask_udp("192.0.0.1", 53, dns_question(f"n{i}.example.com"))')
    text = sandgate("egress", box.name).out
    assert EGRESS.fullmatch(text), text
    assert "policy:   allow: *.example.com, www.example.org; deny: x.example.com (deny), generation 1\n" in text
    assert "flows:    0 opened, 0 refused, 0 open\n" in text and "dns:      70 answered, 0 refused\n" in text
    names = ", ".join(f"n{i}.example.com" for i in range(64))
    assert text.endswith(f"wildcard: *.example.com: {names} and 6 more\n"), text


EGRESS = re.compile(r"""policy:   \S.*, generation \d+
frames:   \d+ passed, \d+ denied, \d+ dropped as link noise
flows:    \d+ opened, \d+ refused, \d+ open
dns:      \d+ answered, \d+ refused
requests: \d+ inspected, \d+ refused
(wildcard: .+
)*""")


def test_another_person_does_not_see_or_control_it(sandgate):
    """Peer credentials are checked."""
    box = sandgate.box("--net", "deny")
    machine = sandgate.world.machine
    got = machine.run(
        ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", "env", "HOME=/tmp",
         "XDG_RUNTIME_DIR=/run/user/1000", sandgate.path, "egress", box.name], person="root")
    assert got.returncode != 0 and got.stdout == ""


def test_what_does_not_run_is_said(sandgate):
    for argv in (["egress", "no-such-sandbox"], ["net", "explain", "no-such-sandbox", "a.example.com"]):
        done = sandgate(*argv)
        assert done.status in (1, 2, 125) and "no-such-sandbox" in done.err, done


@BOTH
def test_doctor_finds_nothing_missing_here(sandgate, person):
    done = sandgate("doctor")
    assert done.ok, done
    assert isinstance(json.loads(sandgate("doctor", "--json").out), (list, dict))


def test_colours_only_on_a_terminal(sandgate, terminal):
    assert "\x1b[" not in sandgate("doctor").out
    t = terminal("doctor")
    t.process.wait(60)


def test_a_folder_of_a_sandbox_that_died_is_cleaned(sandgate):
    """A supervisor that was killed leaves a folder: it is not said to run, and the name is free again."""
    box = sandgate.box("--net", "deny")
    box.process.kill()
    box.process.wait()
    assert [row["state"] for row in sandgate.json("ls")] == ["stopped"]
    again = sandgate("run", "--name", box.name, "--net", "deny", "--", "echo", "again")
    assert again.out == "again\n", again
