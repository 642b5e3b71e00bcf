# SPDX-License-Identifier: Apache-2.0
"""A world: the person's machine, links, the internet behind them, and the capture between.

    machine ── up0 ═══ down0 ── internet          192.168.77.2 ═ 192.168.77.1, 2a00:99::2 ═ 2a00:99::1
       └────── vpn0 ══ office0 ────┘ (office=True)   10.99.0.2 ═ 10.99.0.1, beyond it 10.20.0.0/16

With nat=True a router stands between up0 and the internet and the machine's addresses do not show.
Every address of 93.184.0.0/16 and 2a00:1::/32 belongs to the internet's loopback: a server listens
where it likes, and where none does the port is closed. Neighbours are written down, not asked for, so
that an idle machine puts no frame on the link: whatever the capture shows, somebody sent.
"""

import asyncio
import socket
import threading

from . import dns, pki, web
from .capture import SYN, TCP, Capture
from .machine import Machine
from .netns import Place

HOST4, ROUTER4 = "192.168.77.2", "192.168.77.1"
HOST6, ROUTER6 = "2a00:99::2", "2a00:99::1"
OFFICE_HOST, OFFICE_ROUTER, OFFICE_NET = "10.99.0.2", "10.99.0.1", "10.20.0.0/16"
PUBLIC4, PUBLIC6 = "93.184", "2a00:1"
# Where packets go to meet a fate: no answer, "host unreachable", "administratively prohibited".
BLACKHOLE4, UNREACHABLE4, PROHIBITED4 = "93.185.0.1", "93.186.0.1", "93.187.0.1"
BLACKHOLE6, UNREACHABLE6 = "2a00:2::1", "2a00:3::1"

_MACS = {"up0": "02:00:00:00:77:02", "down0": "02:00:00:00:77:01",
         "vpn0": "02:00:00:00:99:02", "office0": "02:00:00:00:99:01",
         "wan0": "02:00:00:00:88:02", "isp0": "02:00:00:00:88:01"}

_LINK_MACS = [bytes.fromhex(mac.replace(":", "")) for mac in _MACS.values()]
_NEAR_ENDS = ("down0", "wan0", "office0")  # of the links that end at the machine

_QUIET = dict(net__ipv6__conf__all__router_solicitations=0,
              net__ipv6__conf__default__router_solicitations=0,
              net__ipv6__conf__default__accept_ra=0, net__ipv6__conf__default__dad_transmits=0,
              net__ipv6__conf__default__accept_dad=0, net__ipv6__conf__default__addr_gen_mode=1)


def _link(near, far, near_name, far_name, near_cidrs, far_cidrs):
    """A veth pair with permanent neighbours; ends are (place, name, ['a/len', ...])."""
    near.ip(f"link add {near_name} address {_MACS[near_name]} type veth "
            f"peer name {far_name} address {_MACS[far_name]} netns {far.path}")
    for place, name, cidrs, other, others in ((near, near_name, near_cidrs, far_name, far_cidrs),
                                              (far, far_name, far_cidrs, near_name, near_cidrs)):
        commands = [f"link set {name} up"]
        commands += [f"addr add {cidr} dev {name}" + (" nodad" if ":" in cidr else "")
                     for cidr in cidrs]
        commands += [f"neigh replace {cidr.split('/')[0]} lladdr {_MACS[other]} nud permanent "
                     f"dev {name}" for cidr in others]
        place.ip(*commands)


