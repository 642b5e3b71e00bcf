# SPDX-License-Identifier: Apache-2.0
"""The broker's life: when there is one, what its death costs, and what it leaves behind."""

import asyncio
import base64
import json
import os
import signal
import time

import pytest

from program import descendants, read_proc, wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
NAME = "api.example.com"
SEEN = f"network: deny\nallow: [{NAME}]\ninspect: [{NAME}]\n"
BROKER = "sandgate-broker"


def policy_file(world, text, person="dev"):
    path = "/root/policy.yaml" if person == "root" else f"/home/{person}/policy.yaml"
    world.machine.write(path, text, person)
    return path


def seen_box(world, sandgate, person="dev"):
    return sandgate.box("--policy", policy_file(world, SEEN, person))


def brokers(supervisor):
    """Their pids, by what ps calls them."""
    return [pid for pid in descendants(supervisor) if read_proc(pid, "comm").strip() == BROKER]


def broker(box):
    found = brokers(box.process.pid)
    assert len(found) == 1, found
    return found[0]


def gone(pid):
    stat = read_proc(pid, "stat")
    return not stat or stat.rpartition(")")[2].split()[0] == "Z"


def authority(box):
    """The sandbox's own part of what its programs trust."""
    return box.run("head -c 16384 $SSL_CERT_FILE").out.strip()


def works(box):
    return box.curl(f"https://{NAME}/").ok


# --- when there is one ---

def test_it_is_there_only_when_something_has_to_be_seen(world, sandgate):
    for options, n in ((["--only", NAME], 0), (["--net", "none"], 0), (["--net", "deny"], 0),
                       (["--net", "any"], 0), (["--only", "github"], 1), ([], 1)):
        box = sandgate.box(*options)
        assert len(brokers(box.process.pid)) == n, options
        box.stop()


@BOTH
def test_a_request_that_has_to_be_seen_goes_through_it(world, sandgate, person):
    """By a certificate of the sandbox's own authority, and the server's is checked as ever."""
    site = world.site(NAME)
    box = seen_box(world, sandgate.as_person(person), person)
    got = box.curl(f"https://{NAME}/", "-v")
    assert got.out == f"hello from {NAME}\n", got
    assert f"issuer: O=sandgate; CN=sandgate, sandbox {box.name}" in got.err, got.err
    assert [r.target for r in site.requests] == ["/"]
    assert authority(box).count("BEGIN CERTIFICATE") == 1


def test_github_needs_it_by_itself(world, sandgate):
    """The permission is for reading repositories, so its requests are seen without a word of the person's."""
    site = world.site("github.com")
    box = sandgate.box("--allow", "github")
    base = "https://github.com/torvalds/linux.git"
    assert box.curl(f"{base}/info/refs?service=git-upload-pack").ok
    refused = box.curl(f"{base}/info/refs?service=git-receive-pack", "-i")
    assert "sandgate-reason: operation-not-allowed" in refused.out and "github:push" in refused.out, refused
    assert [r.target for r in site.requests] == ["/torvalds/linux.git/info/refs?service=git-upload-pack"]
    egress = box.egress()["requests"]
    assert egress == {"inspected": 2, "refused": 1}


# --- deaths ---

@BOTH
def test_one_that_is_killed_is_replaced(world, sandgate, person):
    """Meanwhile nothing that has to be seen leaves; then programs trust the new authority."""
    site = world.site(NAME)
    box = seen_box(world, sandgate.as_person(person), person)
    assert works(box)
    before, old = broker(box), authority(box)
    world.start_watching()
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: works(box), 20, "the next one")
    assert broker(box) != before and gone(before)
    new = authority(box)
    assert new != old and new.count("BEGIN CERTIFICATE") == 1
    assert world.left_the_host(where=lambda p: p.destination != site.address) == []
    wait_until(lambda: "a new broker has taken over" in box.err, what="the words for the person")
    assert "the broker was ended by signal 9" in box.err, box.err


