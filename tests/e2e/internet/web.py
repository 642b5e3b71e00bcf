# SPDX-License-Identifier: Apache-2.0
"""An HTTP/1.1 server, plain and over TLS, whose answers a test gives as a function.

It is lenient where a real server may be and exact in what it reports: each request is logged with
the address it came to, the server name of its TLS session, and its header fields as received.
"""

import asyncio
import inspect

HEAD_MAX = 1 << 20


class Request:
    def __init__(self, site, method, target, version, headers, connection):
        self.site = site
        self.method, self.target, self.version = method, target, version
        self.headers = headers          # list of (name as sent, value)
        self.address = connection.address
        self.port = connection.port
        self.server_name = connection.server_name  # None without TLS or without SNI
        self.connection = connection
        self.body = b""

    def header(self, name, default=None):
        for key, value in self.headers:
            if key.lower() == name.lower():
                return value
        return default

    def __repr__(self):
        return f"<{self.method} {self.header('host')}{self.target} at {self.address}:{self.port}>"


class Response:
    """`body` is octets, text, or an async iterator of octets (sent chunked)."""

    def __init__(self, body=b"", status=200, headers=(), close=False, length=True):
        self.body = body.encode() if isinstance(body, str) else body
        self.status = status
        self.headers = list(headers)
        self.close = close
        self.length = length  # False: delimited by the close of the connection


class Connection:
    """One accepted connection; `taken` when a handler has made it its own (101, CONNECT)."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.address, self.port = writer.get_extra_info("sockname")[:2]
        self.client = writer.get_extra_info("peername")[:2]
        tls = writer.get_extra_info("ssl_object")
        self.tls = tls is not None
        self.server_name = getattr(tls, "seen_server_name", None)
        self.taken = False


async def read_head(reader):
    """(first line's three words, header list), or None at a clean end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    lines = head[:-4].decode("latin-1").split("\r\n")
    words = (lines[0].split(" ", 2) + ["", ""])[:3]
    headers = []
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers.append((name, value.strip()))
    return words, headers


async def read_body(reader, request):
    coding = (request.header("transfer-encoding") or "").lower()
    if coding.endswith("chunked"):
        parts = []
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            if size == 0:
                while (await reader.readline()) not in (b"\r\n", b""):
                    pass
                return b"".join(parts)
            parts.append(await reader.readexactly(size))
            await reader.readexactly(2)
    return await reader.readexactly(int(request.header("content-length") or 0))


async def _write(writer, response, request):
    headers = list(response.headers)
    chunked = not isinstance(response.body, bytes)
    if chunked and response.length:
        headers.append(("Transfer-Encoding", "chunked"))
    elif response.length and response.status >= 200:
        headers.append(("Content-Length", str(len(response.body))))
    if response.close or not response.length:
        headers.append(("Connection", "close"))
    head = f"HTTP/1.1 {response.status} Answer\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers)
    writer.write(head.encode() + b"\r\n")
    if request.method == "HEAD":
        return
    if not chunked:
        writer.write(response.body)
        await writer.drain()
        return
    async for part in response.body:
        writer.write(b"%x\r\n%s\r\n" % (len(part), part) if response.length else part)
        await writer.drain()
    if response.length:
        writer.write(b"0\r\n\r\n")


async def serve(site, reader, writer):
    """Requests of one connection, in order, until either side ends it."""
    connection = Connection(reader, writer)
    site.connections.append(connection)
    try:
        while await _one(site, connection):
            pass
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        if not connection.taken:
            writer.close()


async def _one(site, connection):
    """One request; False when the connection ends."""
    reader, writer = connection.reader, connection.writer
    read = await read_head(reader)
    if read is None:
        return False
    (method, target, version), headers = read
    request = Request(site, method, target, version, headers, connection)
    if (request.header("expect") or "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if not site.streams_body:
        request.body = await read_body(reader, request)
    site.requests.append(request)
    response = site.handler(request)
    if inspect.isawaitable(response):
        response = await response
    if response is None:  # the handler took the connection
        connection.taken = True
        return False
    if isinstance(response, (str, bytes)):
        response = Response(response)
    await _write(writer, response, request)
    close = (response.close or not response.length or version == "HTTP/1.0"
             or (request.header("connection") or "").lower() == "close")
    if close:
        await writer.drain()
    return not close


class Site:
    """A web site: names, addresses, one handler, and what it saw."""

    def __init__(self, names, addresses, handler=None, streams_body=False):
        self.names, self.addresses = names, addresses
        self.handler = handler or (lambda request: f"hello from {names[0]}\n")
        self.streams_body = streams_body
        self.requests = []
        self.connections = []

    @property
    def name(self):
        return self.names[0]

    @property
    def address(self):
        """Its first address."""
        return self.addresses[0]

    @property
    def address6(self):
        return next(a for a in self.addresses if ":" in a)