class World:
    def __init__(self, ipv6=True, nat=False, office=False, resolver=ROUTER4):
        self.ipv6, self.nat, self.office = ipv6, nat, office
        self.authority = pki.Authority()
        self.machine = Machine(self.authority)
        self.internet = Place()
        self._router = Place() if nat else None
        self._join()
        self._start_loop()
        self.zone = dns.Zone()
        self._dns = dns.Server(self.zone, self.loop)
        self._dns.listen(self.internet, ROUTER4)
        if ipv6 and not nat:
            self._dns.listen(self.internet, ROUTER6)
        self.usual_resolver = resolver
        self.machine.use_resolver(resolver)
        self.capture = Capture(self._router or self.internet, self.machine.place,
                               ["up0"] + (["vpn0"] if office else []))
        self._servers = []
        self._at_reset = []
        self._owned = set()
        self._next = 0
        self._mark = 0
        self._begun_before = set()  # connections of the tests that are over

    # Set-up.

    def _join(self):
        host, far = self.machine.place, self.internet
        for place in filter(None, (host, far, self._router)):
            place.sysctl(**_QUIET)
            place.ip("link set lo up")
        host.sysctl(net__ipv4__ping_group_range="0 2147483647",
                    net__ipv4__ip_local_port_range="10000 65000")
        far.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1,
                   net__ipv4__icmp_ratelimit=0, net__ipv4__icmp_msgs_per_sec=1000000,
                   net__ipv6__icmp__ratelimit=0, net__ipv6__ip_nonlocal_bind=1,
                   net__ipv4__ip_nonlocal_bind=1, net__ipv4__tcp_max_syn_backlog=65536,
                   net__core__somaxconn=65536)
        if not self.ipv6:
            host.sysctl(net__ipv6__conf__all__disable_ipv6=1,
                        net__ipv6__conf__default__disable_ipv6=1)
        self._join_links(host, far)
        far.ip(f"route add local {PUBLIC4}.0.0/16 dev lo", f"route add local {PUBLIC6}::/32 dev lo",
               "route add blackhole 93.185.0.0/16", "route add unreachable 93.186.0.0/16",
               "route add prohibit 93.187.0.0/16", "route add blackhole 2a00:2::/32",
               "route add unreachable 2a00:3::/32")
        if self.office:
            _link(host, far, "vpn0", "office0", [f"{OFFICE_HOST}/24"], [f"{OFFICE_ROUTER}/24"])
            host.ip(f"route add {OFFICE_NET} via {OFFICE_ROUTER}")
            far.ip(f"route add local {OFFICE_NET} dev lo")

    def _join_links(self, host, far):
        six = ([f"{HOST6}/64"], [f"{ROUTER6}/64"]) if self.ipv6 and not self.nat else ([], [])
        if self.nat:
            _link(host, self._router, "up0", "wan0", [f"{HOST4}/24"], ["192.168.77.254/24"])
            _link(self._router, far, "isp0", "down0", ["93.188.0.2/24"], ["93.188.0.1/24"])
            self._router.sysctl(net__ipv4__ip_forward=1)
            self._router.ip("route add default via 93.188.0.1")
            far.ip(f"addr add {ROUTER4}/32 dev lo")
            self._router.ip(f"route add {ROUTER4}/32 via 93.188.0.1")
            self._router.run(["nft", "table ip n { chain p { type nat hook postrouting priority 100; "
                              "oifname isp0 masquerade; }; }"]).check_returncode()
            host.ip("route add default via 192.168.77.254")
            host.ip(f"route add {ROUTER4}/32 via 192.168.77.254")
            return
        _link(host, far, "up0", "down0", [f"{HOST4}/24"] + six[0], [f"{ROUTER4}/24"] + six[1])
        host.ip(f"route add default via {ROUTER4}")
        if self.ipv6:
            host.ip(f"route add ::/0 via {ROUTER6}")

    def _start_loop(self):
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda loop, context: None)
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def close(self):
        self.reset()
        asyncio.run_coroutine_threadsafe(_closed(self._dns), self.loop).result(60)
        asyncio.run_coroutine_threadsafe(_cancelled(), self.loop).result(60)
        self.capture.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.machine.close()
        for place in filter(None, (self.internet, self._router)):
            place.close()

    def reset(self):
        """Forgets what a test declared; addresses are never given out twice."""
        for server in self._servers:
            asyncio.run_coroutine_threadsafe(_closed(server), self.loop).result(60)
        self._servers.clear()
        while self._at_reset:
            self._at_reset.pop()()
        self.machine.forget_trust()
        self.zone.clear()
        self._begun_before |= begun(self.capture.so_far())
        self.capture.clear()

    def on_reset(self, work):
        """work() is called when the test is over, last come first."""
        self._at_reset.append(work)

    # What a test declares.

    def address(self):
        """A fresh public IPv4 address."""
        self._next += 1
        return f"{PUBLIC4}.{self._next >> 8}.{self._next & 255}"

    def address6(self):
        self._next += 1
        return f"{PUBLIC6}::{self._next:x}"

    def own(self, prefix):
        """Makes the internet answer for addresses outside its usual range."""
        if prefix not in self._owned:
            self.internet.ip(f"route add local {prefix} dev lo")
            self._owned.add(prefix)

    def resolver(self, address):
        """Another DNS server of the same zone, at an address of the internet."""
        self._extra_dns(self.internet, address)

    def dns_on_machine(self, address):
        """The same on the machine itself, as systemd-resolved's stub is."""
        self._extra_dns(self.machine.place, address)

    def _extra_dns(self, place, address):
        server = dns.Server(self.zone, self.loop)
        server.listen(place, address)
        self._servers.append(server)

    def _listening(self, address, port, kind=socket.SOCK_STREAM, place=None):
        s = (place or self.internet).bound_socket(address, port, kind, backlog=8192)
        s.setblocking(False)
        if kind == socket.SOCK_STREAM:  # what it accepts has it too: no test waits for Nagle's algorithm
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def tcp(self, address, port, handler, ssl=None, place=None):
        """handler(reader, writer), a coroutine, serves each connection."""
        listener = self._listening(address, port, place=place)
        start = asyncio.start_server(handler, sock=listener, ssl=ssl, limit=web.HEAD_MAX,
                                     backlog=8192)
        server = asyncio.run_coroutine_threadsafe(start, self.loop).result(60)
        self._servers.append(server)
        return server

    def udp(self, address, port, handler, place=None):
        """handler(datagram, client) → octets to send back, or None."""
        listener = self._listening(address, port, socket.SOCK_DGRAM, place)

        class Protocol(asyncio.DatagramProtocol):
            def datagram_received(self, data, addr):
                answer = handler(data, addr)
                if answer is not None:
                    listener.sendto(answer, addr)  # also when empty, which a transport would skip

        async def start():
            return await self.loop.create_datagram_endpoint(Protocol, sock=listener)
        transport, _ = asyncio.run_coroutine_threadsafe(start(), self.loop).result(60)
        self._servers.append(transport)
        return transport

    def name(self, name, *addresses, ttl=60):
        """Puts addresses in the DNS under a name."""
        for kind, wanted in (("A", "."), ("AAAA", ":")):
            data = [a for a in addresses if wanted in a]
            if data:
                self.zone.add(name, kind, *data, ttl=ttl)

    def site(self, *names, handler=None, addresses=None, v6=False, http=True, https=True,
             dns=True, alpn=("http/1.1",), streams_body=False, tls_names=None):
        """A web site under its names, on 80 and 443, trusted by the machine."""
        if addresses is None:
            addresses = [self.address()] + ([self.address6()] if v6 else [])
        site = web.Site(list(names), list(addresses), handler, streams_body)
        context = self._tls(list(tls_names or names), alpn) if https else None

        async def serve(reader, writer):
            await web.serve(site, reader, writer)
        for address in addresses:
            if http:
                self.tcp(address, 80, serve)
            if https:
                self.tcp(address, 443, serve, ssl=context)
        if dns:
            for name in names:
                self.name(name, *addresses)
        return site

    def _tls(self, names, alpn):
        context = self.authority.server_context(names, alpn)

        def seen(tls, server_name, _):
            tls.seen_server_name = server_name
        context.sni_callback = seen
        return context

    def tls_context(self, *names, alpn=("http/1.1",)):
        return self._tls(list(names), alpn)

    # The judge.

    def start_watching(self):
        """What happened before now is no longer held against anybody, nor are the bare segments with
        which connections end that were begun before."""
        self._mark = self.capture.mark()

    def left_the_host(self, to=None, dns=False, where=None):
        """Packets that left the machine since start_watching(), without its own questions to its
        resolver unless dns=True; only those to an address, or those for which where(packet)."""
        packets = [p for p in self.capture.since(self._mark)
                   if p.device in _NEAR_ENDS and not _is_set_up(p)]
        if any(_is_bare(p) for p in packets):
            everything = self.capture.since(0)
            earlier = self._begun_before | begun(everything[:self._mark])
            packets = without_endings(packets, earlier, begun(everything[self._mark:]))
        if not dns:
            packets = [p for p in packets if not (p.port == 53 and p.destination in
                                                  (ROUTER4, ROUTER6))]
        if to is not None:
            packets = [p for p in packets if p.destination == to]
        if where is not None:
            packets = [p for p in packets if where(p)]
        return packets


def _is_set_up(packet):
    """The kernel's own report of its groups, a while after a link is made (RFC 3810, 5.2.14)."""
    return (packet.raw[6:12] in _LINK_MACS and packet.source == "::"
            and packet.destination == "ff02::16" and packet.raw[54] == 58 and packet.raw[62] == 143)


def _connection(packet):
    return packet.source, packet.source_port, packet.destination, packet.port


def _is_bare(packet):
    return (packet.protocol == TCP and packet.flags is not None and not packet.flags & SYN
            and not packet.payload)


def begun(packets):
    """The connections that the host began with these packets."""
    return {_connection(p) for p in packets if p.protocol == TCP and (p.flags or 0) & SYN}


def without_endings(packets, earlier, since):
    """What was begun before may end a while later: a client has all it wanted before the servers have
    ended their side, a server that closes late is answered by the machine's kernel, and a gate that
    ends late resets what it had open. Segments without an octet, of a connection that was begun
    earlier and not anew since."""
    return [p for p in packets if not (_is_bare(p) and _connection(p) in earlier - since)]


async def _cancelled():
    """What serves a connection whose client has not ended it."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


async def _closed(server):
    server.close()