def test_an_open_connection_dies_with_it_as_a_reset(world, sandgate):
    """A cut answer does not look complete."""
    def slow(request):
        request.connection.writer.write(b"HTTP/1.1 200 OK\r\n\r\nbeginning")
        world.on_reset(request.connection.writer.close)
    world.site(NAME, handler=slow)
    box = seen_box(world, sandgate)
    waiting = box.start(f"curl -sS -N https://{NAME}/ >answer; echo $?")
    wait_until(lambda: "beginning" in box.run("cat answer").out, 20, "the beginning")
    os.kill(broker(box), signal.SIGKILL)
    assert waiting.wait(60).out.strip() in ("18", "56"), "curl took a cut answer for a whole one"


def test_the_audit_log_says_that_it_was_replaced(world, sandgate, started):
    one = started("--allow", "github")
    found, = brokers(one.supervisor)
    os.kill(found, signal.SIGKILL)

    def noted():
        return [e for e in audit(one) if e["action"] == "sandgate.broker.restart"]
    wait_until(noted, 20, "the entry")
    assert "signal 9" in noted()[0]["why"]


def audit(one):
    done = one.sandgate("audit", "show", one.name, "--json")
    assert done.ok, done
    return [json.loads(line) for line in done.out.splitlines()]


def test_it_outlives_the_gate(world, sandgate):
    """The authority stays, so what trusts it goes on."""
    world.site(NAME)
    box = seen_box(world, sandgate)
    assert works(box)
    before, old = broker(box), authority(box)
    os.kill(box.gate_pid, signal.SIGKILL)
    wait_until(lambda: works(box), 20, "the next gate")
    assert broker(box) == before and authority(box) == old


def test_both_killed_at_once_come_back(world, sandgate):
    world.site(NAME)
    box = seen_box(world, sandgate)
    for _ in range(3):
        os.kill(broker(box), signal.SIGKILL)
        os.kill(box.gate_pid, signal.SIGKILL)
        wait_until(lambda: works(box), 20, "both")


def test_one_that_dies_again_and_again_ends_the_sandbox(world, sandgate):
    box = seen_box(world, sandgate)
    killed = set()

    def kill_next():
        for pid in brokers(box.process.pid):
            if pid not in killed:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        return box.process.poll() is not None
    wait_until(kill_next, 40, "the end")
    assert box.process.returncode == 125
    assert "the broker has ended 11 times in 60 s; the sandbox is ended" in box.err
    assert len(killed) >= 11


def test_one_that_hangs_does_not_hold_up_the_supervisor(world, sandgate):
    """Whoever asks the supervisor is answered; what the broker does not take in time replaces it."""
    world.site(NAME)
    box = seen_box(world, sandgate)
    assert works(box)
    hanging = broker(box)
    os.kill(hanging, signal.SIGSTOP)
    assert box.egress()["requests"]["inspected"] == 1
    assert sandgate.json("ls")[0]["name"] == box.name
    # News of the host go to gate and broker.
    world.machine.run(["ip", "address", "add", "203.0.113.77/32", "dev", "lo"], "root")
    world.on_reset(lambda: world.machine.run(["ip", "address", "del", "203.0.113.77/32", "dev", "lo"], "root"))
    wait_until(lambda: gone(hanging), 30, "its replacement")
    wait_until(lambda: works(box), 20, "the next one")


# --- the end ---

@BOTH
def test_the_supervisor_killed_ends_it(world, sandgate, person):
    box = seen_box(world, sandgate.as_person(person), person)
    pid = broker(box)
    box.process.kill()
    box.process.wait()
    wait_until(lambda: gone(pid), 10, "its end")


def test_the_end_of_the_command_leaves_none(world, sandgate):
    world.site(NAME)
    box = seen_box(world, sandgate)
    assert works(box)
    pid = broker(box)
    assert box.stop().ok
    wait_until(lambda: gone(pid), 10, "its end")


def test_the_end_waits_for_no_connection_at_the_broker(world, sandgate):
    """The client is gone, and with it what it had there."""
    world.site(NAME)
    started = time.monotonic()
    done = sandgate.run("--policy", policy_file(world, SEEN), command=f"curl -sS https://{NAME}/")
    assert done.ok and done.out == f"hello from {NAME}\n", done
    assert time.monotonic() - started < 30


