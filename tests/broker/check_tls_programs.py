#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The broker's TLS with real programs at the other end, over the loopback of a namespace of its own,
where a port that was free stays so.

    check_tls_programs.py TLS_PROGRAM
"""

import contextlib
import datetime
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NAME = "api.example.net"
PROGRAM = ""
PATIENCE = 30
_OWN = "ip link set lo up && exec \"$0\" \"$@\""


def enter_namespace():
    os.environ["SANDGATE_OWN_LOOPBACK"] = "1"
    os.execvp("unshare", ["unshare", "-n", *([] if os.geteuid() == 0 else ["-r"]), "sh", "-c", _OWN,
                          sys.executable, *sys.argv])


def run(argv, **kwargs):
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=PATIENCE, check=False, **kwargs)
    return done.returncode, done.stdout


# --- the sandbox's side: clients of tls_program accept ---


class Door:
    """tls_program accept, its port and its authority's certificate."""

    def __init__(self, folder, alpn, *constraints):
        self._process = subprocess.Popen([PROGRAM, "accept", alpn, NAME, *constraints],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        pem = ""
        while not (line := self._process.stdout.readline()).startswith("port "):
            assert line, "tls_program ended"
            pem += line
        self.port = int(line.split()[1])
        self.ca = str(folder / f"ca-{self.port}.pem")
        pathlib.Path(self.ca).write_text(pem)

    def said(self):
        return self._process.stdout.readline().strip()

    def close(self):
        self._process.stdin.close()
        rest = self._process.stdout.read()
        self._process.stdout.close()
        assert self._process.wait(PATIENCE) == 0, rest


def ask_curl(door, *options):
    return run(["curl", "-sS", "--cacert", door.ca, "--resolve", f"{NAME}:{door.port}:127.0.0.1",
                *options, f"https://{NAME}:{door.port}/"])


def ask_openssl(door, *options, request="GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
    return run(["openssl", "s_client", "-connect", f"127.0.0.1:{door.port}", "-CAfile", door.ca,
                "-servername", NAME, "-verify_hostname", NAME, "-verify_return_error",
                "-ign_eof", *options], stdin=None, input=request)


def ask_gnutls(door, *options):
    return run(["gnutls-cli", f"--x509cafile={door.ca}", f"--sni-hostname={NAME}",
                f"--verify-hostname={NAME}", *options, "-p", str(door.port), "127.0.0.1"],
               stdin=None, input="GET / HTTP/1.1\r\n\r\n")


def ask_python(door, alpn=None, name=NAME):
    context = ssl.create_default_context(cafile=door.ca)
    if alpn:
        context.set_alpn_protocols(alpn)
    with socket.create_connection(("127.0.0.1", door.port), PATIENCE) as plain:
        with context.wrap_socket(plain, server_hostname=name) as s:
            s.sendall(b"GET / HTTP/1.1\r\n\r\n")
            answer = b""
            while octets := s.recv(4096):
                answer += octets
            return answer.decode()


NODE = """
const https = require('https');
https.get({host: '127.0.0.1', port: %d, servername: '%s', headers: {host: '%s'},
           ALPNProtocols: ['http/1.1'],
           ca: require('fs').readFileSync('%s')},
          r => r.on('data', d => process.stdout.write(d)))
     .on('error', e => { console.log(e.code); process.exit(1); });
"""


def ask_node(door):
    return run(["node", "-e", NODE % (door.port, NAME, NAME, door.ca)])


# --- the internet's side: servers for tls_program connect ---


class Pki:
    def __init__(self, folder, label):
        self._folder, self._label, self._count = folder, label, 0
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{label} CA")])
        certificate = self._sign(self._name, self._key, True, [], -1, 30)
        self.bundle = str(folder / f"{label}.pem")
        pathlib.Path(self.bundle).write_bytes(
            certificate.public_bytes(serialization.Encoding.PEM))

    def _sign(self, subject, key, authority, names, start, end, issuer=None, by=None):
        now = datetime.datetime.utcnow()
        builder = (x509.CertificateBuilder().subject_name(subject)
                   .issuer_name(issuer or self._name).public_key(key.public_key())
                   .serial_number(x509.random_serial_number())
                   .not_valid_before(now + datetime.timedelta(days=start))
                   .not_valid_after(now + datetime.timedelta(days=end))
                   .add_extension(x509.BasicConstraints(authority, None), True))
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), False)
            builder = builder.add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        return builder.sign(by or self._key, hashes.SHA256())

    def issue(self, name=NAME, start=-1, end=10, self_signed=False):
        """The options of openssl s_server for a certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        certificate = self._sign(subject, key, False, [name], start, end,
                                 *((subject, key) if self_signed else ()))
        self._count += 1
        path = self._folder / f"{self._label}-{self._count}"
        path.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                              serialization.NoEncryption())
            + certificate.public_bytes(serialization.Encoding.PEM))
        return str(path)


def validity(pem):
    """The days from which and to which the certificate is valid, as it says itself."""
    text = pathlib.Path(pem).read_bytes()
    certificate = x509.load_pem_x509_certificate(text[text.index(b"-----BEGIN CERTIFICATE"):])
    return [day.strftime("%Y-%m-%d") for day in (certificate.not_valid_before, certificate.not_valid_after)]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_port(port):
    """Until it listens; not by connecting, which the server would count as a client."""
    wanted = f"0100007F:{port:04X}"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            if state == "0A" and local in (wanted, f"00000000:{port:04X}"):
                return
        for line in pathlib.Path("/proc/net/tcp6").read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            if state == "0A" and local.endswith(f":{port:04X}"):
                return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port}")


@contextlib.contextmanager
def server(argv):
    """A server program; what it printed is in `said` after the block."""
    said = []
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    try:
        yield said
    finally:
        process.terminate()
        said.append(process.communicate(timeout=PATIENCE)[0])


def s_server(port, pem, *options):
    return ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", pem, "-key", pem,
            "-www", *options]


def visit(pki, port, alpn="http/1.1", times=1):
    status, said = run([PROGRAM, "connect", pki.bundle, alpn, NAME, *[str(port)] * times])
    assert status == 0, said
    return said.splitlines()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._temporary = tempfile.TemporaryDirectory(prefix="sandgate-tls-")
        cls.folder = pathlib.Path(cls._temporary.name)
        cls.addClassCleanup(cls._temporary.cleanup)
        cls.pki = Pki(cls.folder, "rig")

    def door(self, alpn, *constraints):
        door = Door(self.folder, alpn, *constraints)
        self.addCleanup(door.close)
        return door


class Clients(Case):
    """Each with and without constrained names, for the exact name and for one above it."""

    def doors(self, alpn="http/1.1"):
        for constraints in ((), (NAME,), ("*.example.net",), ("other.example", NAME)):
            yield self.door(alpn, *constraints)

    def test_curl(self):
        for door in self.doors():
            self.assertEqual(ask_curl(door), (0, "alpn=http/1.1 resumed=0\n"))

    def test_openssl(self):
        for door in self.doors():
            for version in ("-tls1_2", "-tls1_3"):
                status, said = ask_openssl(door, version, "-alpn", "h2,http/1.1")
                self.assertEqual(status, 0, said)
                self.assertIn("Verify return code: 0 (ok)", said)
                self.assertIn("ALPN protocol: http/1.1", said)
                self.assertIn("alpn=http/1.1 resumed=0", said)

    def test_gnutls(self):
        for door in self.doors():
            for version in ("1.2", "1.3"):
                status, said = ask_gnutls(door, "--alpn=http/1.1",
                                          f"--priority=NORMAL:-VERS-ALL:+VERS-TLS{version}")
                self.assertEqual(status, 0, said)
                self.assertIn("Status: The certificate is trusted.", said)
                self.assertIn("alpn=http/1.1 resumed=0", said)

    def test_python(self):
        for door in self.doors():
            self.assertIn("alpn=http/1.1", ask_python(door, ["h2", "http/1.1"]))
            self.assertIn("alpn=none", ask_python(door))

    def test_node(self):
        for door in self.doors():
            self.assertEqual(ask_node(door), (0, "alpn=http/1.1 resumed=0\n"))

    def test_each_holds_the_authority_to_its_names(self):
        """A certificate that only a stolen key could sign: for a name that is not among them."""
        for constraint, believed in ((NAME, True), ("other.example", False)):
            _, made = run([PROGRAM, "beyond", constraint, NAME])
            port, pem = free_port(), self.folder / f"beyond-{constraint}"
            pem.write_text(made)
            ca = self.folder / f"beyond-{constraint}-ca"
            ca.write_text(made[made.rindex("-----BEGIN CERTIFICATE"):])
            door = types.SimpleNamespace(port=port, ca=str(ca))
            with server(s_server(port, str(pem))):
                wait_for_port(port)
                for ask in (ask_curl, ask_openssl, ask_gnutls, ask_node):
                    with self.subTest(client=ask.__name__, constraint=constraint):
                        status, said = ask(door)
                        self.assertEqual(status == 0, believed, said)
                if believed:
                    self.assertIn("HTTP/1.0 200", ask_python(door))
                else:
                    with self.assertRaises(ssl.SSLCertVerificationError):
                        ask_python(door)

    def test_http2_is_agreed_to_when_the_server_speaks_it(self):
        door = self.door("h2")
        self.assertIn("ALPN protocol: h2", ask_openssl(door, "-alpn", "h2,http/1.1")[1])
        self.assertIn("no application protocol", ask_openssl(door, "-alpn", "http/1.1")[1])
        door.said()
        self.assertEqual(door.said(), "failed: the client does not offer the protocol that the "
                                      "server speaks")

    def test_a_session_is_resumed(self):
        for version in ("-tls1_2", "-tls1_3"):
            with self.subTest(version=version):
                door = self.door("http/1.1")
                session = str(self.folder / f"session{version}")
                self.assertIn("resumed=0", ask_openssl(door, version, "-sess_out", session)[1])
                said = ask_openssl(door, version, "-sess_in", session)[1]
                self.assertIn("resumed=1", said)
                self.assertIn("Reused, TLSv1", said)

    def test_a_client_without_the_authority_is_told_apart(self):
        # Node says nothing: it looks at the certificate when its handshake is done, and closes.
        for ask in (ask_curl, ask_openssl, ask_gnutls):
            with self.subTest(client=ask.__name__):
                door = self.door("http/1.1")
                door.ca = self.pki.bundle
                self.assertNotEqual(ask(door)[0], 0)
                self.assertEqual(door.said(),
                                 "failed: the client does not trust the sandbox's authority")

    def test_a_client_for_another_name_is_refused(self):
        door = self.door("http/1.1")
        with self.assertRaises(ssl.SSLError):
            ask_python(door, name="evil.example")
        self.assertEqual(door.said(), "failed: the client asks for another server name than it "
                                      "connected to")

    def test_a_client_that_knows_rsa_only_is_told_apart(self):
        door = self.door("http/1.1")
        self.assertNotEqual(ask_openssl(door, "-tls1_2", "-cipher",
                                        "ECDHE-RSA-AES128-GCM-SHA256")[0], 0)
        self.assertEqual(door.said(), "failed: the client has no cipher, curve or signature that "
                                      "goes with ECDSA P-256")


class Servers(Case):
    def assert_why(self, why, pem, *options):
        port = free_port()
        with server(s_server(port, pem, *options)) as said:
            wait_for_port(port)
            self.assertEqual(visit(self.pki, port), [f"failed: {why}"])
        self.assertNotIn("GET /", said[0])

    def test_a_wrong_certificate_is_told(self):
        stranger = Pki(self.folder, "stranger")
        issue = self.pki.issue
        past, future = issue(start=-9, end=-3), issue(start=3, end=9)
        for why, pem in (
                (f"its certificate expired on {validity(past)[1]}", past),
                (f"its certificate is not valid before {validity(future)[0]}", future),
                ("its certificate is for another name (wrong.example)",
                 issue(name="wrong.example")),
                ("its certificate is self-signed", issue(self_signed=True)),
                ("its certificate is from an authority that this host does not trust",
                 stranger.issue())):
            for version in ("-tls1_2", "-tls1_3"):
                with self.subTest(why=why, version=version):
                    self.assert_why(why, pem, version)

    def test_a_server_that_will_not_is_told(self):
        pem = self.pki.issue()
        self.assert_why("it speaks no version of TLS newer than 1.1", pem, "-tls1_1",
                        "-cipher", "DEFAULT@SECLEVEL=0")
        self.assert_why("it refused the TLS handshake", pem, "-tls1_2", "-cipher",
                        "ECDHE-RSA-AES128-GCM-SHA256")
        self.assert_why("it refused the TLS handshake", pem, "-tls1_2", "-Verify", "1")

    def test_what_asks_for_a_certificate_of_the_client_is_told(self):
        """In TLS 1.3 it says so when the handshake is done for us, and a request may be on its way."""
        port = free_port()
        with server(s_server(port, self.pki.issue(), "-tls1_3", "-Verify", "1")):
            wait_for_port(port)
            self.assertEqual(visit(self.pki, port),
                             ["failed: it asks for a certificate of the client"])

    def plain(self, octets):
        """A server that says these octets whatever it is told; gives its port."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(PATIENCE)
        self.addCleanup(listener.close)

        def answer():
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(octets)
                connection.recv(4096)

        thread = threading.Thread(target=answer)
        thread.start()
        self.addCleanup(thread.join)
        return listener.getsockname()[1]

    def test_plaintext_is_told(self):
        for octets in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"220 mail ESMTP\r\n"):
            self.assertEqual(visit(self.pki, self.plain(octets)),
                             ["failed: it says something that is not TLS"])

    def test_an_early_end_is_told(self):
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(PATIENCE)
        self.addCleanup(listener.close)

        def hang_up():
            connection, _ = listener.accept()
            connection.recv(4096)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        self.addCleanup(thread.join)
        self.assertEqual(visit(self.pki, listener.getsockname()[1]),
                         ["failed: it closed the connection in the TLS handshake"])

    def test_openssl(self):
        for version in ("-tls1_2", "-tls1_3"):
            port = free_port()
            with self.subTest(version=version), \
                    server(s_server(port, self.pki.issue(), version)):
                wait_for_port(port)
                said = visit(self.pki, port, times=3)
                self.assertRegex(said[0], r"^done alpn=none resumed=0 \d\d+ octets$")
                for line in said[1:]:
                    self.assertRegex(line, r"^done alpn=none resumed=1 \d\d+ octets$")

    def test_alpn_with_openssl(self):
        for options, offered, agreed in ((("-alpn", "h2,http/1.1"), "h2", "h2"),
                                         (("-alpn", "h2,http/1.1"), "http/1.1", "http/1.1"),
                                         (("-alpn", "http/1.1"), "h2", "http/1.1")):
            port = free_port()
            with self.subTest(options=options, offered=offered), \
                    server(s_server(port, self.pki.issue(), *options)):
                wait_for_port(port)
                self.assertRegex(visit(self.pki, port, offered)[0],
                                 rf"^done alpn={agreed} resumed=0 \d\d+ octets$")

    def test_gnutls(self):
        port, pem = free_port(), self.pki.issue("*.example.net")
        with server(["gnutls-serv", "--http", "-q", "-p", str(port), "--x509certfile", pem,
                     "--x509keyfile", pem]):
            wait_for_port(port)
            said = visit(self.pki, port, times=2)
            self.assertRegex(said[0], r"^done alpn=\S+ resumed=0 \d\d+ octets$")
            self.assertRegex(said[1], r"^done alpn=\S+ resumed=1 \d\d+ octets$")


if __name__ == "__main__":
    if "SANDGATE_OWN_LOOPBACK" not in os.environ:
        enter_namespace()
    PROGRAM = sys.argv.pop(1)
    unittest.main()
