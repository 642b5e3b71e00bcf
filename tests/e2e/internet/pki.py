# SPDX-License-Identifier: Apache-2.0
"""A certificate authority that only the little internet trusts."""

import datetime
import ssl
import tempfile
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


class Authority:
    def __init__(self, days=30):
        """Negative days: expired."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _name("Little Internet Test CA")
        self._certificate = self._sign(
            self._subject, self._key, [(x509.BasicConstraints(ca=True, path_length=0), True),
                                       (x509.KeyUsage(False, False, False, False, False, True, True,
                                                      False, False), True)], days)
        self.pem = self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def _sign(self, subject, key, extensions, days=30):
        now = datetime.datetime.utcnow()
        builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(self._subject)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(days=2))
                   .not_valid_after(now + datetime.timedelta(days=days)))
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        for extension, critical in [*extensions, (identifier, False), (own, False)]:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256())

    def issue(self, names, days=30):
        """(certificate, key), both PEM text, for names and addresses; negative days: expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = []
        for name in names:
            try:
                alternatives.append(x509.IPAddress(ip_address(name)))
            except ValueError:
                alternatives.append(x509.DNSName(name))
        certificate = self._sign(_name(names[0]), key, [
            (x509.SubjectAlternativeName(alternatives), False),
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), False)], days)
        return certificate.public_bytes(serialization.Encoding.PEM).decode(), _pem(key).decode()

    def server_context(self, names, alpn=("http/1.1",), days=30):
        """An ssl context that serves a certificate for `names`."""
        certificate, key = self.issue(names, days)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as f:
            f.write(certificate + key)
            f.flush()
            context.load_cert_chain(f.name)
        context.set_alpn_protocols(list(alpn))
        return context