UPLOAD = """
import socket, ssl
n = 4000000
s = ssl.create_default_context().wrap_socket(socket.create_connection(("NAME", 443)), server_hostname="NAME")
s.sendall(b"POST / HTTP/1.1\\r\\nhost: NAME\\r\\ncontent-length: %d\\r\\n\\r\\n" % n + b"x" * n)
s.settimeout(0.1)
try: s.unwrap()
except OSError: pass
""".replace("NAME", NAME)


def test_what_the_command_sent_goes_on_its_way_after_its_end(world, sandgate):
    """It does not wait for the answer; what it sent is at the broker, and a slow server gets all of it."""
    got = []

    async def read_slowly(request):
        while sum(got) < 4000000 and (data := await request.connection.reader.read(100000)):
            got.append(len(data))
            await asyncio.sleep(0.01)
        return "thanks"
    world.site(NAME, handler=read_slowly).streams_body = True
    done = sandgate.run("--policy", policy_file(world, SEEN), command=["python3", "-c", UPLOAD])
    assert done.ok, done
    wait_until(lambda: sum(got) == 4000000, 10, "the rest, in the server's own buffers by now")


# --- live changes ---

def change(sandgate, *argv):
    done = sandgate("net", *argv)
    assert done.ok, done


def test_a_change_that_needs_one_starts_one(world, sandgate):
    world.site("github.com", NAME)
    box = sandgate.box("--only", NAME)
    assert works(box) and brokers(box.process.pid) == [] and authority(box) == ""
    change(sandgate, "allow", box.name, "github")
    assert len(brokers(box.process.pid)) == 1
    base = "https://github.com/torvalds/linux.git/info/refs?service="
    assert box.curl(base + "git-upload-pack").ok
    assert "operation-not-allowed" in box.curl(base + "git-receive-pack", "-i").out
    assert works(box)
    # It stays when nothing has to be seen any more, and is not replaced then.
    change(sandgate, "deny", box.name, "github")
    os.kill(broker(box), signal.SIGKILL)
    wait_until(lambda: brokers(box.process.pid) == [], 20, "its end")
    assert works(box) and box.process.poll() is None


def sign_in(world, token):
    """With git, outside of any sandbox."""
    files = {"/home/dev/.gitconfig": "[credential]\n\thelper = store\n",
             "/home/dev/.git-credentials": f"https://dev:{token}@github.com\n"}
    for path, text in files.items():
        world.machine.write(path, text, "dev", 0o600)
        world.on_reset(lambda path=path: world.machine.run(["rm", "-f", path], "root"))


def test_a_change_holds_for_the_next_request(world, sandgate):
    """A permission of the person's own brings its credential, read when a request wants it, and takes it
    away again."""
    sign_in(world, "gho-0123456789")
    site = world.site("github.com")
    box = sandgate.box("--only", "github")
    base = "https://github.com/a/b.git/info/refs?service="
    basic = "Basic " + base64.b64encode(b"x-access-token:gho-0123456789").decode()
    for n in range(3):
        assert "operation-not-allowed" in box.curl(base + "git-receive-pack", "-i").out
        change(sandgate, "allow", box.name, "github:push", "--yes")
        assert box.curl(base + "git-receive-pack", "-i").out.startswith("HTTP/1.1 200"), n
        assert site.requests[-1].header("authorization") == basic
        change(sandgate, "deny", box.name, "github:push")
        assert box.curl(base + "git-upload-pack").ok
        change(sandgate, "deny", box.name, "github:as-you")
        assert box.curl(base + "git-upload-pack").ok and not site.requests[-1].header("authorization")


def test_a_name_that_the_authority_does_not_cover_gets_one_more(world, sandgate):
    """Rules of the person's own may come while it runs; who has read the bundle reads it again."""
    world.site(NAME, "github.com")
    box = seen_box(world, sandgate)
    assert authority(box).count("BEGIN CERTIFICATE") == 1
    base = "https://github.com/a/b.git/info/refs?service=git-upload-pack"
    change(sandgate, "allow", box.name, "github")
    assert box.curl(base).ok and works(box)


