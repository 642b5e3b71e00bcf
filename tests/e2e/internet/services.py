# SPDX-License-Identifier: Apache-2.0
"""Heavier peers, started by the tests that want them: sshd, PostgreSQL, redis, HTTP/2, git, npm, apt.

Each is the real server where Debian has one; where it has none to speak of (a package registry, a
mirror), it is the few files such a server would serve.
"""

import asyncio
import base64
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time

from . import web

UID_DEV = 1000


class Service:
    """A server program in the internet; stopped with the world's reset()."""

    def __init__(self, world, argv, address, port, **options):
        self.address, self.port = address, port
        options.setdefault("stdout", subprocess.DEVNULL)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("view", world.machine.view)
        self._process = world.internet.popen(argv, stdin=subprocess.DEVNULL, start_new_session=True,
                                             **options)
        self._wait_until_up(world)
        world.on_reset(self.close)

    def _wait_until_up(self, world):
        deadline = time.monotonic() + 60
        while True:
            try:
                world.internet.call(lambda: socket.create_connection((self.address, self.port), 1)
                                    ).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.close()
                    raise RuntimeError(f"{self._process.args[0]} did not start: "
                                       f"{self._process.stderr.read()[-2000:]}") from None
                time.sleep(0.02)

    def close(self):
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def new_folder(world, uid=0):
    path = tempfile.mkdtemp(prefix="sandgate-e2e-", dir="/var/tmp")  # the machine has its own /tmp
    os.chmod(path, 0o755)
    os.chown(path, uid, uid)
    world.on_reset(lambda: shutil.rmtree(path, ignore_errors=True))
    return path


class Ssh(Service):
    """sshd for `dev`; `private_key` opens it."""

    def __init__(self, world, address, port=22):
        folder = new_folder(world)
        for name in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}"],
                           check=True)
        os.chmod(f"{folder}/client.pub", 0o644)
        config = (f"ListenAddress {address}\nPort {port}\nHostKey {folder}/host\nUsePAM no\n"
                  f"AuthorizedKeysFile {folder}/client.pub\nStrictModes no\nPidFile none\n"
                  "PasswordAuthentication no\nPermitRootLogin no\nUseDNS no\n")
        with open(f"{folder}/config", "w", encoding="ascii") as f:
            f.write(config)
        with open(f"{folder}/client", encoding="ascii") as f:
            self.private_key = f.read()
        super().__init__(world, ["/usr/sbin/sshd", "-D", "-e", "-f", f"{folder}/config"],
                         address, port)


class Postgres(Service):
    """PostgreSQL, user and database `postgres`, no password."""

    def __init__(self, world, address, port=5432):
        import pwd
        uid = pwd.getpwnam("postgres").pw_uid
        folder = new_folder(world, uid)
        programs = sorted(os.listdir("/usr/lib/postgresql"))[-1]
        bin_ = f"/usr/lib/postgresql/{programs}/bin"
        subprocess.run([f"{bin_}/initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres",
                        "--no-sync", "--no-instructions"], user=uid, check=True, cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(f"{folder}/data/pg_hba.conf", "w", encoding="ascii") as f:
            f.write("host all all 0.0.0.0/0 trust\nhost all all ::/0 trust\n")
        super().__init__(world, [f"{bin_}/postgres", "-D", f"{folder}/data", "-h", address,
                                 "-p", str(port), "-k", "", "-F"], address, port, user=uid, group=uid,
                         extra_groups=[], cwd=folder)


class Redis(Service):
    def __init__(self, world, address, port=6379):
        super().__init__(world, ["redis-server", "--bind", address, "--port", str(port), "--save", "",
                                 "--protected-mode", "no", "--daemonize", "no"], address, port)


class Http2(Service):
    """nghttpd over TLS: files under `root`, and echo of what is posted."""

    def __init__(self, world, address, names, files, port=443):
        folder = new_folder(world)
        certificate, key = world.authority.issue(names)
        for name, text in (("crt", certificate), ("key", key)):
            with open(f"{folder}/{name}", "w", encoding="ascii") as f:
                f.write(text)
        os.mkdir(f"{folder}/root")
        for name, content in files.items():
            with open(f"{folder}/root/{name}", "wb") as f:
                f.write(content)
        super().__init__(world, ["nghttpd", "-a", address, "-d", f"{folder}/root", "--echo-upload",
                                 str(port), f"{folder}/key", f"{folder}/crt"], address, port)


def git_site(world, name, files=None, besides=None):
    """A git host over https: clone and push of /project.git. Returns (site, folder).

    `files` are those of its one commit; besides(request) may give the answer to one instead of git.
    """
    folder = new_folder(world)
    # Not the machine's own settings: Git LFS, where it is installed, would look at what is added.
    plain = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    run = lambda *argv: subprocess.run(  # noqa: E731
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-c",
         "init.defaultBranch=main", *argv], check=True, cwd=folder, capture_output=True, env=plain)
    run("init", "-q", "--bare", "project.git")
    run("-C", "project.git", "config", "http.receivepack", "true")
    run("clone", "-q", "project.git", "seed")
    for path, content in {"README": b"the project\n", **(files or {})}.items():
        with open(f"{folder}/seed/{path}", "wb") as f:
            f.write(content)
    run("-C", "seed", "-c", "core.compression=0", "add", ".")
    run("-C", "seed", "commit", "-q", "-m", "first")
    run("-C", "seed", "push", "-q", "origin", "HEAD:main")
    subprocess.run(["chmod", "-R", "a+rwX", folder], check=True)

    def backend(request):
        if besides and (answer := besides(request)):
            return answer
        path, _, query = request.target.partition("?")
        env = {"GIT_PROJECT_ROOT": folder, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
               "QUERY_STRING": query, "REQUEST_METHOD": request.method, "PATH": os.environ["PATH"],
               "CONTENT_TYPE": request.header("content-type", ""), "REMOTE_USER": "dev",
               "HTTP_CONTENT_ENCODING": request.header("content-encoding", ""),
               "GIT_PROTOCOL": request.header("git-protocol", ""),
               "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
               "GIT_CONFIG_VALUE_0": "*"}
        out = subprocess.run(["/usr/lib/git-core/git-http-backend"], env=env, input=request.body,
                             capture_output=True, check=False).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n") if line]
        status = next((int(v.split()[0]) for k, v in headers if k == "Status"), 200)
        return web.Response(body, status, [(k, v) for k, v in headers if k != "Status"])

    return world.site(name, handler=backend), folder


