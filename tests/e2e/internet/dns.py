# SPDX-License-Identifier: Apache-2.0
"""A recursive DNS server over zones that a test declares; it logs each question it was asked.

It stands in for the resolver that the person's machine is configured with. A name may be made slow,
silent, failing, truncated, changing from answer to answer, or answered by a function of the test.
"""

import asyncio
import socket
import struct
import threading
from collections import namedtuple

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset

Query = namedtuple("Query", "name type transport server message")
Record = namedtuple("Record", "type ttl data")

_CHAIN_MAX = 16


class Behaviour:
    """How a name is answered when not plainly."""

    def __init__(self):
        self.delay = 0.0
        self.rcode = None      # answered with this code and nothing else
        self.silent = False    # no answer at all
        self.truncated = False  # over UDP only TC=1
        self.answer = None     # function of the query message: a message, octets, or None for silence


class Zone:
    """What the world's DNS says, and what was asked. Safe to change while the server runs."""

    def __init__(self):
        self._lock = threading.Lock()
        self.clear()

    def clear(self):
        with self._lock:
            self._records = {}    # name → list of Record
            self._rounds = {}     # (name, type) → successive answers, the last for ever
            self._behaviour = {}
            self._log = []
            self.dead = False     # the whole server is silent

    def add(self, name, kind, *data, ttl=60):
        """add("a.example", "A", "93.184.1.1", "93.184.1.2"): texts as in a zone file."""
        records = [Record(kind, ttl, text) for text in data]
        with self._lock:
            self._records.setdefault(name.lower(), []).extend(records)

    def replace(self, name, kind, *data, ttl=60):
        with self._lock:
            kept = [r for r in self._records.get(name.lower(), []) if r.type != kind]
            self._records[name.lower()] = kept + [Record(kind, ttl, text) for text in data]

    def rounds(self, name, kind, *answers, ttl=60):
        """Each answer, a list of texts, is given once; the last one for ever after."""
        with self._lock:
            self._records.setdefault(name.lower(), [])
            self._rounds[name.lower(), kind] = [[Record(kind, ttl, text) for text in texts]
                                                for texts in answers]

    def behave(self, name, **how):
        """behave("slow.example", delay=2.0); see Behaviour for the keys."""
        with self._lock:
            behaviour = self._behaviour.setdefault(name.lower(), Behaviour())
            for key, value in how.items():
                if not hasattr(behaviour, key):
                    raise TypeError(f"no behaviour {key}")
                setattr(behaviour, key, value)
            self._records.setdefault(name.lower(), [])

    @property
    def queries(self):
        with self._lock:
            return list(self._log)

    def asked(self, name=None, kind=None):
        """The questions so far, for a name or everything at and below it ("*.example")."""
        def wanted(query):
            if kind is not None and query.type != kind:
                return False
            if name is None:
                return True
            if name.startswith("*"):
                return query.name.endswith(name[1:]) or query.name == name[2:]
            return query.name == name
        return [query for query in self.queries if wanted(query)]

    # For the server.

    def note(self, query):
        with self._lock:
            self._log.append(query)

    def behaviour(self, name):
        with self._lock:
            return self._behaviour.get(name, Behaviour())

    def lookup(self, name, kind):
        """(records of that type, CNAME target or None, whether the name exists)."""
        with self._lock:
            rounds = self._rounds.get((name, kind))
            if rounds:
                return (rounds.pop(0) if len(rounds) > 1 else rounds[0]), None, True
            records = self._find(name)
            if records is None:
                below = any(other.endswith("." + name) for other in self._records)
                return [], None, below
            found = [r for r in records if r.type == kind]
            alias = next((r for r in records if r.type == "CNAME"), None)
            return found, (alias if not found and kind != "CNAME" else None), True

    def _find(self, name):
        if name in self._records:
            return self._records[name]
        labels = name.split(".")
        for i in range(1, len(labels)):
            star = ".".join(["*", *labels[i:]])
            if star in self._records:
                return self._records[star]
        return None


