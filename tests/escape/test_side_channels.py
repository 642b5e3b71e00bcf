# SPDX-License-Identifier: Apache-2.0
"""Ways out that are not IP, each tried as root inside the sandbox."""

import os
import signal
import socket
import subprocess
import time

import pytest

from internet.machine import RUNTIME
from program import holds, read_proc, wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])


@pytest.fixture
def box(sandgate):
    return sandgate.box("--net", "any", "--as-root")


FAMILIES = {
    "AF_AX25": 3, "AF_IPX": 4, "AF_APPLETALK": 5, "AF_X25": 9, "AF_KEY": 15, "AF_PACKET": 17, "AF_RDS": 21,
    "AF_CAN": 29, "AF_TIPC": 30, "AF_BLUETOOTH": 31, "AF_IUCV": 32, "AF_PHONET": 35, "AF_IEEE802154": 36,
    "AF_CAIF": 37, "AF_ALG": 38, "AF_NFC": 39, "AF_VSOCK": 40, "AF_KCM": 41, "AF_QIPCRTR": 42, "AF_SMC": 43,
    "AF_XDP": 44, "AF_MCTP": 45,
}


@BOTH
def test_only_the_families_that_programs_need(sandgate, person):
    """microsoft/mxc#936, moby PR#44562 and others in demands.md: AF_VSOCK, AF_PACKET and the rest."""
    box = sandgate.box("--net", "any", "--as-root")
    got = box.python(f"""
got = []
for name, family in {FAMILIES!r}.items():
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET:
        try: socket.socket(family, kind, 0); got.append(name)
        except OSError: pass
for family in socket.AF_INET, socket.AF_INET6:
    for proto in 0, 1, 2, 6, 17, 47, 50, 58, 89, 132, 136, 255:
        try: socket.socket(family, socket.SOCK_RAW, proto); got.append(["raw", family, proto])
        except OSError: pass
    for kind, proto in (socket.SOCK_STREAM, 132), (socket.SOCK_SEQPACKET, 132), (6, 33), (socket.SOCK_STREAM, 262), \\
                       (socket.SOCK_DGRAM, 136):
        try: socket.socket(family, kind, proto); got.append(["odd", family, kind, proto])
        except OSError: pass
for proto in range(1, 32):
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, proto); got.append(["netlink", proto])
    except OSError: pass
try: socket.socketpair(socket.AF_VSOCK, socket.SOCK_STREAM); got.append("vsock pair")
except OSError: pass
works = []
for family, kind in (socket.AF_INET, 1), (socket.AF_INET6, 2), (socket.AF_UNIX, 1), (socket.AF_NETLINK, 3):
    try: socket.socket(family, kind, 0); works.append(family)
    except OSError as problem: works.append(errname(problem))
report(got=got, works=works)
""").json
    assert got["got"] == []
    assert got["works"] == [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK]


def test_calls_by_the_32_bit_and_x32_doors(box):
    """sympozium-ai/celln#30: compat system calls are filtered as well."""
    got = box.python("""
import ctypes, mmap, platform
if platform.machine() != "x86_64":
    report(got=[], ran=False); raise SystemExit
def code(octets):
    m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    m.write(octets)
    address = ctypes.addressof(ctypes.c_char.from_buffer(m))
    return m, ctypes.CFUNCTYPE(ctypes.c_int)(address)
def compat(number, a, b, c):  # push rbx; mov eax,n; mov ebx,a; mov ecx,b; mov edx,c; int 0x80; pop rbx; ret
    return (b"\\x53\\xb8" + struct.pack("<I", number) + b"\\xbb" + struct.pack("<I", a) + b"\\xb9"
            + struct.pack("<I", b) + b"\\xba" + struct.pack("<I", c) + b"\\xcd\\x80\\x5b\\xc3")
got = []
for name, octets in (("vsock by int 0x80", compat(359, 40, 1, 0)), ("packet by int 0x80", compat(359, 17, 3, 0)),
                     ("io_uring by int 0x80", compat(425, 1, 0, 0)), ("socketcall", compat(102, 1, 0, 0))):
    pid = os.fork()
    if pid == 0:
        keep, call = code(octets)
        os._exit(0 if call() < 0 else 42)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42: got.append(name)
libc = ctypes.CDLL(None, use_errno=True)
for name, number in ("x32 socket", 0x40000000 | 41), ("x32 sendmsg", 0x40000000 | 518):
    pid = os.fork()
    if pid == 0:
        r = libc.syscall(ctypes.c_long(number), 40, 1, 0)
        os._exit(42 if r >= 0 else 0)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42: got.append(name)
report(got=got, ran=True)
""").json
    assert got["got"] == []


