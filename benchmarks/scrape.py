# SPDX-License-Identifier: Apache-2.0

"""Measures an answer to Prometheus beside hostile servers.

usage: .venv/bin/python -m benchmarks.scrape [servers]

Each server has taken all places that it can have: for HTTP requests of
different kinds, and for peers.  An answer must have less than 5 MB and take
less than 0.1 s of CPU time.  Needs root; exits with 1 if a requirement is
missed.
"""

import contextlib
import struct
import sys
import time

from rt_monitor import exposition
from rt_monitor import histogram
from rt_monitor import metrics
from rt_monitor import servers
from rt_monitor import snapshot

_MOST_BYTES, _MOST_S = 5_000_000, 0.1
_PLACES, _ROUNDS = 64, 5
#: Times in every octave.
_TIMES = struct.pack(f'={histogram.BUCKETS}Q', *(
    not bucket % 32 for bucket in range(histogram.BUCKETS))) + bytes(8)


def _fill(monitor: snapshot.Monitor, index: int) -> None:
    """Takes all places of a server."""
    exchanges = monitor._paths.object.map('exchanges')  # type: ignore
    edges = monitor._network.object.map('edges')  # type: ignore
    for place in range(_PLACES):
        path = f'/{"x" * 60}{chr(48 + place)}'.encode()
        exchanges.put(struct.pack('=IBBBx64s', index, 1, 1, 2, path),
                      struct.pack('=QQ', 1, place) + _TIMES)
        edges.put(struct.pack('=IHH16s', index, 1, 80, bytes([place] * 16)),
                  struct.pack('=6Q', 1, place, 0, 1, 1, 0) + _TIMES)
    for role in (1, 2):
        exchanges.put(struct.pack('=IBBBx64s', index, role, 0, 0, b''),
                      struct.pack('=QQ', 1, _PLACES) + _TIMES)


def main() -> int:
    """Measures and returns the exit status."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    running = [servers.Watched(
        f'{number:08}-0000-0000-0000-000000000000', {servers.WHOLE: number},
        reservation=servers.Granted(1, 2)) for number in range(1, count + 1)]
    with contextlib.closing(snapshot.Monitor(with_http=True)) as monitor:
        monitor.watch(running)
        for place in monitor._register.places.values():
            _fill(monitor, place.index)
        rounds = []
        for _ in range(_ROUNDS):
            begun = time.process_time()
            text = exposition.text(metrics.families(
                monitor.read(with_edges=False)))
            rounds.append(time.process_time() - begun)
    print(f'{count} servers: {len(text.encode()) / 1e6:.2f} MB, '
          f'{text.count(chr(10))} lines, {min(rounds):.3f} to '
          f'{max(rounds):.3f} s of CPU time')
    return int(len(text.encode()) >= _MOST_BYTES or min(rounds) >= _MOST_S)


if __name__ == '__main__':
    sys.exit(main())
