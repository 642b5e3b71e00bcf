# SPDX-License-Identifier: Apache-2.0
"""The person's machine: its users, its files, its resolver, its network, as seen from inside.

`dev` is an ordinary user, `root` the administrator. Their homes hold what a sandbox must not see.
"""

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess

from .netns import Place, View

UID = {"dev": 1000, "root": 0}
HOME = {"dev": "/home/dev", "root": "/root"}
RUNTIME = {"dev": "/run/user/1000", "root": "/run/user/0"}
PROGRAMS = "/run/program"
SECRET = "a-secret-of-the-person"

_VIEW = """
mount -t tmpfs -o mode=755 run /run
mkdir -p -m 700 /run/.etc; mkdir /run/.etc/upper /run/.etc/work
mount -t overlay etc -o lowerdir=/etc,upperdir=/run/.etc/upper,workdir=/run/.etc/work /etc
mkdir -p -m 700 /run/.lib; mkdir /run/.lib/upper /run/.lib/work
mount -t overlay lib -o lowerdir=/var/lib,upperdir=/run/.lib/upper,workdir=/run/.lib/work /var/lib
rm -rf /etc/sandgate /var/lib/sandgate
mount -t tmpfs -o mode=755 home /home
mount -t tmpfs -o mode=700 root /root
mount -t tmpfs -o mode=1777 tmp /tmp
mkdir -p /run/user/1000 /run/user/0 /run/program /run/sshd /run/lock /home/dev
chmod 700 /run/user/1000 /run/user/0
chown 1000:1000 /run/user/1000 /home/dev
if [ -e /dev/net/tun ] && [ "$(stat -c %a /dev/net/tun)" != 666 ]; then
    mount -t tmpfs -o mode=755 devnet /dev/net
    mknod -m 666 /dev/net/tun c 10 200
fi
sed -i '/^[^:]*:[^:]*:1000:/d' /etc/passwd
sed -i '/^[^:]*:[^:]*:1000:/d' /etc/group
echo 'dev:x:1000:1000:A Person:/home/dev:/bin/bash' >>/etc/passwd
echo 'dev:x:1000:' >>/etc/group
echo 'dev:*:19000:0:99999:7:::' >>/etc/shadow
printf '127.0.0.1 localhost laptop\\n::1 localhost\\n' >/etc/hosts
sed -i 's/^hosts:.*/hosts: files dns/' /etc/nsswitch.conf
cat >/etc/ssl/certs/little-internet.pem <<'PEM'
@CA@PEM
cat /etc/ssl/certs/little-internet.pem >>/etc/ssl/certs/ca-certificates.crt
ln -sf little-internet.pem "/etc/ssl/certs/$(openssl x509 -hash -noout -in /etc/ssl/certs/little-internet.pem).0"
"""

_HOME = """
cd @HOME@
mkdir -p .ssh .aws .config .gnupg work
for f in .ssh/id_ed25519 .aws/credentials .netrc .git-credentials .bash_history; do echo @SECRET@ >$f; done
echo '# start-up file' >.bashrc
chmod 700 .ssh .gnupg
chown -R @UID@:@UID@ .
"""


class Machine:
    """`place` and file system of the person; programs run here as `dev` or `root`."""

    def __init__(self, authority):
        script = _VIEW.replace("@CA@", authority.pem)
        for person, home in HOME.items():
            script += (_HOME.replace("@HOME@", home).replace("@SECRET@", SECRET)
                       .replace("@UID@", str(UID[person])))
        self.view = View(script)
        self.place = Place(self.view)
        self._works = 0

    def close(self):
        self.place.close()
        self.view.close()

    # Files, as the machine sees them.

    def write(self, path, text, person="root", mode=0o644):
        def write():
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.chown(path, UID[person], UID[person])
            os.chmod(path, mode)
        self.place.call(write)

    def replace(self, path, text):
        """As careful programs do: a new file renamed over the old one."""
        def replace():
            with open(path + ".new", "w", encoding="utf-8") as f:
                f.write(text)
            os.rename(path + ".new", path)
        self.place.call(replace)

    def read(self, path):
        def read():
            with open(path, encoding="utf-8") as f:
                return f.read()
        return self.place.call(read)

    def exists(self, path):
        return self.place.call(lambda: os.path.lexists(path))

    def listdir(self, path):
        return self.place.call(lambda: sorted(os.listdir(path)) if os.path.isdir(path) else [])

    def use_resolver(self, *servers, options="timeout:1 attempts:2", search=""):
        text = "".join(f"nameserver {server}\n" for server in servers)
        text += f"options {options}\n" if options else ""
        text += f"search {search}\n" if search else ""
        self.replace("/etc/resolv.conf", text)

    def forget_trust(self):
        """What sandgate has been told to trust, and what was shared: no test inherits another's."""
        def remove():
            for folder in "/home/dev/.local/state/sandgate", "/var/lib/sandgate":
                with contextlib.suppress(OSError):
                    os.unlink(f"{folder}/trust.json")
        self.place.call(remove)

    def new_work(self, person="dev"):
        """An empty working directory that belongs to the person."""
        self._works += 1
        path = f"{HOME[person]}/work/{self._works}"

        def make():
            os.mkdir(path)
            os.chown(path, UID[person], UID[person])
        self.place.call(make)
        return path

    def install(self, program):
        """Puts a program, once, where every person of the machine can run it; the path there."""
        target = f"{PROGRAMS}/{os.path.basename(program)}"
        if not self.exists(target):
            with open(program, "rb") as f:
                octets = f.read()

            def write():
                with open(target, "wb") as f:
                    f.write(octets)
                os.chmod(target, 0o755)
            self.place.call(write)
        return target

    # Programs.

    def environment(self, person, **more):
        env = {"PATH": f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
               "HOME": HOME[person], "USER": person, "LOGNAME": person, "SHELL": "/bin/bash",
               "LANG": "C.UTF-8", "TERM": "xterm", "XDG_RUNTIME_DIR": RUNTIME[person]}
        for key, value in os.environ.items():
            if re.match(r"(ASAN|UBSAN|LSAN)_OPTIONS$", key):
                env[key] = value
        env.update(more)
        return env

    def popen(self, argv, person="dev", cwd=None, env=None, place=None, **options):
        if isinstance(argv, str):
            argv = ["sh", "-c", argv]
        return (place or self.place).popen(
            argv, view=self.view, cwd=cwd or HOME[person],
            env=self.environment(person) if env is None else env,
            user=UID[person], group=UID[person], extra_groups=[], **options)

    def run(self, argv, person="dev", timeout=60, **options):
        """Runs to the end, output captured as text."""
        input_text = options.pop("input", None)
        options.setdefault("stdin", subprocess.PIPE if input_text is not None else subprocess.DEVNULL)
        with self.popen(argv, person, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        errors="replace", **options) as process:
            try:
                out, err = process.communicate(input_text, timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                raise AssertionError(
                    f"still running after {timeout} s: {shlex.join(map(str, process.args))}\n"
                    f"{out}\n{err}") from None
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def has(self, program):
        return shutil.which(program) is not None

    # Services on the machine itself, which a sandbox must not reach.

    def listen(self, address, port, kind=socket.SOCK_STREAM):
        return self.place.bound_socket(address, port, kind, backlog=128)
