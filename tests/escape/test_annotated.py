# SPDX-License-Identifier: Apache-2.0
"""Root in a container that an annotation put behind a gate: ways past it that podman leaves open, and the
certificates that were put into its files."""

import json

import pytest

from program import _source

pytestmark = pytest.mark.parametrize("engine_name", ["podman-rootless", "podman-rootful"])
CA = "/run/sandbox-files/ca"


def inside(engine, policy, *words, code):
    """Without a policy, as podman has it."""
    asks = [f"--annotation=sandgate.policy={policy}"] if policy else []
    done = engine.podman.try_run("run", "--rm", "--network=none", *asks, *words, "guest", "python3", "-c", _source("probe.py") + "\n" + code)
    assert done.returncode == 0, done
    return json.loads(done.stdout.splitlines()[-1])


def test_the_host_of_a_virtual_machine_is_not_reached_by_vsock(engine):
    """Whatever the upper half of the family's register holds, and by the doors of 32-bit programs; sockets of each
    other family are as podman has them."""
    got, usual = (inside(engine, policy, code=SOCKETS) for policy in ("deny", None))
    assert got["vsock"] == 4 * ["EAFNOSUPPORT"] and "made" not in [*got["narrow"], got["ring"]], got
    assert got["others"] == usual["others"] and "made" in got["others"], (got, usual)


SOCKETS = """
import ctypes, mmap, platform
libc = ctypes.CDLL(None, use_errno=True)
def make(*arguments):
    fd = libc.syscall(ctypes.c_long(41 if platform.machine() == "x86_64" else 198), *map(ctypes.c_long, arguments))
    if fd >= 0: os.close(fd)
    return "made" if fd >= 0 else errno.errorcode[ctypes.get_errno()]
def compat(number, a, b, c):  # push rbx; mov eax,n; mov ebx,a; mov ecx,b; mov edx,c; int 0x80; pop rbx; ret
    m = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40,  # MAP_32BIT
                  prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    at = ctypes.addressof(ctypes.c_char.from_buffer(m))
    m[256:268] = struct.pack("<III", 40, 1, 0)
    code = (b"\\x53\\xb8" + struct.pack("<I", number) + b"\\xbb" + struct.pack("<I", a) + b"\\xb9"
            + struct.pack("<I", at + 256 if b is None else b) + b"\\xba" + struct.pack("<I", c) + b"\\xcd\\x80\\x5b\\xc3")
    m[:len(code)] = code
    r = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
    return "made" if r >= 0 else errno.errorcode[-r]
x86 = platform.machine() == "x86_64"
ring = libc.syscall(ctypes.c_long(425), 8, ctypes.create_string_buffer(256))
report(vsock=[make(40, 1, 0), make(40, 2, 0), make(40 | 1 << 32, 1, 0), make(40 | -1 << 32, 1, 0)],
       narrow=[compat(359, 40, 1, 0), compat(102, 1, None, 0)] if x86 else [], ring="made" if ring >= 0 else "none",
       others=[make(family, kind, protocol) for family in range(64) if family != 40
               for kind, protocol in ((1, 0), (2, 0), (3, 0), (3, 9))] + ([compat(359, 2, 1, 0)] if x86 else []))
"""


def test_nobody_inside_can_write_what_they_are_to_trust(world, sandgate, engine):
    """With CAP_SYS_ADMIN, and where root is the owner of the files: what the broker trusts is read from one of them."""
    world.site("opened.example.com")
    work = world.machine.new_work(sandgate.person)
    world.machine.write(f"{work}/policy.yaml", "network: deny\ninspect: [opened.example.com]\n", sandgate.person)
    got = inside(engine, f"{work}/policy.yaml", "--cap-add=ALL", "--security-opt=seccomp=unconfined", code=f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
tried = dict()
for place in "{CA}", "/etc/ssl/certs/ca-certificates.crt":
    target = place + "/bundle.pem" if place == "{CA}" else place
    libc.mount(None, place.encode(), None, MS_REMOUNT | MS_BIND, None)
    os.makedirs("/tmp/x", exist_ok=True)
    libc.mount(place.encode(), b"/tmp/x", None, MS_BIND, None)
    libc.mount(None, b"/tmp/x", None, MS_REMOUNT | MS_BIND, None)
    for path in target, "/tmp/x/bundle.pem":
        try: open(path, "r+b"); tried[path] = "opened"
        except OSError as e: tried[path] = errno.errorcode[e.errno]
    try: os.unlink("{CA}/extra.pem"); tried["unlink"] = "done"
    except OSError as e: tried["unlink"] = errno.errorcode[e.errno]
report(**tried)""")
    assert set(got.values()) == {"EROFS"}, got
