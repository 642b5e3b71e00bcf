# SPDX-License-Identifier: Apache-2.0
"""From within a sandbox that is kept: to its sockets, its state, the program that serves it."""

import time

import pytest

from program import wait_until

STATE = "/home/dev/.local/state/sandgate"
EITHER = pytest.mark.parametrize("options", [[], ["--as-root"]], ids=["as-user", "as-root"])


@pytest.fixture
def inside(kept):
    """inside(OPTION...) is one that runs."""
    def start(*options):
        one = kept("--net", "any", *options)
        one.start()
        return one
    return start


def python(one, code, *arguments, timeout=60):
    return one.exec(["python3", "-c", "import ctypes, errno, os, socket, stat, sys, time\n" + code,
                     *arguments], timeout=timeout)


@EITHER
def test_no_socket_of_sandgates_is_to_be_found(inside, options):
    """Every socket on the file system, and every name that those of sandgate might have."""
    one = inside(*options)
    seen = python(one, """
for top in "/", "/run", "/tmp", "/home", "/var", "/root":
    for folder, names, files in os.walk(top):
        if folder.startswith(("/proc", "/sys")): names[:] = []; continue
        for name in files:
            path = os.path.join(folder, name)
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode): print("socket", path)
            except OSError: pass
for base in "/run/user/1000", "/run", "/tmp", "/tmp/sandgate-1000":
    for name in "control", "exec":
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if name == "control" else socket.SOCK_SEQPACKET)
        try: s.connect(f"{base}/sandgate/{sys.argv[1]}/{name}"); print("connected", base, name)
        except OSError: pass
for line in open("/proc/net/unix"):
    if "sandgate" in line or "@" in line: print("listed", line)
""", one.name)
    assert seen.ok and seen.out == "", seen


def test_what_is_kept_is_not_seen_with_all_of_home_shared(inside, world):
    """The definition, the log's key, the host's log, the confirmed folders: nothing to read or to write."""
    world.machine.run(["mkdir", "-p", "/home/dev/.config/sandgate", STATE])
    one = inside("--rw", "/home/dev")
    seen = one.exec(f"find {STATE} ; echo evil >{STATE}/sandboxes/evil; mkdir -p {STATE}/sandboxes/evil; "
                    f"echo x >{STATE}/trust.json; ls -A {STATE}")
    assert "sandbox.json" not in seen.out and one.name not in seen.out, seen
    assert "evil" not in world.machine.listdir(f"{STATE}/sandboxes")
    assert "x" != (world.machine.read(f"{STATE}/trust.json").strip()
                   if world.machine.exists(f"{STATE}/trust.json") else "")


@EITHER
def test_the_program_that_serves_is_out_of_reach(inside, options):
    """Its memory, its descriptors, ptrace, and what passes through it: process 2, of the same user."""
    one = inside(*options)
    seen = python(one, """
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
got = []
for server in 1, 2:
    for what in "mem", "environ", "maps", "auxv", "stack":
        try:
            with open(f"/proc/{server}/{what}", "rb") as f:
                if server == 2 or what != "maps": f.read(1); got.append((server, what))
        except OSError: pass
for what in "cwd", "root", "exe", "ns/net", "ns/user", "map_files", *(f"fd/{n}" for n in range(64)):
    try: os.readlink(f"/proc/2/{what}"); got.append(what)
    except OSError: pass
for fd in range(64):
    try: os.open(f"/proc/2/fd/{fd}", os.O_RDWR); got.append(("opened", fd))
    except OSError: pass
for request in 16, 0x4206:          # PTRACE_ATTACH, PTRACE_SEIZE
    if call(101, request, 2, 0, 0) == 0: got.append(("ptrace", request))
pidfd = call(434, 2, 0)
if pidfd >= 0:
    for fd in range(64):
        if call(438, pidfd, fd, 0) >= 0: got.append(("pidfd_getfd", fd))
buffer = ctypes.create_string_buffer(64)
iov = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
if call(310, 2, ctypes.addressof(iov), 1, ctypes.addressof(iov), 1, 0) >= 0: got.append("process_vm_readv")
print([g for g in got if g not in ((1, "environ"), (1, "auxv"))])
""")
    assert seen.ok and seen.out == "[]\n", seen


@EITHER
def test_a_command_has_none_of_the_sockets(inside, options):
    """Whatever a command inherits: the three descriptors and nothing that leads to the server."""
    one = inside(*options)
    seen = python(one, """
for fd in os.listdir("/proc/self/fd"):
    try: target = os.readlink(f"/proc/self/fd/{fd}")
    except OSError: continue
    if int(fd) > 2 and not target.startswith("/proc/"): print(fd, target)
    if "socket" in target: print(fd, target)
""")
    assert seen.ok and seen.out == "", seen


def test_stopping_the_server_holds_up_nobody_outside(inside, sandgate):
    """A server that does not answer: clients can be ended, ls answers, and stop ends the sandbox."""
    one = inside()
    one.exec("(sleep 0.2; kill -STOP 2) >/dev/null 2>&1 &")
    time.sleep(0.5)
    started = time.monotonic()
    assert one.row()["state"] == "running"
    stuck = sandgate.world.machine.popen([sandgate.path, "exec", one.name, "--", "true"])
    time.sleep(0.3)
    stuck.kill()
    stuck.wait()
    one.stop("--time", "1")
    assert time.monotonic() - started < 30
    assert one.row()["state"] == "stopped"


