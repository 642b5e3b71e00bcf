# SPDX-License-Identifier: Apache-2.0
"""A company's proxy, the only way out of a host that has to use one."""

import asyncio
import base64
import socket


class ParentProxy:
    """CONNECT only. It looks names up by itself: `names` is name → address."""

    def __init__(self, world, address, names=(), port=3128, user=None, password="", interim=False,
                 status=None):
        self.world, self.address, self.port, self.names = world, address, port, dict(names)
        self.wanted = user and b"Basic " + base64.b64encode(f"{user}:{password}".encode())
        self.interim, self.status = interim, status
        self.heads = []  # as they came
        self.tunnels = []  # targets that were connected
        world.tcp(address, port, self._serve)

    def _connect(self, target):
        host, port = target.rsplit(":", 1)
        host = host.strip("[]")
        to = self.names.get(host, host), int(port)
        return self.world.internet.call(lambda: socket.create_connection(to, 5))

    def _refusal(self, head):
        if self.wanted and b"\r\nProxy-Authorization: " + self.wanted + b"\r\n" not in head:
            return b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"
        if self.status:
            return b"HTTP/1.1 %d No\r\nContent-Length: 2\r\n\r\nno" % self.status
        return None

    async def _serve(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            refusal = self._refusal(head)
            if refusal:
                writer.write(refusal)
                await writer.drain()
            else:
                await self._tunnel(head.split()[1].decode(), reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _tunnel(self, target, reader, writer):
        loop = asyncio.get_running_loop()
        far = await loop.run_in_executor(None, self._connect, target)
        far_reader, far_writer = await asyncio.open_connection(sock=far)
        self.tunnels.append(target)
        if self.interim:
            writer.write(b"HTTP/1.1 102 Processing\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)
        # In pieces: a head does not come in one.
        for piece in (b"HTTP/1.1 2", b"00 Connection established\r\nVia: x\r", b"\n\r", b"\n"):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.005)
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