# Number and arguments on x86-64 and what success would mean.
CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return r, errno.errorcode.get(ctypes.get_errno(), "")
buffer = ctypes.create_string_buffer(4096)
CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID = 0x10000000, 0x40000000, 0x20000, 0x20000000
results = {
    "io_uring_setup": call(425, 8, buffer),
    "bpf": call(321, 0, buffer, 72),
    "userfaultfd": call(323, 0),
    "perf_event_open": call(298, buffer, 0, -1, -1, 0),
    "keyctl": call(250, 0, -3, 0, 0, 0),
    "add_key": call(248, b"user", b"x", b"y", 1, -3),
    "kexec_load": call(246, 0, 0, buffer, 0),
    "init_module": call(175, buffer, 0, b""),
    "finit_module": call(313, 0, b"", 0),
    "open_by_handle_at": call(304, -100, buffer, 0),
    "fanotify_init": call(300, 0, 0),
    "ptrace of init": call(101, 16, 1, 0, 0),
    "reboot": call(169, 0xfee1dead, 672274793, 0, 0),
    "swapon": call(167, b"/tmp/x", 0),
    "acct": call(163, b"/tmp/x"),
    "syslog": call(103, 3, buffer, 4096),
    "iopl": call(172, 3),
    "unshare user": call(272, CLONE_NEWUSER),
    "unshare net": call(272, CLONE_NEWNET),
    "unshare user and net": call(272, CLONE_NEWUSER | CLONE_NEWNET),
    "unshare mounts": call(272, CLONE_NEWNS),
    "unshare pids": call(272, CLONE_NEWPID),
    "mount": call(165, b"none", b"/tmp", b"tmpfs", 0, 0),
    "pivot_root": call(155, b"/tmp", b"/tmp"),
    "move_mount": call(429, -1, b"", -1, b"", 0),
    "open_tree": call(428, -100, b"/", 1),
    "fsopen": call(430, b"tmpfs", 0),
    "setns": call(308, os.open("/proc/self/ns/net", 0), 0),
    "sethostname": call(170, b"x", 1),
}
report(**{name: list(r) for name, r in results.items()})
"""


@BOTH
def test_system_calls_that_reach_further(sandgate, person):
    """codex PR#10814 (io_uring), nested user namespaces, mounts, modules, tracing."""
    box = sandgate.box("--net", "deny", "--as-root")
    if box.run("uname -m").out.strip() != "x86_64":
        pytest.skip("the numbers are those of x86-64")
    got = box.python(CALLS).json
    harmless = {"setns"}  # into the namespace that it is in already
    succeeded = {name for name, (r, _) in got.items() if r >= 0} - harmless
    assert succeeded == set()


def test_io_uring_is_absent(box):
    got = box.python(CALLS).json
    assert got["io_uring_setup"][1] in ("EPERM", "ENOSYS")


