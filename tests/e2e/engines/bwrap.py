# SPDX-License-Identifier: Apache-2.0
"""Bubblewrap, what `sandgate run` uses when nothing else is said."""

import subprocess

from program import descendants, read_proc

from .engine import Engine


class Bwrap(Engine):
    id = "bwrap"
    needs = (("bwrap", "bubblewrap"),)
    namespaces = ("user", *Engine.namespaces)
    says_its_end = True
    given_cwd = True

    def accepted(self, options):
        return options

    def start(self, box, agent):
        sandgate = box.sandgate
        return self.machine.popen(
            [sandgate.path, "run", "--name", box.name, *box.options, "--", *agent], sandgate.person,
            cwd=box.cwd, env=box.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)

    def inner_pid(self, box):
        for pid in descendants(box.process.pid):
            if read_proc(pid, "cmdline").startswith("python3\0-u\0-c"):
                return pid
        raise AssertionError("the agent is gone")

    def supervisor_pid(self, box):
        return box.process.pid

    def end(self, box):
        box.sandgate("rm", box.name)