def waits_for_one(pid):
    """Is the process in poll() for a single descriptor: an answer?"""
    words = read_proc(pid, "syscall").split()
    return len(words) > 2 and words[2] == "0x1"


def test_a_change_that_the_broker_does_not_take_has_not_happened(world, sandgate):
    """All or nothing: one that died under it is replaced, and gate and next start have the old policy."""
    world.site(NAME, "b.example.com")
    box = seen_box(world, sandgate)
    pid = broker(box)
    os.kill(pid, signal.SIGSTOP)
    changing = world.machine.popen([sandgate.path, "net", "allow", box.name, "b.example.com"], "dev",
                                   stderr=-1, text=True)
    wait_until(lambda: waits_for_one(box.process.pid), 20, "the policy on its way")
    os.kill(pid, signal.SIGKILL)
    _, err = changing.communicate(timeout=40)
    assert changing.returncode != 0 and "the broker did not take the policy, and is replaced" in err, err
    wait_until(lambda: works(box), 20, "the next ones")
    assert not box.curl("https://b.example.com/").ok
    assert box.egress()["generation"] == 1


WIKI = """permissions:
  corp-wiki:
    says: read the wiki
    attempt: read the wiki
    hosts:
      example.com: [wiki]
    operations:
      - says: read pages
        methods: [GET, HEAD{more}]
"""


def test_a_catalogue_that_changed_counts_from_the_next_change_on(world, sandgate):
    """Which requests a permission is for is what gate and broker were started with: they are replaced."""
    site = world.site("wiki.example.com")
    folder = "/home/dev/.config/sandgate"
    world.machine.run(["mkdir", "-p", f"{folder}/catalogue"], "dev")
    world.on_reset(lambda: world.machine.run(["rm", "-rf", folder], "root"))
    world.machine.write(f"{folder}/catalogue/corp.yaml", WIKI.format(more=", POST"), "dev")
    box = sandgate.box("--only", "corp-wiki")
    post = "curl -sS -i -d x https://wiki.example.com/page"
    assert box.run(post).out.startswith("HTTP/1.1 200")
    world.machine.write(f"{folder}/catalogue/corp.yaml", WIKI.format(more=""), "dev")
    change(sandgate, "allow", box.name, NAME)

    def refused():
        return "operation-not-allowed" in box.run(post).out
    wait_until(refused, 20, "the processes that know")
    assert [r.method for r in site.requests].count("POST") == 1
    wait_until(lambda: "the catalogue on this machine has changed" in box.err, what="the words for the person")
    # And not again.
    pid = broker(box)
    change(sandgate, "deny", box.name, NAME)
    assert broker(box) == pid and refused()


def test_a_change_whose_broker_does_not_start_has_not_happened(world, sandgate, started):
    """In words, and gate, egress and the next start have the policy from before."""
    world.site(NAME, "github.com")
    one = started("--only", NAME)
    limited = world.machine.run(["prlimit", "--pid", str(one.supervisor), "--memlock=0:0"])
    assert limited.returncode == 0, limited
    refused = sandgate("net", "allow", one.name, "github")
    assert refused.status == 125 and "cannot lock memory for keys" in refused.err, refused
    assert "ulimit -l" in refused.err and brokers(one.supervisor) == []
    shown = sandgate.json("net", "policy", one.name)
    assert (shown["generation"], shown["policy"].get("allow")) == (1, [NAME])
    assert one.exec(f"curl -sS https://{NAME}/").ok and not one.exec("curl -sS https://github.com/").ok
    # What needs none goes on.
    change(sandgate, "allow", one.name, "b.example.com")
    assert sandgate.json("egress", one.name)["generation"] == 2


def test_one_that_does_not_start_starts_nothing(world, sandgate):
    done = world.machine.run(["prlimit", "--memlock=0:0", sandgate.path, "run", "--allow", "github", "--",
                              "touch", "started"], cwd=world.machine.new_work())
    assert done.returncode == 125 and "cannot lock memory for keys" in done.stderr, done