class Server:
    """One or more addresses that answer from one zone."""

    def __init__(self, zone, loop):
        self.zone = zone
        self._loop = loop
        self._transports = []

    def listen(self, place, address, port=53):
        """Answers over UDP and TCP at an address of `place`."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET

        def bound(kind):
            s = socket.socket(family, kind)
            if kind == socket.SOCK_STREAM:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((address, port))
            s.setblocking(False)
            return s

        udp = place.call(lambda: bound(socket.SOCK_DGRAM))
        tcp = place.call(lambda: bound(socket.SOCK_STREAM))
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        asyncio.run_coroutine_threadsafe(self._serve(udp, tcp, address), self._loop).result(60)

    async def _serve(self, udp, tcp, address):
        transport, _ = await self._loop.create_datagram_endpoint(
            lambda: _Datagrams(self, address), sock=udp)
        server = await asyncio.start_server(
            lambda r, w: self._stream(r, w, address), sock=tcp)
        self._transports += [transport, server]

    def close(self):
        """Called in the loop."""
        for transport in self._transports:
            transport.close()

    async def _stream(self, reader, writer, address):
        async def one(wire):
            answer = await self.answer(wire, "tcp", address)
            if answer is not None:
                writer.write(struct.pack("!H", len(answer)) + answer)
        try:
            while True:
                size = struct.unpack("!H", await reader.readexactly(2))[0]
                asyncio.ensure_future(one(await reader.readexactly(size)))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, wire, transport, address):
        """The answer's octets, or None for silence."""
        try:
            query = dns.message.from_wire(wire)
            question = query.question[0]
        except (dns.exception.DNSException, IndexError):
            return None
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.zone.note(Query(name, kind, transport, address, query))
        behaviour = self.zone.behaviour(name)
        if behaviour.delay:
            await asyncio.sleep(behaviour.delay)
        if self.zone.dead or behaviour.silent:
            return None
        if behaviour.answer is not None:
            made = behaviour.answer(query)
            return made.to_wire() if isinstance(made, dns.message.Message) else made
        return self._fit(self._respond(query, question, name, kind, behaviour), query, transport,
                         behaviour)

    def _respond(self, query, question, name, kind, behaviour):
        response = dns.message.make_response(query, recursion_available=True)
        if behaviour.rcode is not None:
            response.set_rcode(dns.rcode.from_text(behaviour.rcode))
            return response
        for _ in range(_CHAIN_MAX):
            found, alias, exists = self.zone.lookup(name, kind)
            if found:
                response.answer.append(_rrset(name, found))
                return response
            if alias is None:
                break
            response.answer.append(_rrset(name, [alias]))
            name = alias.data.rstrip(".").lower()
        if not exists:
            response.set_rcode(dns.rcode.NXDOMAIN)
        response.authority.append(_rrset(".", [Record(
            "SOA", 60, "ns.internet. hostmaster.internet. 1 60 60 60 60")]))
        return response

    @staticmethod
    def _fit(response, query, transport, behaviour):
        if transport == "tcp":
            return response.to_wire(max_size=65535)
        size = max(512, query.payload) if query.edns >= 0 else 512
        try:
            if not behaviour.truncated:
                return response.to_wire(max_size=size)
        except dns.exception.TooBig:
            pass
        cut = dns.message.make_response(query, recursion_available=True)
        cut.flags |= dns.flags.TC
        return cut.to_wire()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server, address):
        self._server, self._address = server, address
        self._transport = None

    def connection_made(self, transport):
        self._transport = transport

    def datagram_received(self, data, addr):
        async def reply():
            answer = await self._server.answer(data, "udp", self._address)
            if answer is not None:
                self._transport.sendto(answer, addr)
        asyncio.ensure_future(reply())


def _rrset(name, records):
    owner = dns.name.root if name == "." else dns.name.from_text(name)
    return dns.rrset.from_text(owner, records[0].ttl, "IN", records[0].type,
                               *[r.data for r in records])
