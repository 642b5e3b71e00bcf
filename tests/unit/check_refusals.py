#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_refusals.py ANSWER_REFUSED: real clients show a person what was refused and what allows it.

A small server answers with the octets that the broker would; what the broker admits is answered by
git's own http-backend. It stands in a network namespace of its own, where only loopback is.
Prints lines like a cmocka program, one for each check.
"""

import http.server
import os
import pathlib
import socketserver
import subprocess
import sys
import tempfile
import threading

ANSWER_REFUSED = os.path.abspath(sys.argv[1])
_OWN = ("ip link set lo up && mount --bind \"$SANDGATE_OWN_HOSTS\" /etc/hosts && exec \"$0\" \"$@\"")
_CHECKS = []

GITHUB = "network: deny\npermissions: [github]\n"
SIGN_IN = "network: deny\npermissions: [sign-in]\n"
NODE = "network: deny\npermissions: [install:node]\n"
PUBLISH_PYTHON = "network: deny\npermissions: [publish:python]\n"
MODEL = "network: deny\npermissions: [model:anthropic]\n"


def enter_namespace():
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
        hosts.write("127.0.0.1 localhost github.localhost api.github.localhost\n")
        hosts.flush()
        os.chmod(hosts.name, 0o644)
        words = ["unshare", "-n", "-m"] + ([] if os.geteuid() == 0 else ["-r"])
        env = dict(os.environ, SANDGATE_OWN_HOSTS=hosts.name)
        done = subprocess.run(words + ["sh", "-c", _OWN, sys.executable, *sys.argv], env=env,
                              check=False)
    sys.exit(done.returncode)


def check(work):
    _CHECKS.append(work)
    return work


def read_chunks(stream):
    body = b""
    while size := int(stream.readline(), 16):
        body += stream.read(size)
        stream.readline()
    stream.readline()
    return body


class Handler(http.server.BaseHTTPRequestHandler):
    """What a request would get whose host is that of the server, and not loopback."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *words):  # pylint: disable=arguments-differ
        pass

    def body(self):
        if self.headers.get("transfer-encoding") == "chunked":
            return read_chunks(self.rfile)
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def refusal(self):
        head = f"{self.command} {self.path} HTTP/1.1\r\nhost: {self.server.host}\r\n"
        head += "".join(f"{k}: {v}\r\n" for k, v in self.headers.items() if k.lower() != "host")
        done = subprocess.run([ANSWER_REFUSED, self.server.policy],
                              input=(head + "\r\n").encode(), capture_output=True, check=True)
        return done.stdout

    def git(self, body):
        path, _, query = self.path.partition("?")
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.server.folder,
               "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command, "PATH_INFO": path,
               "QUERY_STRING": query, "REMOTE_USER": "me", "CONTENT_LENGTH": str(len(body)),
               "CONTENT_TYPE": self.headers.get("content-type", ""),
               "GIT_PROTOCOL": self.headers.get("git-protocol", ""), "HOME": self.server.folder}
        head, _, rest = subprocess.run(["git", "http-backend"], env=env, input=body,
                                       capture_output=True, check=True
                                       ).stdout.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.send_response(200)
        for line in lines:
            self.send_header(*line.split(": ", 1))
        self.send_header("content-length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def answer(self):
        body = self.body()
        self.server.seen.append((self.command, self.path, len(body)))
        # A policy that changed between two requests of one client: the first of them passed.
        early = self.server.late and "/info/refs" in self.path
        refusal = b"" if early else self.refusal()
        if refusal:
            self.wfile.write(refusal)
            self.close_connection = True
        else:
            self.git(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Place:
    """A server for one host under one policy, and a folder with a repository to work in."""

    def __init__(self, host, policy, late=False, port=0):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.host, self.server.policy, self.server.late = host, policy, late
        self.server.folder, self.server.seen = str(self.folder), []
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.server.shutdown()
        self.server.server_close()
        self.temporary.cleanup()

    def run(self, *words, **more):
        env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.folder), "LC_ALL": "C",
               "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "NO_COLOR": "1",
               "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
               "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com", **more}
        return subprocess.run(words, env=env, cwd=self.folder, capture_output=True, text=True,
                              timeout=60, check=False)

    def make_repository(self):
        """r.git has a commit, and work/ one more, with a file that does not compress."""
        self.run("git", "init", "-q", "-b", "main", "work")
        (self.folder / "work" / "a").write_text("a\n")
        for words in (["init", "-q", "--bare", "-b", "main", "../r.git"], ["add", "a"],
                      ["commit", "-q", "-m", "one"], ["push", "-q", "../r.git", "main"]):
            assert self.run("git", "-C", "work", *words).returncode == 0
        (self.folder / "work" / "b").write_bytes(os.urandom(200_000))
        for words in (["add", "b"], ["commit", "-q", "-m", "two"]):
            assert self.run("git", "-C", "work", *words).returncode == 0


def expect(done, *pieces):
    shown = done.stdout + done.stderr
    assert done.returncode != 0, f"it succeeded: {shown}"
    for piece in pieces:
        assert piece in shown, f"{piece!r} is not in:\n{shown}"


TO_PUSH = "permission github:push is for it (push); to allow it: sandgate net allow demo github:push"
TO_CLONE = "to allow it: sandgate net allow demo github"


@check
def git_push_is_refused_when_it_asks():
    with Place("github.com", GITHUB) as place:
        place.make_repository()
        done = place.run("git", "-C", "work", "push", f"{place.url}/r.git", "main")
        expect(done, "remote: sandgate: GET github.com/r.git/info/refs: ",
               "to allow it: sandgate net allow demo github:push\n", "error: 403")
        assert [m for m, _, _ in place.server.seen] == ["GET"]


