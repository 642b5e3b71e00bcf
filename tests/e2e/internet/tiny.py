# SPDX-License-Identifier: Apache-2.0
"""The smallest packages that pip, npm, cargo and git take, as a site's answers."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
import zipfile

from .web import Response

NAME, VERSION = "tiny-thing", "1.0.0"


def tarball(files):
    """Octets of a .tar.gz of {path: text}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in files.items():
            data = text.encode()
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def npm_tarball(name, version, script):
    return tarball({"package/package.json": json.dumps({"name": name, "version": version}),
                    "package/index.js": script})


def wheel_file(name, version):
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl"


def wheel(name, version, script):
    """Octets of a wheel of one module."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {f"{module}.py": script,
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return out.getvalue()


def pip_package():
    """pip's: simple index and one wheel."""
    file = wheel_file(NAME, VERSION)
    page = f'<!DOCTYPE html><html><body><a href="/files/{file}">{file}</a></body></html>'
    return {f"/simple/{NAME}/": Response(page, headers=[("Content-Type", "text/html")]),
            f"/files/{file}": Response(wheel(NAME, VERSION, "WORD = 'tiny'\n"))}


def npm_package(host):
    """npm's: the packument and the tarball."""
    octets = npm_tarball(NAME, VERSION, "module.exports = 'tiny'\n")
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(octets).digest()).decode()
    version = {"name": NAME, "version": VERSION,
               "dist": {"tarball": f"https://{host}/{NAME}/-/{NAME}-{VERSION}.tgz",
                        "integrity": integrity}}
    packument = {"name": NAME, "dist-tags": {"latest": VERSION}, "versions": {VERSION: version}}
    return {f"/{NAME}": Response(json.dumps(packument), headers=[("Content-Type", "application/json")]),
            f"/{NAME}/-/{NAME}-{VERSION}.tgz": Response(octets)}


def _git(folder, *argv):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
           "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
    subprocess.run(["git", "-c", "init.defaultBranch=main", *argv], cwd=folder, env=env, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def repository(files, path="/repo.git"):
    """A repository as files, which git reads without a program at the far side."""
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        work, bare = f"{folder}/work", f"{folder}/bare"
        os.mkdir(work)
        _git(work, "init")
        for name, text in files.items():
            os.makedirs(os.path.dirname(f"{work}/{name}"), exist_ok=True)
            with open(f"{work}/{name}", "w", encoding="utf-8") as f:
                f.write(text)
        _git(work, "add", ".")
        _git(work, "commit", "-m", "first")
        _git(folder, "clone", "--bare", work, bare)
        _git(bare, "update-server-info")
        for top, _, names in os.walk(bare):
            for name in names:
                with open(f"{top}/{name}", "rb") as f:
                    answers[path + f"{top}/{name}"[len(bare):]] = Response(f.read())
    return answers


def crate(host):
    """cargo's: an index that is a git repository, and one crate."""
    data = tarball({f"{NAME}-{VERSION}/Cargo.toml":
                    f'[package]\nname = "{NAME}"\nversion = "{VERSION}"\nedition = "2021"\n',
                    f"{NAME}-{VERSION}/src/lib.rs": "pub fn word() -> &'static str { \"tiny\" }\n"})
    line = {"name": NAME, "vers": VERSION, "deps": [], "features": {}, "yanked": False,
            "cksum": hashlib.sha256(data).hexdigest()}
    index = {"config.json": json.dumps({"dl": f"https://{host}/crates/{{crate}}.crate"}),
             f"ti/ny/{NAME}": json.dumps(line) + "\n"}
    return {**repository(index, "/index"), f"/crates/{NAME}.crate": Response(data)}


def serve(answers):
    """A site's handler: what is there, and 404."""
    def handler(request):
        return answers.get(request.target.split("?")[0], Response("none\n", 404))
    return handler
