# SPDX-License-Identifier: Apache-2.0
"""A broker as a process with servers of a test behind it, over the loopback."""

import contextlib
import json
import os
import queue
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from internet.pki import Authority

PATIENCE = 60
NAME = "api.example.net"
ALLOW = f"network: deny\nallow: [{NAME}]\ninspect: all\n"


def until(condition, seconds=PATIENCE):
    """Polls; a generous bound and no timing."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.01)


class Server:
    """Calls handler(connection) in a thread for each connection; with a context over TLS."""

    def __init__(self, handler, context=None):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        self.failed_handshakes = 0
        self._handler, self._context = handler, context
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError), connection:
            if self._context:
                try:
                    connection = self._context.wrap_socket(connection, server_side=True,
                                                           suppress_ragged_eofs=False)
                except OSError:
                    self.failed_handshakes += 1
                    return
            self._handler(connection)
            connection.close()

    def close(self):
        # A thread in accept() does not see close().
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def read_head(connection, rest=b""):
    """(head, what came behind it); (b"", b"") at the end."""
    while b"\r\n\r\n" not in rest:
        more = connection.recv(65536)
        if not more:
            return b"", b""
        rest += more
    head, rest = rest.split(b"\r\n\r\n", 1)
    return head + b"\r\n\r\n", rest


def read_exactly(connection, n, rest=b""):
    while len(rest) < n:
        more = connection.recv(65536)
        if not more:
            raise ConnectionError("the end came in the middle")
        rest += more
    return rest[:n], rest[n:]


def echo(connection):
    """HTTP/1.1, kept alive: what came of the request comes back as the body."""
    rest = b""
    while True:
        head, rest = read_head(connection, rest)
        if not head:
            return
        body = b""
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                body, rest = read_exactly(connection, int(line.split(b":")[1]), rest)
        told = head + body
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(told), told))


def head_of(n):
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % n


def get(path="/", name=NAME, fields=b""):
    return f"GET {path} HTTP/1.1\r\nhost: {name}\r\n".encode() + fields + b"\r\n"


def answer_of(connection, rest=b""):
    """(status, head, body, rest) of one answer with a length."""
    head, rest = read_head(connection, rest)
    assert head, "the connection ended instead of an answer"
    length = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
              if line.startswith(b"content-length:")]
    body, rest = read_exactly(connection, length[0] if length else 0, rest)
    return int(head.split(b" ")[1]), head.lower(), body, rest


class Nghttpd:
    """nghttpd, which echoes what is uploaded."""

    def __init__(self, authority, folder, *options):
        certificate, key = authority.issue([NAME])
        for name, text in [("cert.pem", certificate), ("key.pem", key)]:
            with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                f.write(text)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._process = subprocess.Popen(
            ["nghttpd", "-a", "127.0.0.1", "-d", folder, *options, str(self.port),
             f"{folder}/key.pem", f"{folder}/cert.pem"], stdout=subprocess.DEVNULL)

        def is_up():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.port)) == 0
        until(is_up)

    def close(self):
        self._process.kill()
        self._process.wait()


class Broker:
    """sites: (name, port, "tls" or "plain", port of the server); `ports` are for clients, in that order.

    patience: milliseconds that differ from the usual ones, by the names of src/broker/patience.h.
    """

    def __init__(self, program, bundle, policy, sites, patience, wrapper=None):
        self.expected_status = 0  # as wait() has it
        self.folder = tempfile.mkdtemp(prefix="sandgate-broker-")
        argv = [os.path.join(os.path.dirname(program), "tests", "broker", "broker_program"),
                self.write("bundle.pem", bundle), self.write("policy.yaml", policy)]
        argv += [":".join(map(str, site)) for site in sites]
        if wrapper:
            # For another user, who need not reach the build.
            argv[0] = shutil.copy(argv[0], self.folder)
            os.chmod(self.folder, 0o755)
            argv = wrapper(argv)
        # No pipe to a log: what the sanitizers say is to be seen.
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, env={**os.environ, **{
                                             f"PATIENCE_{what.upper()}": str(ms)
                                             for what, ms in patience.items()}})
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.first = ready = self.await_line()
        self.pid, self.ports = None, []
        if ready["op"] == "failed" and wrapper:
            self.expected_status = 1 << 8
            return
        assert ready["op"] == "ready", ready
        self.pid, self.ports = ready["pid"], ready["ports"]
        self.authority = self.write("authority.pem", ready["authority"])
        self.authorities = ready["authority"].count("BEGIN CERTIFICATE")

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(json.loads(line))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def await_line(self):
        return self._lines.get(timeout=PATIENCE)

    def say(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def ask(self, op):
        self.say(json.dumps({"op": op}))
        return self.await_line()

    def set_policy(self, text, generation):
        path = self.write(f"policy-{generation}.yaml", text)
        self.say(f"policy {path} {generation}")
        answer = self.await_line()
        while answer["op"] == "authority":
            self.authority = self.write("authority.pem", answer["authority"])
            self.authorities = answer["authority"].count("BEGIN CERTIFICATE")
            answer = self.await_line()
        return answer

    def records(self):
        self.say("records")
        rows = []
        while (row := self.await_line())["op"] == "record":
            rows.append(row)
        return rows

    def await_records(self, n):
        rows = []
        until(lambda: rows.extend(self.records()) or len(rows) >= n)
        return rows

    def close(self):
        """The exit status of the broker, as wait() has it."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        while (row := self.await_line())["op"] != "ended":
            pass
        self._process.wait(PATIENCE)
        shutil.rmtree(self.folder)
        return row["status"]

    # --- clients ---

    def connect(self, site=0):
        return socket.create_connection(("127.0.0.1", self.ports[site]), PATIENCE)

    def connect_tls(self, name=NAME, site=0, alpn=("http/1.1",)):
        context = ssl.create_default_context(cafile=self.authority)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context.wrap_socket(self.connect(site), server_hostname=name,
                                   suppress_ragged_eofs=False)

    def curl(self, *argv, name=NAME, site=0, port=443, **kwargs):
        command = ["curl", "-sS", "--cacert", self.authority, "--noproxy", "*", "--max-time", "120",
                   "--connect-to", f"{name}:{port}:127.0.0.1:{self.ports[site]}", *argv]
        return subprocess.run(command, capture_output=True, timeout=150, check=False, **kwargs)

    # --- the process ---

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def holds(self, octets):
        """The regions of its memory with these octets in them, but for what is locked (and empty in a child)."""
        found, region = [], None
        with open(f"/proc/{self.pid}/smaps", encoding="ascii") as f:
            for line in f:
                fields = line.split()
                if "-" in fields[0] and not fields[0].endswith(":"):
                    region = fields
                elif fields[0] == "VmFlags:" and "wf" not in fields and "rd" in fields:
                    start, end = (int(x, 16) for x in region[0].split("-"))
                    if end - start > 1 << 30:  # the shadow of the sanitizers
                        continue
                    with contextlib.suppress(OSError), open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
                        memory.seek(start)
                        if octets in memory.read(end - start):
                            found.append(" ".join(region))
        return found

    def rss(self):
        """Octets."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")


class Rig:
    """Servers and brokers of one test, ended with it."""

    def __init__(self, program):
        self._program = program
        self.authority = Authority()
        self._open = []

    def server(self, handler, names=(NAME,), alpn=("http/1.1",), context=None):
        s = Server(handler, context or self.authority.server_context(list(names), alpn))
        self._open.append(s)
        return s

    def plain_server(self, handler):
        s = Server(handler)
        self._open.append(s)
        return s

    def nghttpd(self, folder, *options):
        s = Nghttpd(self.authority, folder, *options)
        self._open.append(s)
        return s

    def broker(self, *sites, policy=ALLOW, bundle=None, wrapper=None, **patience):
        b = Broker(self._program, bundle or self.authority.pem, policy, sites, patience, wrapper)
        self._open.append(b)
        return b

    def broker_for(self, server, **kwargs):
        return self.broker((NAME, 443, "tls", server.port), **kwargs)

    def close(self):
        for what in reversed(self._open):
            status = what.close()
            assert not status or status == what.expected_status, f"the broker ended with {status:#x}"
