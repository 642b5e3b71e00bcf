#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_completions.py SHELL FILE: what one shell offers, asked of the shell itself.

Exits 77 where the shell is not installed.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

PATIENCE = 60   # seconds in which a shell does what it is told

# Line so far → words that must be offered, words that must not.
CASES = [
    ("sandgate ", {"run", "ls", "egress", "net", "policy", "doctor", "help"}, {"explain", "--json"}),
    ("sandgate net ", {"explain"}, {"run"}),
    ("sandgate run --ne", {"--net"}, {"--name"}),
    ("sandgate run --net ", {"deny", "none", "open", "any"}, set()),
    ("sandgate egress ", {"web-shop", "second"}, {"stale"}),
    ("sandgate egress ", {"kept-one"}, {"half-made"}),
    ("sandgate net explain --js", {"--json"}, {"--policy"}),
    ("sandgate net explain web-shop ", set(), {"second", "github"}),
    ("sandgate exec --cwd /tmp ", {"web-shop", "kept-one"}, {"stale"}),
    ("sandgate net ", {"allow", "permissions", "web-shop", "kept-one"}, {"--json", "run"}),
    ("sandgate net --js", {"--json"}, {"--yes"}),
    ("sandgate net allow ", {"web-shop", "kept-one"}, {"github"}),
    ("sandgate net allow web-shop ", {"github", "install:python", "standard"}, {"kept-one"}),
    ("sandgate net allow --yes web-shop install:p", {"install:python", "install:php"},
     {"install:rust", "publish:python"}),
    ("sandgate net deny web-shop github model:o", {"model:openai", "model:ollama"}, {"gitlab"}),
    ("sandgate run --allow model:anthropic,install:p", {"install:python", "install:php"},
     {"install:rust"}),
    ("sandgate run --deny=install:p", {"install:python", "install:php"}, {"github"}),
    ("sandgate run --only git", {"github", "gitlab"}, {"bitbucket", "web-shop"}),
    ("sandgate net permissions gith", {"github", "github:push"}, {"gitlab", "standard"}),
    ("sandgate policy check sand", {"sandgate.yaml"}, set()),
    ("sandgate run --policy sand", {"sandgate.yaml"}, set()),
    ("sandgate run --quiet -- unam", {"uname"}, set()),
]

_BASH = """
source "$0"
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_sandgate
printf '%s\\n' "${COMPREPLY[@]}"
"""


def _readline_words(line):
    """As readline parts a line: at blanks, and ":" and "=" are words of their own."""
    words = re.findall(r"[:=]|[^\s:=]+", line)
    return words + [""] if line[-1].isspace() else words


def _last(offered):
    """Of a list with commas the last item: what the shells show differs in the rest."""
    return {word.rsplit(",", 1)[-1] for word in offered}


def bash(file, line, environment, folder):
    """What is offered takes the place of what follows the last ":" or "="."""
    words = _readline_words(line)
    done = subprocess.run(["bash", "--norc", "-c", _BASH, file, line, *words], capture_output=True,
                          text=True, env=environment, cwd=folder, check=True)
    typed = line.split(" ")[-1].rsplit("=", 1)[-1]
    before = typed[:typed.rfind(":") + 1]
    return _last(before + word for word in done.stdout.split())


def fish(file, line, environment, folder):
    script = 'source $argv[1]; complete -C $argv[2]'
    done = subprocess.run(["fish", "--no-config", "-c", script, file, line], capture_output=True,
                          text=True, env=environment, cwd=folder, check=True)
    return _last(entry.split("\t")[0].rsplit("=", 1)[-1]
                 for entry in done.stdout.splitlines() if entry)


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
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 200, 0, 0))
    set_up = (f"PS1=; fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -D; "
              "zstyle ':completion:*' list-prompt ''; LISTMAX=1000; print re''ady\n")
    os.write(fd, set_up.encode())
    _read_until(fd, PATIENCE, b"ready\r")
    # Ctrl-X and a word: bound to list the choices, then to print a mark.
    os.write(fd, b"done-mark() { zle -M ''; print -n all-''listed }; zle -N done-mark; "
                 b"bindkey '^Xm' done-mark; bindkey '^Xl' list-choices; print bo''und\n")
    _read_until(fd, PATIENCE, b"bound\r")
    os.write(fd, line.encode() + b"\x18l\t\x18m")
    said = _read_until(fd, PATIENCE, b"all-listed")
    os.close(fd)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    words = re.findall(r"[\w.:-]+", said.replace(line, " ", 1)) + said.split()[-2:]
    return _last(words) | {word.strip(":") for word in words}


def _sandboxes(folder):
    """Two that run, by their control sockets, and one that is kept; two folders are neither."""
    held = []
    for name in ("web-shop", "second"):
        place = pathlib.Path(folder, "sandgate", name)
        place.mkdir(parents=True)
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].bind(str(place / "control"))
    pathlib.Path(folder, "sandgate", "stale").mkdir()
    kept = pathlib.Path(folder, "state", "sandgate", "sandboxes")
    (kept / "kept-one").mkdir(parents=True)
    (kept / "kept-one" / "sandbox.json").touch()
    (kept / "half-made").mkdir()
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
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder,
                       "XDG_STATE_HOME": f"{folder}/state"}
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
