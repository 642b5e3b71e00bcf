# SPDX-License-Identifier: Apache-2.0
# Helpers for the code that tests run inside the sandbox; each test prints one JSON line.
import errno
import json
import os
import socket
import struct
import sys
import time


def report(**facts):
    print(json.dumps(facts, default=lambda octets: octets.decode("latin-1")), flush=True)


def errname(problem):
    return errno.errorcode.get(problem.errno, str(problem)) if problem.errno else type(problem).__name__


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def dial(address, port, timeout=30):
    """A connected TCP socket, or raises."""
    s = socket.socket(family_of(address), socket.SOCK_STREAM)
    s.settimeout(timeout)
    try:
        s.connect((address, int(port)))
    except BaseException:
        s.close()
        raise
    return s


def try_dial(address, port, timeout=30):
    """("connected" or the error's name, seconds)."""
    started = time.monotonic()
    try:
        dial(address, port, timeout).close()
        result = "connected"
    except OSError as problem:
        result = errname(problem)
    return result, time.monotonic() - started


def read_all(s, limit=1 << 30):
    parts = []
    while limit > 0 and (part := s.recv(min(limit, 1 << 16))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def ask_udp(address, port, data, timeout=20):
    """(answer or None, the error's name or None, seconds) over a connected socket."""
    started = time.monotonic()
    with socket.socket(family_of(address), socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)
        try:
            s.connect((address, int(port)))
            s.send(data)
            return s.recv(65535), None, time.monotonic() - started
        except OSError as problem:
            return None, errname(problem), time.monotonic() - started


def dns_question(name, kind=1, number=0x1234, flags=0x0100, klass=1, count=1, tail=b"", extra=0):
    labels = name if isinstance(name, bytes) else b"".join(
        bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"
    return struct.pack("!6H", number, flags, count, 0, 0, extra) + (
        labels + struct.pack("!HH", kind, klass)) * count + tail


def dns_rcode(answer):
    return None if answer is None else answer[3] & 15


def client_hello(server_name, alpn=b"", extensions=b""):
    """A client hello as one TLS record; server_name None for none, or octets."""
    body = b""
    if server_name is not None:
        raw = server_name if isinstance(server_name, bytes) else server_name.encode()
        entry = b"\0" + struct.pack("!H", len(raw)) + raw
        body += struct.pack("!HHH", 0, len(entry) + 2, len(entry)) + entry
    body += struct.pack("!HHB", 43, 3, 2) + b"\x03\x04"                # supported_versions: 1.3
    body += struct.pack("!HHH", 10, 4, 2) + b"\x00\x1d"                # supported_groups: x25519
    body += struct.pack("!HHH", 13, 4, 2) + b"\x04\x03"                # signature_algorithms
    body += struct.pack("!HHHHH", 51, 38, 36, 29, 32) + os.urandom(32)  # key_share
    body += extensions
    hello = (b"\x03\x03" + os.urandom(32) + b"\x20" + os.urandom(32) + b"\x00\x02\x13\x01"
             + b"\x01\x00" + struct.pack("!H", len(body)) + body)
    handshake = b"\x01" + struct.pack("!I", len(hello))[1:] + hello
    return record(handshake)


def record(fragment, kind=22):
    return bytes([kind, 3, 1]) + struct.pack("!H", len(fragment)) + fragment


def http_get(s, host, target="/", more=""):
    s.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())


def read_response(f):
    """(status, headers as a dict with lower-case names, body) from a file of a socket."""
    line = f.readline()
    if not line:
        return None
    status = int(line.split()[1])
    headers = {}
    while (field := f.readline()) not in (b"\r\n", b""):
        name, _, value = field.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    if "content-length" in headers:
        body = f.read(int(headers["content-length"]))
    elif headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(f.readline().split(b";")[0], 16):
            body += f.read(size)
            f.readline()
        f.readline()
    else:
        body = f.read()
    return status, headers, body
