# SPDX-License-Identifier: Apache-2.0
"""An image that is Debian as far as its certificates go: dpkg, the package ca-certificates and what that
needs, of this machine's own files, over what every guest has (guest.py)."""

import functools
import os
import subprocess
import tempfile

from . import guest

PACKAGES = ("ca-certificates", "openssl", "debconf", "perl-base", "dpkg", "tar", "coreutils", "findutils", "sed",
            "grep", "debianutils", "dash", "diffutils")
LEFT_OUT = ("/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/", "/usr/share/lintian/", "/etc/ssl/certs/")
INFO = "/var/lib/dpkg/info"
LOCAL = "/usr/local/share/ca-certificates"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
MOZILLA = "/usr/share/ca-certificates/mozilla/"
DEB = "/ca-certificates.deb"


def missing():
    """The package that this machine has not, or None."""
    for package in PACKAGES:
        if subprocess.run(["dpkg-query", "-s", package], capture_output=True, check=False).returncode:
            return f"{package} is not installed"
    return None


def _said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def _is_spared(path):
    """Of the authorities of the package a few are enough; each is some processes of update-ca-certificates."""
    return path.startswith(MOZILLA) and os.path.basename(path) > "Amazon"


def _files(package):
    """Of the package, where they lie on a machine whose /bin is /usr/bin."""
    return [path for path in _said("dpkg-query", "-L", package).splitlines()
            if not path.startswith(LEFT_OUT) and os.path.lexists(path) and not _is_spared(path) and
            (os.path.islink(path) or not os.path.isdir(path))]


def _add(tree, path):
    to = guest._merged(path)
    if os.path.islink(path):
        tree.files.pop(to, None)
        tree.link(to, os.readlink(path))
    else:
        tree.links.pop(to, None)
        tree.file(to, guest._read(path), os.stat(path).st_mode & 0o777)


def _build_package():
    """The octets of the package as it is installed here."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = os.path.join(scratch, "p")
        os.makedirs(f"{tree}/DEBIAN")
        for path in _files("ca-certificates"):
            os.makedirs(tree + os.path.dirname(path), exist_ok=True)
            subprocess.run(["cp", "-P", path, tree + path], check=True)
        os.makedirs(f"{tree}/etc/ssl/certs")
        for name in "config", "postinst", "postrm", "templates", "triggers":
            subprocess.run(["cp", f"{INFO}/ca-certificates.{name}", f"{tree}/DEBIAN/{name}"], check=True)
        fields = [line for line in _said("dpkg-query", "-s", "ca-certificates").splitlines()
                  if not line.startswith("Status:")]
        with open(f"{tree}/DEBIAN/control", "w", encoding="utf-8") as out:
            out.write("\n".join(fields) + "\n")
        subprocess.run(["dpkg-deb", "-b", "-Znone", "--root-owner-group", tree, f"{scratch}/p.deb"], check=True,
                       stdout=subprocess.DEVNULL)
        return guest._read(f"{scratch}/p.deb")


@functools.lru_cache(maxsize=1)
def _base():
    tree = guest._base().copy()
    for package in PACKAGES:
        for path in _files(package):
            _add(tree, path)
    programs = [path for path in tree.files if path.startswith("/usr/bin/") and os.path.exists(path)]
    for library in guest._libraries(programs):
        if guest._merged(library) not in tree.files:
            tree.file(guest._merged(library), guest._read(library), 0o755)
    tree.file("/usr/sbin/ldconfig", "#!/bin/sh\n", 0o755)
    tree.file("/usr/sbin/start-stop-daemon", "#!/bin/sh\n", 0o755)
    tree.file("/var/lib/dpkg/status", _said("dpkg-query", "-s", *PACKAGES))
    for folder in "info", "updates", "triggers", "parts", "alternatives":
        tree.folder(f"/var/lib/dpkg/{folder}")
    for folder in "/var/cache/debconf", "/var/log", "/var/lib/dpkg/info":
        tree.folder(folder)
    for package in PACKAGES:
        tree.file(f"{INFO}/{package}.list", "".join(f"{path}\n" for path in _files(package)))
    tree.file(DEB, _build_package())
    tree.file("/etc/ca-certificates.conf", "".join(
        f"mozilla/{os.path.basename(path)}\n" for path in _files("ca-certificates") if path.startswith(MOZILLA)))
    tree.file("/etc/debconf.conf", guest._read("/etc/debconf.conf"))
    return tree


def tree(authority_pem):
    """A guest.Tree that trusts that authority alone, as one of its administrator's, and has no hashed name of it."""
    made = _base().copy()
    made.file(f"{LOCAL}/little-internet.crt", authority_pem)
    made.file(BUNDLE, authority_pem)
    made.link("/usr/lib/ssl/certs", "/etc/ssl/certs")
    return made
