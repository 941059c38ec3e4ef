# SPDX-License-Identifier: Apache-2.0

"""Runs SIPp, which registers, and tcpdump, which times registrations.

The times of SIPp itself have only the resolution of the kernel's tick.
"""

from collections.abc import Iterator, Sequence
import contextlib
import pathlib
import re
import struct
import subprocess
import tempfile

import numpy as np

from paper import rtwalk
from paper import samples
from paper.sip import registrar

#: Registrations come in bursts at this interval, as in the paper.
INTERVAL_MS = 100
SCENARIO = pathlib.Path(__file__).with_name('register.xml')
_CALL = re.compile(rb'\r\nCall-ID: (\S+)')
#: The headers of a capture file and of each packet in it.
_FILE_HEADER, _PACKET_HEADER = 24, struct.Struct('=IIII')
_US_PER_S = 1_000_000


def register(count: int, rate: int, client: Sequence[str]
             ) -> samples.Floats:
    """Registers at a rate; returns the time of each registration in us.

    A registration is two round trips: the first, without password, is refused.

    :param rate: registrations every INTERVAL_MS
    :param client: the prefix of the command that starts SIPp
    :raises subprocess.CalledProcessError: when registrations failed
    """
    with tempfile.TemporaryDirectory() as directory:
        capture = pathlib.Path(directory, 'capture')
        with _captured(capture, client):
            subprocess.run(
                [*client, 'sipp', f'{registrar.ADDRESS}:{registrar.PORT}',
                 '-sf', SCENARIO, '-i', registrar.ADDRESS, '-r',
                 str(rate), '-rp', str(INTERVAL_MS), '-m', str(count),
                 '-au', registrar.USER, '-ap', registrar.PASSWORD,
                 '-timer_resol', '1', '-nostdin'],
                check=True, stdout=subprocess.DEVNULL, cwd=directory)
        return round_trips_us(capture.read_bytes())


@contextlib.contextmanager
def _captured(path: pathlib.Path, beside: Sequence[str]) -> Iterator[None]:
    with subprocess.Popen(
            [*beside, 'tcpdump', '-i', 'lo', '-Q', 'in', '--immediate-mode',
             '-w', path, f'udp port {registrar.PORT}'],
            stderr=subprocess.PIPE, text=True) as process:
        if not any('listening' in line for line in process.stderr or ()):
            raise rtwalk.NotReady(name='tcpdump')
        try:
            yield
        finally:
            process.terminate()


def round_trips_us(capture: bytes) -> samples.Floats:
    """Returns how long each call took from its first request to its 200."""
    begun: dict[bytes, int] = {}
    times = []
    for time_us, packet in _packets(capture):
        match = _CALL.search(packet)
        if match is None:
            continue
        if b'REGISTER sip:' in packet:
            begun.setdefault(match[1], time_us)
        elif b'SIP/2.0 200' in packet and match[1] in begun:
            times.append(time_us - begun.pop(match[1]))
    return np.array(times, np.float64)


def _packets(capture: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the time in us and the content of each whole packet."""
    position = _FILE_HEADER + _PACKET_HEADER.size
    while position <= len(capture):
        seconds, us, size, _ = _PACKET_HEADER.unpack_from(
            capture, position - _PACKET_HEADER.size)
        if position + size <= len(capture):
            yield seconds * _US_PER_S + us, capture[position:position + size]
        position += size + _PACKET_HEADER.size