def npm_site(world, name, package="little-package", version="1.2.3"):
    """A registry with one package, also under a scope (@little/package)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path, text in (("package/package.json",
                            json.dumps({"name": package, "version": version})),
                           ("package/index.js", "module.exports = 'installed';\n")):
            info = tarfile.TarInfo(path)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    tarball = buffer.getvalue()
    digest = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()

    def registry(request):
        path = request.target.split("?")[0]
        if path.endswith(".tgz"):
            return web.Response(tarball)
        if path == f"/{package}" or path.lower() == "/@little%2fpackage":
            full = package if "%" not in path else "@little/package"
            entry = {"name": full, "version": version,
                     "dist": {"tarball": f"https://{name}{path}/-/p-{version}.tgz",
                              "integrity": digest,
                              "shasum": hashlib.sha1(tarball).hexdigest()}}
            return web.Response(json.dumps({"name": full, "dist-tags": {"latest": version},
                                            "versions": {version: entry}}),
                                headers=[("Content-Type", "application/json")])
        return web.Response("{}", 404)

    return world.site(name, handler=registry)


def apt_site(world, name, package="little-package"):
    """A mirror over plain http with one package: deb [trusted=yes] http://NAME/ ./"""
    folder = new_folder(world)
    os.makedirs(f"{folder}/p/DEBIAN")
    os.makedirs(f"{folder}/p/usr/share/{package}")
    with open(f"{folder}/p/usr/share/{package}/file", "w", encoding="ascii") as f:
        f.write("installed\n")
    with open(f"{folder}/p/DEBIAN/control", "w", encoding="ascii") as f:
        f.write(f"Package: {package}\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@b.c>\n"
                "Description: a little package\n")
    subprocess.run(["dpkg-deb", "-b", "-Znone", "--root-owner-group", f"{folder}/p",
                    f"{folder}/package.deb"], check=True, capture_output=True)
    with open(f"{folder}/package.deb", "rb") as f:
        deb = f.read()
    packages = (f"Package: {package}\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@b.c>\n"
                f"Filename: ./package.deb\nSize: {len(deb)}\n"
                f"SHA256: {hashlib.sha256(deb).hexdigest()}\nDescription: a little package\n\n")
    release = (f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S UTC', time.gmtime())}\nSHA256:\n"
               f" {hashlib.sha256(packages.encode()).hexdigest()} {len(packages)} Packages\n")
    files = {"/./Packages": packages.encode(), "/./Release": release.encode(),
             "/./package.deb": deb}

    def mirror(request):
        content = files.get(request.target) or files.get("/." + request.target)
        return web.Response(content) if content else web.Response(b"", 404)

    return world.site(name, handler=mirror, https=False)


def echo_tcp(world, address, port):
    """What comes is sent back, and after the client's end the server ends."""
    async def echo(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
    return world.tcp(address, port, echo)


def echo_udp(world, address, port):
    return world.udp(address, port, lambda data, client: data)


def greeter(world, address, port, greeting):
    """A server that speaks first (SMTP, MySQL, FTP control), then echoes lines."""
    async def talk(reader, writer):
        writer.write(greeting)
        try:
            while line := await reader.readline():
                writer.write(b"250 " + line)
                if line.strip().upper() == b"QUIT":
                    break
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()
    return world.tcp(address, port, talk)


def slow_sink(world, address, port):
    """Reads slowly what is sent to it. The list gets ("end" or "reset", octets) for each connection."""
    got = []

    async def slow(reader, writer):
        total = 0
        try:
            while data := await reader.read(1 << 16):
                total += len(data)
                await asyncio.sleep(0.002)
            got.append(("end", total))
        except ConnectionError:
            got.append(("reset", total))
        writer.close()
    world.tcp(address, port, slow)
    return got
