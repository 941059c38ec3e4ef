# SPDX-License-Identifier: Apache-2.0

"""Writes a small capture of traffic for functions: ``capture.py FILE``.

The capture has web requests, name queries and unknown payloads of many flows.
Each call writes the same capture.  This module is a program that needs only
the standard library.
"""

import random
import struct
import sys

_PACKETS = 2000
_FLOWS = 200
#: The header of the libpcap format: magic number, version and Ethernet.
_HEADER = struct.pack('<IHHiIII', 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
_QUERY = (b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00'
          b'\x03www\x07example\x03org\x00\x00\x01\x00\x01')
_REQUEST = (b'GET /index.html HTTP/1.1\r\nHost: www.example.org\r\n'
            b'User-Agent: example\r\nAccept: */*\r\n\r\n')
_TCP, _UDP = 6, 17


def write(path: str) -> None:
    """Writes the capture to a file."""
    chance = random.Random(2018)  # noqa: S311 - not for a secret
    with open(path, 'wb') as file:
        file.write(_HEADER)
        for number in range(_PACKETS):
            packet = _packet(number % _FLOWS, chance)
            file.write(struct.pack('<IIII', number // 1000,
                                   number % 1000 * 1000, len(packet),
                                   len(packet)) + packet)


def _packet(flow: int, chance: random.Random) -> bytes:
    if flow % 3 == 0:
        protocol, port, payload = _TCP, 80, _REQUEST
    elif flow % 3 == 1:
        protocol, port, payload = _UDP, 53, _QUERY
    else:
        protocol, port, payload = _UDP, 40000, chance.randbytes(200)
    ports = struct.pack('!HH', 10_000 + flow, port)
    if protocol == _TCP:
        # The flags are ACK and PSH; readers do not check the checksums.
        rest = struct.pack('!IIBBHHH', 1, 1, 5 << 4, 0x18, 65535, 0, 0)
    else:
        rest = struct.pack('!HH', 8 + len(payload), 0)
    segment = ports + rest + payload
    address = bytes((10, 0, flow >> 8, flow & 255))
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(segment), 0, 0,
                         64, protocol, 0, address, bytes((10, 1, 0, 1)))
    return bytes(12) + b'\x08\x00' + header + segment


if __name__ == '__main__':
    write(sys.argv[1])