def test_new_user_namespaces_by_every_call(box):
    """clone, clone3 and unshare: none gives a namespace in which the sandbox would be mighty."""
    got = box.python("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
made = []
for name, flags in ("user", 0x10000000), ("user+net", 0x50000000), ("net", 0x40000000):
    r = libc.syscall(ctypes.c_long(56), ctypes.c_long(flags | 17), 0, 0, 0, 0)  # clone
    if r == 0: os._exit(0)
    if r > 0: os.waitpid(r, 0); made.append("clone " + name)
    arguments = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, 17)
    r = libc.syscall(ctypes.c_long(435), arguments, ctypes.c_long(88))          # clone3
    if r == 0: os._exit(0)
    if r > 0: os.waitpid(r, 0); made.append("clone3 " + name)
report(made=made)
""").json
    assert got["made"] == []
    assert not box.run("unshare -Ur true").ok and not box.run("unshare -n true").ok


@BOTH
def test_privileges_inside(sandgate, person):
    box = sandgate.box("--net", "deny", "--as-root")
    status = box.run("cat /proc/self/status").out
    assert "NoNewPrivs:\t1" in status
    effective = int(status.split("CapEff:\t")[1].split()[0], 16)
    for name, bit in (("NET_ADMIN", 12), ("NET_RAW", 13), ("SYS_MODULE", 16), ("SYS_PTRACE", 19),
                      ("SYS_ADMIN", 21), ("SYS_BOOT", 22), ("BPF", 39)):
        assert not effective >> bit & 1, name
    for command in ("ip link set lo down", "ip addr add 10.0.0.1/8 dev lo", "ip link add x type dummy",
                    "ip route add default dev lo", "nft list ruleset", "mount -t tmpfs x /tmp",
                    "mount -o remount,rw /", "mknod /tmp/d b 254 0 && cat /tmp/d",
                    ": > /proc/sys/kernel/core_pattern", ": > /proc/sysrq-trigger",
                    ": > /proc/sys/net/ipv4/ip_forward",
                    "dmesg", "modprobe dummy", "sysctl -w kernel.hostname=x"):
        assert not box.run(command).ok, command


HOST_SOCKETS = ["/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock",
                "/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
                "/run/user/1000/bus", "/run/user/1000/wayland-0", "/run/user/1000/gnupg/S.gpg-agent",
                "/tmp/ssh-test/agent.1", "/tmp/.X11-unix/X77", "/home/dev/.gnupg/S.gpg-agent",
                "/run/user/1000/pulse/native", "/run/user/0/bus"]


@pytest.fixture
def host_sockets(world, kept_engines):
    """Sockets of the host's services, listening, open to everybody."""
    kept_engines.end("docker")  # whose socket is one of these
    made = []

    def listen():
        for path in HOST_SOCKETS:
            if path.startswith("/var/run/") and os.path.islink("/var/run"):
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            s = socket.socket(socket.AF_UNIX)
            s.bind(path)
            s.listen(5)
            os.chmod(path, 0o777)
            made.append((path, s))
    world.machine.place.call(listen)
    yield made

    def remove():
        for path, s in made:
            s.close()
            os.unlink(path)
    world.machine.place.call(remove)


@BOTH
def test_sockets_of_the_host_are_not_there(world, sandgate, person, host_sockets):
    """greywall#55, agent-safehouse#36: docker.sock, D-Bus, ssh-agent, X11, Wayland, gpg-agent."""
    env = world.machine.environment(person, SSH_AUTH_SOCK="/tmp/ssh-test/agent.1", DISPLAY=":77",
                                    DOCKER_HOST="unix:///run/docker.sock")
    box = sandgate.box("--net", "any", "--as-root", env=env)
    got = box.python(f"""
reached = []
for path in {HOST_SOCKETS!r} + ["/proc/1/root" + p for p in {HOST_SOCKETS!r}]:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(path); reached.append(path)
    except OSError: pass
import stat
found = []
for base, folders, files in os.walk("/"):
    folders[:] = [d for d in folders if base != "/" or d not in ("proc", "sys")]
    for name in files:
        try:
            if stat.S_ISSOCK(os.lstat(os.path.join(base, name)).st_mode): found.append(os.path.join(base, name))
        except OSError: pass
report(reached=reached, found=found)
""", timeout=120).json
    assert got == {"reached": [], "found": []}
    for path, s in host_sockets:
        s.setblocking(False)
        with pytest.raises(BlockingIOError):
            s.accept()