@check
def git_clone_and_fetch_are_refused_when_they_ask():
    with Place("github.com", SIGN_IN) as place:
        place.make_repository()
        for words in (["clone", f"{place.url}/r.git", "copy"],
                      ["-C", "work", "fetch", f"{place.url}/r.git"]):
            expect(place.run("git", *words), "remote: sandgate: GET github.com/r.git/info/refs: ",
                   TO_CLONE + "\n", "error: 403")


@check
def git_clone_passes_where_it_is_allowed():
    with Place("github.com", GITHUB) as place:
        place.make_repository()
        done = place.run("git", "clone", "-q", f"{place.url}/r.git", "copy")
        assert done.returncode == 0, done.stderr
        assert (place.folder / "copy" / "a").read_text() == "a\n"


@check
def git_clone_is_refused_when_it_fetches():
    with Place("github.com", SIGN_IN, late=True) as place:
        place.make_repository()
        for version in ("0", "2"):
            done = place.run("git", "-c", f"protocol.version={version}", "clone",
                             f"{place.url}/r.git", "copy")
            expect(done, "fatal: remote error: sandgate: POST github.com/r.git/git-upload-pack: ",
                   TO_CLONE)


@check
def git_push_is_refused_when_it_sends():
    with Place("github.com", GITHUB, late=True) as place:
        place.make_repository()
        done = place.run("git", "-C", "work", "push", f"{place.url}/r.git", "main")
        expect(done, "remote: sandgate: POST github.com/r.git/git-receive-pack: ", TO_PUSH + "\n")


@check
def git_push_of_much_is_refused_at_its_probe_and_at_its_pack():
    with Place("github.com", GITHUB, late=True) as place:
        place.make_repository()
        done = place.run("git", "-C", "work", "-c", "http.postBuffer=70000", "push",
                         f"{place.url}/r.git", "main")
        expect(done, "remote: sandgate: POST github.com/r.git/git-receive-pack: ", TO_PUSH + "\n")
        sent = [n for m, _, n in place.server.seen if m == "POST"]
        assert sent[0] == 4, f"no probe came before the pack: {place.server.seen}"


@check
def npm_publish_is_refused():
    host = ".".join(["registry", "npmjs", "org"])
    with Place(host, NODE) as place:
        (place.folder / "package.json").write_text('{"name":"sg-left-pad","version":"1.0.0"}')
        (place.folder / ".npmrc").write_text(f"{place.url[5:]}/:_authToken=x\n"
                                             "update-notifier=false\nfetch-retries=0\n")
        done = place.run("npm", "publish", "--registry", f"{place.url}/", "--force")
        expect(done, f"403 Forbidden - PUT {place.url}/sg-left-pad - sandgate: PUT ",
               "to allow it: sandgate net allow demo publish:node")


@check
def pip_and_wget_show_the_phrase():
    with Place("pypi.org", PUBLISH_PYTHON) as place:
        done = place.run("pip3", "download", "--no-cache-dir", "--disable-pip-version-check",
                         "--retries", "0", f"{place.url}/packages/a-1.0.tar.gz",
                         PIP_BREAK_SYSTEM_PACKAGES="1")
        expect(done, "403 Client Error: sandgate: GET pypi.org/packages/a-1.0.tar.gz: ",
               "to allow it: sandgate net allow demo install:python for url")
        expect(place.run("wget", "-nv", f"{place.url}/simple/"),
               "ERROR 403: sandgate: GET pypi.org/simple/: ")


@check
def curl_and_wget_show_the_body():
    with Place("api.anthropic.com", MODEL) as place:
        done = place.run("curl", "-sS", "-D", "-", "-d", "x", f"{place.url}/v1/files")
        assert "sandgate-reason: operation-not-allowed" in done.stdout, done.stdout
        assert "sandgate: POST api.anthropic.com/v1/files: " in done.stdout, done.stdout
        assert "; no permission is for it" in done.stdout, done.stdout
        expect(place.run("curl", "-sS", "-f", "-d", "x", f"{place.url}/v1/files"), "403")
        expect(place.run("wget", "-q", "-O", "-", "--content-on-error", "--post-data=x",
                         f"{place.url}/v1/files"), "sandgate: POST api.anthropic.com/v1/files: ")


@check
def gh_shows_the_line():
    with Place("api.github.com", GITHUB, port=80) as place:
        token = {"GH_HOST": "github.localhost", "GH_ENTERPRISE_TOKEN": "x", "GH_TOKEN": "x"}
        for words in (["api", "-X", "POST", "gists"],
                      ["api", "graphql", "-f", "query=mutation{a}"]):
            expect(place.run("gh", *words, **token), "gh: sandgate: POST api.github.com/",
                   "to allow it: sandgate net allow demo github:push (HTTP 403)")


def main():
    failed = 0
    for work in _CHECKS:
        print(f"[ RUN      ] {work.__name__}", flush=True)
        try:
            work()
            print(f"[       OK ] {work.__name__}", flush=True)
        except (AssertionError, subprocess.SubprocessError, OSError) as e:
            failed += 1
            print(f"{e}\n[  FAILED  ] {work.__name__}", flush=True)
    return 1 if failed or not _CHECKS else 0


if __name__ == "__main__":
    if "SANDGATE_OWN_HOSTS" not in os.environ:
        enter_namespace()
    sys.exit(main())
