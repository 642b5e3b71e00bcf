# SPDX-License-Identifier: Apache-2.0
"""Ways to send a frame that pass the queue of a device by, and BPF programs without a compiler.

Each is called by a thread inside the namespace of the device (Place.call).
"""

import ctypes
import mmap
import os
import socket
import struct

SOL_PACKET, PACKET_VERSION, PACKET_TX_RING, PACKET_QDISC_BYPASS = 263, 10, 13, 20
AF_XDP, SOL_XDP = 44, 283
XDP_MMAP_OFFSETS, XDP_TX_RING, XDP_UMEM_REG, XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING = 1, 3, 4, 5, 6
XDP_COPY, XDP_PGOFF_TX_RING = 2, 0x80000000
SIZE, MANY = 4096, 64  # of a place for a frame, and how many there are

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


class PacketRing:
    """A packet socket with PACKET_TX_RING, whose frames are pages that the sender has mapped."""

    HEADER = 32  # struct tpacket2_hdr

    def __init__(self, device):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_VERSION, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_TX_RING, struct.pack("=IIII", SIZE, MANY, SIZE, MANY))
        self.socket.bind((device, 3))
        self.map = mmap.mmap(self.socket.fileno(), SIZE * MANY)

    def send(self, frames):
        for i, frame in enumerate(frames):
            at = i * SIZE
            self.map[at + self.HEADER:at + self.HEADER + len(frame)] = frame
            self.map[at:at + 8] = struct.pack("=II", 1, len(frame))
        self.socket.send(b"")

    def close(self):
        self.map.close()
        self.socket.close()


class XdpSocket:
    """A socket of AF_XDP that only sends, in copy mode: the device need not know of it."""

    def __init__(self, device):
        self.socket = socket.socket(AF_XDP, socket.SOCK_RAW, 0)
        self.memory = mmap.mmap(-1, SIZE * MANY)
        at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.socket.setsockopt(SOL_XDP, XDP_UMEM_REG, struct.pack("=QQIIII", at, SIZE * MANY, SIZE, 0, 0, 0))
        for ring in XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_TX_RING:
            self.socket.setsockopt(SOL_XDP, ring, struct.pack("=I", MANY))
        offsets = struct.unpack("=16Q", self.socket.getsockopt(SOL_XDP, XDP_MMAP_OFFSETS, 128))
        self.producer, _, self.ring = offsets[4:7]
        self.size = self.ring + 16 * MANY
        self.tx = _libc.mmap(None, self.size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, self.socket.fileno(),
                             XDP_PGOFF_TX_RING)
        assert self.tx != ctypes.c_void_p(-1).value, os.strerror(ctypes.get_errno())
        address = struct.pack("=HHIII", AF_XDP, XDP_COPY, socket.if_nametoindex(device), 0, 0)
        if _libc.bind(self.socket.fileno(), address, len(address)) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.sent = 0

    def send(self, frames):
        for frame in frames:
            place = self.sent % MANY
            self.memory[place * SIZE:place * SIZE + len(frame)] = frame
            ctypes.memmove(self.tx + self.ring + 16 * place, struct.pack("=QII", place * SIZE, len(frame), 0), 16)
            self.sent += 1
        ctypes.c_uint32.from_address(self.tx + self.producer).value = self.sent
        for _ in range(0, len(frames), 16):  # one call sends some only (TX_BATCH_SIZE, net/xdp/xsk.c)
            _libc.sendto(self.socket.fileno(), None, 0, socket.MSG_DONTWAIT, None, 0)

    def close(self):
        _libc.munmap(ctypes.c_void_p(self.tx), ctypes.c_size_t(self.size))
        self.socket.close()


# Instructions of BPF (RFC 9669), as many as the programs here need. Registers are numbers.

BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28
SCHED_CLS, XDP = 3, 6  # kinds of programs
TCX_INGRESS, XDP_DEVICE = 46, 37  # and where they are attached
XDP_TX, XDP_HAS_FRAGS, XDP_GENERIC = 3, 1 << 5, 2
MARK = 8  # in struct __sk_buff
STORE_BYTES, CHANGE_PROTO, REDIRECT_PEER = 9, 31, 155  # functions of the kernel


def op(code, to=0, source=0, offset=0, value=0):
    return struct.pack("=BBhi", code, source << 4 | to, offset, value)


def set_to(register, value):
    return op(0xB7, register, value=value)


def copy(register, source):
    return op(0xBF, register, source)


def store(register, offset, value):
    return op(0x62, register, offset=offset, value=value)


def call(function):
    return op(0x85, value=function)


LEAVE = op(0x95)


def _bpf(command, fields):
    fields = ctypes.create_string_buffer(fields + bytes(160 - len(fields)), 160)
    fd = _libc.syscall(ctypes.c_long(321), command, fields, len(fields))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def attach(device, kind, where, code, load_flags=0, attach_flags=0):
    """The program acts on the device as long as what is returned is open."""
    octets, licence = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    program = _bpf(BPF_PROG_LOAD, struct.pack("=IIQQIIQII", kind, len(code) // 8, ctypes.addressof(octets),
                                              ctypes.addressof(licence), 0, 0, 0, 0, load_flags))
    try:
        return os.fdopen(_bpf(BPF_LINK_CREATE, struct.pack("=IIII", program, socket.if_nametoindex(device), where,
                                                           attach_flags)), "rb", buffering=0)
    finally:
        os.close(program)
