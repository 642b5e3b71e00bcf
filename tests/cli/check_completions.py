#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_completions.py SHELL FILE: what one shell offers, asked of the shell itself.

Exits 77 where the shell is not installed.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

# Line so far → words that must be offered, words that must not.
CASES = [
    ("sandgate ", {"run", "ls", "egress", "net", "policy", "doctor", "help"}, {"explain", "--json"}),
    ("sandgate net ", {"explain"}, {"run"}),
    ("sandgate run --ne", {"--net"}, {"--name"}),
    ("sandgate run --net ", {"deny", "none", "open", "any"}, set()),
    ("sandgate egress ", {"web-shop", "second"}, {"stale"}),
    ("sandgate net explain --js", {"--json"}, {"--policy"}),
    ("sandgate policy check sand", {"sandgate.yaml"}, set()),
    ("sandgate run --policy sand", {"sandgate.yaml"}, set()),
    ("sandgate run --quiet -- unam", {"uname"}, set()),
]

_BASH = """
source "$0"
line=$1
read -ra COMP_WORDS <<<"$line"
[[ $line == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_LINE=$line COMP_POINT=${#line}
_sandgate
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(file, line, environment, folder):
    done = subprocess.run(["bash", "--norc", "-c", _BASH, file, line], capture_output=True,
                          text=True, env=environment, cwd=folder, check=True)
    return set(done.stdout.split())


def fish(file, line, environment, folder):
    script = 'source $argv[1]; complete -C $argv[2]'
    done = subprocess.run(["fish", "--no-config", "-c", script, file, line], capture_output=True,
                          text=True, env=environment, cwd=folder, check=True)
    return {entry.split("\t")[0] for entry in done.stdout.splitlines() if entry}


def _read_until(fd, seconds, mark):
    """What comes within some seconds, or until the mark has come."""
    said, end = b"", time.monotonic() + seconds
    while mark not in said and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                said += os.read(fd, 65536)
            except OSError:
                break
    return said.decode(errors="replace")


def zsh(file, line, environment, folder):
    """Through a terminal: zsh completes nowhere else. What it lists is taken apart into words."""
    functions = pathlib.Path(folder, ".functions")
    functions.mkdir(exist_ok=True)
    shutil.copy(file, functions / "_sandgate")
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**environment, "TERM": "dumb", "COLUMNS": "200"})
    set_up = (f"PS1=; fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -D; "
              "zstyle ':completion:*' list-prompt ''; LISTMAX=1000; print re''ady\n")
    os.write(fd, set_up.encode())
    _read_until(fd, 20, b"ready\r")
    # Ctrl-X and a word: bound to list the choices, then to print a mark.
    os.write(fd, b"done-mark() { zle -M ''; print -n all-''listed }; zle -N done-mark; "
                 b"bindkey '^Xm' done-mark; bindkey '^Xl' list-choices; print bo''und\n")
    _read_until(fd, 20, b"bound\r")
    os.write(fd, line.encode() + b"\x18l\t\x18m")
    said = _read_until(fd, 20, b"all-listed")
    os.close(fd)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return set(re.findall(r"[\w.-]+", said.replace(line, " ", 1))) | set(said.split()[-2:])


def _sandboxes(folder):
    """Two that run, by their control sockets, and a folder that was left behind."""
    held = []
    for name in ("web-shop", "second"):
        place = pathlib.Path(folder, "sandgate", name)
        place.mkdir(parents=True)
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].bind(str(place / "control"))
    pathlib.Path(folder, "sandgate", "stale").mkdir()
    return held


def _become_nobody():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def main():
    shell, text = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(encoding="ascii")
    if not shutil.which(shell):
        print(f"{shell} is not installed")
        return 77
    if os.geteuid() == 0:
        _become_nobody()     # root's sandboxes are listed in a folder of the system
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sandgate-completions-") as folder:
        pathlib.Path(folder, "sandgate.yaml").touch()
        file = f"{folder}/.completion"
        pathlib.Path(file).write_text(text, encoding="ascii")
        held = _sandboxes(folder)
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder}
        for line, wanted, unwanted in CASES:
            offered = {"bash": bash, "fish": fish, "zsh": zsh}[shell](file, line, environment, folder)
            good = wanted <= offered and not unwanted & offered
            failed += not good
            name = re.sub(r"\W+", "_", f"{shell} {line}").strip("_")
            print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}")
            if not good:
                print(f"{line!r} offers {sorted(offered)}")
        for one in held:
            one.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
