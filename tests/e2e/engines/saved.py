# SPDX-License-Identifier: Apache-2.0
"""A virtual machine that was started once and saved before it looked at its network: each box goes on
from there, as software emulation takes seconds for a start. Whatever has to do with the network, the
driver of its card too, comes after that."""

import json
import os
import select
import socket
import subprocess
import time


def save(machine, argv, path, timeout=120):
    """Runs `argv`, QEMU without a network device's other end, until the guest waits, and saves it."""
    process = machine.popen([*argv, "-qmp", f"unix:{path}.qmp,server=on,wait=off"], "root",
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)  # it warns of a card that leads nowhere
    try:
        assert select.select([process.stdout], [], [], timeout)[0], "the guest does not come up"
        said = process.stdout.readline()
        assert said == "waiting\n", f"the guest says {said!r}"
        _migrate(machine, f"{path}.qmp", path, timeout)
    finally:
        process.kill()
        process.communicate()
    machine.place.call(lambda: (os.unlink(f"{path}.qmp"), os.chmod(path, 0o644)))


def _migrate(machine, control, path, timeout):
    def connect():
        s = socket.socket(socket.AF_UNIX)
        s.connect(control)
        return s
    with machine.place.call(connect) as s, s.makefile("rw") as stream:
        stream.readline()  # the greeting
        for execute, arguments in (("qmp_capabilities", {}),
                                   ("migrate-set-parameters", {"max-bandwidth": 1 << 40}),
                                   ("migrate", {"uri": f"exec:cat >{path}"})):
            _ask(stream, execute, arguments)
        deadline = time.monotonic() + timeout
        while (status := _ask(stream, "query-migrate", {}).get("status")) != "completed":
            assert status != "failed" and time.monotonic() < deadline, status
            time.sleep(0.02)


def _ask(stream, execute, arguments):
    stream.write(json.dumps({"execute": execute, "arguments": arguments}) + "\n")
    stream.flush()
    while True:
        answer = json.loads(stream.readline())
        if "event" not in answer:
            return answer["return"]