def test_a_client_is_not_fed_by_the_sandbox(inside, terminal):
    """A terminal inside that is closed, flooded and hung up from within ends, and the client lives."""
    one = inside()
    t = terminal("exec", one.name, "--", "python3", "-c",
                 "import os, fcntl, termios, sys\n"
                 "os.write(1, b'x' * 300000)\n"
                 "print('\\nend', flush=True)\n"
                 "try: fcntl.ioctl(0, termios.TIOCSTI, b'!')\n"
                 "except OSError as problem: print('no', problem.errno, flush=True)\n"
                 "os.close(0); os.close(2)\nos._exit(6)")
    t.expect("end", timeout=30)
    t.expect("no 1")
    assert t.process.wait(60) == 6


def test_links_in_a_kept_home_lead_nowhere(kept, world):
    """The engine makes places for mounts with the person's rights: not where a link points to."""
    one = kept("--net", "none")
    one.start()
    # The working directory is in HOME, so its place is made there at the next start.
    assert one.exec("cd ~ && mv work away && ln -s / work && ls -d work").ok
    one.stop()
    again = one.sandgate("start", one.name)
    assert again.status == 125 and "kept home" in again.err, again
    assert one.cwd.rsplit("/", 1)[1] not in world.machine.listdir("/")


@pytest.mark.parametrize("made", [
    "chmod 000 ~", "chmod 777 ~", "rm -rf ~/* ~/.??*; touch ~/work",
    "mkfifo ~/.profile; ln -s /etc/passwd ~/.bashrc",
])
def test_a_home_of_any_shape_is_taken_back(kept, world, made):
    """Mode 0700 again at the next start; what is in the way is told."""
    one = kept("--net", "none")
    one.start()
    one.exec(made)
    one.stop()
    again = one.sandgate("start", one.name)
    assert again.ok or "kept home" in again.err, again
    mode = world.machine.run(["stat", "-c", "%a", f"{STATE}/sandboxes/{one.name}/home"]).stdout
    assert mode == "700\n"


def test_the_log_of_the_supervisor_is_not_written_from_inside(inside, world):
    """The first processes inside keep the standard error of the start: a pipe without a reader."""
    one = inside()
    one.exec("for p in 1 2; do for f in 0 1 2; do echo spoofed >/proc/$p/fd/$f; done; done")
    one.stop()
    log = world.machine.read(f"{STATE}/sandboxes/{one.name}/supervisor.log")
    assert "spoofed" not in log


def test_killing_all_ends_the_sandbox_and_nothing_else(inside, sandgate, kept):
    other = kept("--net", "none")
    other.start()
    one = inside("--as-root")
    one.exec("kill -9 -1")
    wait_until(lambda: one.row()["state"] == "stopped", what="the end")
    assert other.exec("true").ok


@pytest.mark.parametrize("option", ["--rw", "--ro"])
def test_a_link_in_place_of_a_shared_folder_leads_nowhere(kept, world, option):
    """Of the working directory, and of a folder that another sandbox had: the next start shares no other one."""
    machine = world.machine
    shared = machine.new_work()
    machine.run(f"mkdir data ~/.secrets; echo secret >~/.secrets/key; mkdir {shared}/data", cwd=shared)
    try:
        one = kept("--net", "none", option, f"{shared}/data")
        one.start()
        assert not one.exec(f"cat {shared}/data/key").ok
        one.stop()
        other = one.sandgate.run("--net", "deny", cwd=shared, command="rmdir data; ln -s ~/.secrets data")
        assert other.ok, other
        again = one.sandgate("start", one.name)
        assert again.status == 125 and f"{shared}/data is a link in a folder" in again.err, again
        run = one.sandgate.run(option, "data", cwd=shared, command="cat data/key")
        assert run.status == 125 and run.out == "", run
    finally:
        machine.run("rm -rf ~/.secrets")


def test_a_link_in_place_of_its_working_directory_leads_nowhere(kept, world):
    machine = world.machine
    above = machine.new_work()
    machine.run("mkdir work ~/.secrets; echo secret >~/.secrets/key", cwd=above)
    try:
        one = kept("--net", "none", cwd=f"{above}/work")
        one.start()
        one.stop()
        assert one.sandgate.run("--net", "deny", cwd=above, command="rmdir work; ln -s ~/.secrets work").ok
        again = one.sandgate("start", one.name)
        assert again.status == 125 and f"{above}/work" in again.err, again
    finally:
        machine.run("rm -rf ~/.secrets")


@pytest.mark.parametrize("option, reads", [("--hide", False), ("--ro", True)])
def test_what_is_hidden_or_read_only_further_down_stays_there(sandgate, world, option, reads):
    """Moved with the folder around it and replaced, the next run would cover the wrong one."""
    machine = world.machine
    work = machine.new_work()
    machine.run("mkdir -p a/b; echo secret >a/b/key", cwd=work)
    again = (option, "a/b/key")
    move = "mv a x; mv a/b a/x; rm -rf a 2>/dev/null; mkdir -p a/b; echo other >a/b/key; ls; true"
    assert sandgate.run("--net", "deny", *again, cwd=work, command=move).ok
    found = sandgate.run("--net", "deny", *again, cwd=work,
                         command="find . -name key | xargs cat; for k in $(find . -name key); do echo evil >$k; done")
    assert ("secret" in found.out) == reads and "other" not in found.out, found
    assert machine.read(f"{work}/a/b/key") == "secret\n"
