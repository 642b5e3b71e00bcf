# SPDX-License-Identifier: Apache-2.0
"""Namespaces that are there already, without an engine, put behind a gate by `sandgate attach`: the agent
is root in them with every capability and sees the files of the machine."""

import subprocess

from program import descendants, read_proc, wait_until

from .engine import Engine

# It waits for the gate before it becomes the agent.
_WAIT = """echo nameserver 192.0.0.1 >/tmp/resolv && mount --bind /tmp/resolv /etc/resolv.conf
read go && exec "$@"
"""


class Netns(Engine):
    id = "netns"
    person = "root"
    own_files = False
    takes_value = ("--publish", "--host-port", "--pcap")

    def start(self, box, agent):
        process = self.machine.popen(
            ["unshare", "--net", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
             "sh", "-c", "ip link set lo up; mount -t tmpfs tmp /tmp; " + _WAIT, "sh", *agent],
            "root", cwd=box.cwd, env=box.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        box.process = process
        wait_until(lambda: self._first(process.pid), what="the namespace")
        done = self._attach(box, self._first(process.pid))
        if not done.ok:
            process.kill()
            process.wait()
        assert done.ok, done
        process.stdin.write("go\n")
        process.stdin.flush()
        return process

    def _attach(self, box, pid):
        options = [option for option in box.options if option != "--yes"]
        return box.sandgate("attach", "--yes", "--pid", str(pid), "--name", box.name, *options, cwd=box.cwd)

    @staticmethod
    def _first(pid):
        """The first process in there: `sh`, then the agent."""
        for one in descendants(pid):
            if one != pid and read_proc(one, "cmdline").split("\0")[0] in ("sh", "python3"):
                return one
        return None

    def inner_pid(self, box):
        return self._first(box.process.pid)

    def end(self, box):
        box.sandgate("detach", box.name)
