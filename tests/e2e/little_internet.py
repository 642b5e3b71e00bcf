#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A little internet for a command: started, joined to a machine of its own, and gone afterwards.

    little_internet.py [--root] [--program FILE]... [--site NAME]... [--git NAME]...
                       [--service NAME:PORT]... [-- COMMAND]

The command runs on the machine as an ordinary user with the terminal of the caller; without one, the
way into the machine is printed and it stays up until interrupted. Needs root. Tests use the package
`internet` directly.
"""

import argparse
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from internet.machine import HOME, PROGRAMS, UID  # noqa: E402
from internet.services import echo_tcp, git_site  # noqa: E402
from internet.world import World  # noqa: E402


def _arguments():
    parser = argparse.ArgumentParser(description="a little internet for a command",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", action="store_true", help="run the command as root")
    parser.add_argument("--program", action="append", default=[], metavar="FILE",
                        help="put this program on the machine's PATH")
    parser.add_argument("--site", action="append", default=[], metavar="NAME",
                        help="a web site, http and https")
    parser.add_argument("--git", action="append", default=[], metavar="NAME",
                        help="a git host with /project.git, to clone and push")
    parser.add_argument("--service", action="append", default=[], metavar="NAME:PORT",
                        help="a TCP service that echoes")
    parser.add_argument("--no-ipv6", action="store_true", help="a machine without IPv6")
    parser.add_argument("command", nargs="*", metavar="COMMAND")
    return parser.parse_args()


def _hello(request):
    """Says who it is, and with which key somebody signs in; not the key."""
    key = request.header("authorization")
    return (f"hello from {request.site.name}\n"
            + (f"signed in with a key of {len(key.split()[-1])} characters that ends in {key[-4:]}\n"
               if key else ""))


def _declare(world, arguments):
    for name in arguments.site:
        world.site(name, v6=not arguments.no_ipv6, handler=_hello)
    for name in arguments.git:
        git_site(world, name)
    for service in arguments.service:
        name, port = service.rsplit(":", 1)
        address = world.address()
        world.name(name, address)
        echo_tcp(world, address, int(port))
    for program in arguments.program:
        world.machine.install(program)


def _stay(world):
    holder = world.machine.popen(["sleep", "infinity"], person="root")
    print(f"machine: nsenter -t {holder.pid} -n -m setpriv --reuid {UID['dev']} --regid {UID['dev']} "
          f"--clear-groups env HOME={HOME['dev']} bash", flush=True)
    print(f"programs: {PROGRAMS}; stop with Ctrl-C", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pause()
    holder.kill()
    holder.wait()


def main():
    arguments = _arguments()
    if os.geteuid() != 0:
        sys.exit("little_internet.py: it makes network namespaces: run it as root")
    # A handler that does nothing: unlike a mask or SIG_IGN it does not outlive exec, so what the
    # terminal sends ends the command, and then the internet is taken down in good order.
    signal.signal(signal.SIGINT, lambda *_: None)
    world = World(ipv6=not arguments.no_ipv6)
    try:
        _declare(world, arguments)
        if not arguments.command:
            _stay(world)
            return 0
        process = world.machine.popen(arguments.command, "root" if arguments.root else "dev")
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        return process.wait()
    finally:
        world.close()


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status if status >= 0 else 128 - status)
