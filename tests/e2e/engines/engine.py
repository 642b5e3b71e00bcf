# SPDX-License-Identifier: Apache-2.0
"""What an engine is to a test: it starts the agent of ../inside behind a gate.

An engine belongs to one world and is made when a test first wants it there: a daemon, an image, once.
Everything of it, files, sockets, namespaces, is the world's or its own, never the machine's, and
close() leaves nothing. A file of this folder holds one engine, or several that are nearly the same.
"""

import os
import shutil
import socket
import struct

import pytest

from internet.machine import RUNTIME

# Options of `sandgate run` about what may be reached, which every engine has in some form.
POLICY_WITH_VALUE = ("--net", "--allow", "--deny", "--only", "--policy", "--inspect", "--splice")
POLICY_ALONE = ("--yes", "--unattended", "--no-project", "--quiet")


class Engine:
    """One way of putting a program behind a gate. Subclasses are named in engines/all.py."""

    id = None
    # (program, package) that must be there.
    needs = ()
    # Further options of `run` that this engine takes as they are: `run` itself starts it.
    takes_value, takes_alone = (), ()
    # Kinds of namespace that are not the machine's.
    namespaces = ("pid", "mnt", "net", "ipc")
    # The sandbox has a kernel of its own: nothing of it can be entered or seen from outside.
    own_kernel = False
    # Files of the machine that it was not given are not there inside.
    own_files = True
    # The working directory is given to it, under its own path, and the product knows that.
    given_cwd = False
    # How long, in seconds, a program that waits for nothing takes at the most, its start included.
    at_once = 1
    # What a run says at its end is on the standard error of what start() returns.
    says_its_end = False

    # Who must run it; None: whoever the test says.
    person = None

    def __init__(self, world, sandgate):
        """`sandgate` is the program's path on the world's machine."""
        self.world, self.machine, self.sandgate = world, world.machine, sandgate

    @classmethod
    def missing(cls):
        """Why this machine cannot run it, with the package; None when it can."""
        for program, package in cls.needs:
            if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
                return f"{program} is not installed ({package})"
        return None

    def start(self, box, agent):
        """A Popen whose standard input and output, pipes in text, are those of `agent`, an argv.

        Reads box.name, which it may set to what the product chose, box.options, already without what
        the engine refuses, box.cwd and box.env.
        """
        raise NotImplementedError

    def inner_pid(self, box):
        """A process inside, as the host numbers it: the agent."""
        raise NotImplementedError

    def supervisor_pid(self, box):
        return supervisor_of(self.machine, box.sandgate.person, box.name)

    def end(self, box):
        """The agent has ended, or was killed: what else belonged to the box goes as well."""

    def close(self):
        """The world ends."""

    def accepted(self, options):
        """The options that can be passed on; the test is skipped for one that this engine has not."""
        options, out = list(options), []
        while options:
            option = options.pop(0)
            if option == "--as-root":
                continue  # it is root already
            if option in POLICY_WITH_VALUE + self.takes_value:
                out += [option, options.pop(0)]
            elif option in POLICY_ALONE + self.takes_alone:
                out.append(option)
            else:
                self.cannot(f"has no {option}")
        return out

    def cannot(self, why):
        pytest.skip(f"{self.id}: {why}")


def supervisor_of(machine, person, name):
    """The process that answers for a sandbox, by its control socket."""
    folder = "/run" if person == "root" else RUNTIME[person]
    path = f"{folder}/sandgate/{name}/control"

    def ask():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.connect(path)
            return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    return machine.place.call(ask)


def policy_of(options):
    """What policy options say as a policy file, for engines that are given one. A file that is named
    is (path, None), else (None, text)."""
    options, text, lists = list(options), "", {"allow": [], "deny": [], "inspect": []}
    while options:
        option = options.pop(0)
        if option in POLICY_ALONE:
            continue
        value = options.pop(0)
        if option == "--policy":
            assert not text and not any(lists.values()) and not [o for o in options if o not in POLICY_ALONE]
            return value, None
        if option in ("--net", "--only"):
            text = f"network: {value if option == '--net' else 'deny'}\n"
        if option != "--net":
            lists[{"--only": "allow"}.get(option, option[2:])] += value.split(",")
    text = text or "network: standard\n"
    for key, items in lists.items():
        if items:
            text += f"{key}: [{', '.join(repr(i) for i in items)}]\n"
    return None, text