def test_abstract_sockets_of_the_host(world, box):
    """The name space of abstract sockets goes with the network."""
    def listen():
        s = socket.socket(socket.AF_UNIX)
        s.bind("\0sandgate-e2e-abstract")
        s.listen(1)
        return s
    listener = world.machine.place.call(listen)
    got = box.python(r"""
s = socket.socket(socket.AF_UNIX)
try: s.connect("\0sandgate-e2e-abstract"); report(r="connected")
except OSError as problem: report(r=errname(problem))
""").json
    listener.close()
    assert got["r"] == "ECONNREFUSED"


@BOTH
def test_processes_of_the_host_are_out_of_sight_and_reach(sandgate, person):
    machine = sandgate.world.machine
    witness = machine.popen(["sleep", "1000"], person)
    try:
        box = sandgate.box("--net", "deny", "--as-root")
        pids = [p for p in box.run("ls /proc").out.split() if p.isdigit()]
        assert len(pids) < 12, pids
        commands = box.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").out
        assert "sleep 1000" not in commands and "sandgate run" not in commands.replace("python3", "")
        got = box.python("""
hit = []
for pid in [int(a) for a in sys.argv[1:]] + list(range(2, 40000, 7)):
    try:
        if pid not in (os.getpid(), os.getppid()) and not os.path.exists(f"/proc/{pid}"):
            os.kill(pid, 0); hit.append(pid)
    except OSError: pass
report(hit=hit)
""", witness.pid, box.gate_pid, box.process.pid, os.getpid()).json
        assert got["hit"] == []
        other = sandgate.box("--net", "deny", "--as-root")
        other.start("kill -KILL -1")  # all that it can see: itself
        wait_until(lambda: other.process.poll() is not None, 10, "the end of that sandbox")
        assert witness.poll() is None and box.run("true").ok
    finally:
        witness.kill()
        witness.wait()


def test_the_gate_and_its_control_socket_are_out_of_reach(sandgate):
    box = sandgate.box("--net", "deny", "--as-root")
    control = f"{RUNTIME['dev']}/sandgate/{box.name}"
    assert sandgate.world.machine.exists(f"{control}/control")
    got = box.run(f"ls -la {control} /run/sandgate; find / -xdev -name control -path '*sandgate*'; true")
    assert "control" not in got.out, got
    assert not box.run("sandgate ls").ok or "[]" in box.run("sandgate ls --json").out


@BOTH
def test_the_gate_is_confined(sandgate, person):
    """No capability, no_new_privs, a filter, nothing open but what it needs; not to be dumped."""
    box = sandgate.box("--net", "deny")
    status = read_proc(box.gate_pid, "status")
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
    # Who has no capability cannot drop the bounding set; no_new_privs makes it moot.
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb") + (("CapBnd",) if person == "root" else ()):
        assert int(status.split(f"{kind}:\t")[1].split()[0], 16) == 0, kind
    targets = [os.readlink(f"/proc/{box.gate_pid}/fd/{fd}") for fd in os.listdir(f"/proc/{box.gate_pid}/fd")]
    for target in targets:
        assert target.startswith(("socket:", "anon_inode:", "pipe:", "/dev/null", "/dev/net/tun", "/dev/pts/")), \
            targets
    assert os.stat(f"/proc/{box.gate_pid}/mem").st_uid == 0  # not dumpable: it is not the person's


def test_nothing_inside_holds_a_descriptor_of_the_outside(sandgate, world):
    """Inherited descriptors are closed: a listening socket, a folder, a file of the caller."""
    machine = world.machine
    secret = "/home/dev/.aws/credentials"
    work = machine.new_work()
    done = machine.run(["bash", "-c", f"exec 7<{secret} 8</home/dev 9<>/dev/tcp/192.168.77.1/53; "
                        f"exec {sandgate.path} run --net deny -- sh -c 'ls -l /proc/self/fd; cat <&7; ls /proc/self/fd/8/'"],
                       cwd=work)
    assert "a-secret" not in done.stdout and ".aws" not in done.stdout, done
    for line in done.stdout.splitlines():
        if "->" in line:
            assert " 7 ->" not in line and " 8 ->" not in line and " 9 ->" not in line, done.stdout


def test_no_process_inside_has_the_tun_or_the_hosts_network(sandgate):
    box = sandgate.box("--net", "any")
    inner = os.readlink(f"/proc/{box.inner_pid}/ns/net")
    for pid in box.others():
        if os.readlink(f"/proc/{pid}/ns/net") == inner:
            assert not holds(pid, "tun")


def test_typing_into_the_persons_terminal(terminal):
    """TIOCSTI: a character pushed into the terminal would be run by the shell outside."""
    code = ("import fcntl, sys, termios\n"
            "for c in 'echo pushed-in\\n':\n"
            "    try: fcntl.ioctl(0, termios.TIOCSTI, c.encode())\n"
            "    except OSError as e: print('refused', e.errno)\n"
            "try: fcntl.ioctl(0, 0x541C, b'\\x02\\x02')\n"
            "except OSError as e: print('linux refused')\n"
            "print('tried')\n")
    t = terminal("run", "--net", "deny", "--as-root", "--", "python3", "-c", code)
    t.expect("tried")
    assert t.process.wait(60) == 0
    time.sleep(0.2)
    try:
        t.expect("pushed-in", 0.5)
        raise RuntimeError("the text reached the terminal's input")
    except AssertionError:
        pass


def test_tracing_and_memory_of_others(box):
    got = box.python("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
reached = []
for pid in [1] + [int(a) for a in sys.argv[1:]]:
    for name in "mem", "maps", "fd/0", "root/etc", "cwd":
        try: os.stat(f"/proc/{pid}/{name}") if "/" in name or name == "cwd" else open(f"/proc/{pid}/{name}", "rb").close()
        except OSError: continue
        reached.append([pid, name])
    if libc.ptrace(16, pid, 0, 0) == 0: reached.append([pid, "ptrace"])
report(reached=[r for r in reached if r[0] != 1])
""", box.gate_pid, box.process.pid, os.getppid()).json
    assert got["reached"] == []


def test_files_of_the_kernel_are_read_only_or_hidden(box):
    got = box.python("""
written = []
for base in "/proc/sys", "/sys":
    for folder, _, files in os.walk(base):
        for name in files:
            path = os.path.join(folder, name)
            try:
                fd = os.open(path, os.O_WRONLY)
                os.close(fd)
                written.append(path)
            except OSError: pass
report(written=written[:50], count=len(written))
""", timeout=120).json
    assert got["count"] == 0, got


@BOTH
def test_the_sandboxs_own_end_is_its_own(sandgate, person):
    """A command that forks away and detaches from everything ends with the sandbox."""
    machine = sandgate.world.machine
    mark = f"sandgate-e2e-{os.getpid()}-{time.monotonic_ns()}"
    done = sandgate.run("--net", "deny", "--as-root", command=(
        f"python3 -c 'import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
        f"  time.sleep(600)  # {mark}' & exit 0"))
    assert done.ok
    wait_until(lambda: machine.run(["pgrep", "-f", mark], person="root").stdout == "", 5, "its end")


def test_signals_from_inside_do_not_reach_the_supervisor(sandgate):
    """The group of the command is not the group of the person's shell."""
    machine = sandgate.world.machine
    process = machine.popen(["bash", "-c", f"{sandgate.path} run --net deny -- sh -c 'kill -TERM 0; kill -INT -1'; "
                             "echo outer-lives"], "dev", cwd=machine.new_work(), stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
                            start_new_session=True)
    try:
        out, _ = process.communicate(timeout=20)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert "outer-lives" in out
