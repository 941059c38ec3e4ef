# SPDX-License-Identifier: Apache-2.0

"""Reads the clock without a break, and notes when it could not.

usage: python -m tests.full.kernel.gaps GO FOUND SPAN_NS LEAST_NS

The program makes the file GO.ready, begins when the file GO is there, and
writes the gaps of its own clock, in ns, to FOUND.
"""

import os
import pathlib
import signal
import sys
import time

_POLL_SECONDS = 0.01


def gaps(span_ns: int, least_ns: int) -> list[int]:
    """Returns the gaps longer than *least_ns* between two readings."""
    found, last = [], time.monotonic_ns()
    end = last + span_ns
    while last < end:
        now = time.monotonic_ns()
        if now - last > least_ns:
            found.append(now - last)
        last = now
    return found


def main(go: str, found: str, span_ns: str, least_ns: str) -> None:
    pathlib.Path(f'{go}.ready').touch()
    while not os.path.exists(go):
        time.sleep(_POLL_SECONDS)
    text = ' '.join(map(str, gaps(int(span_ns), int(least_ns))))
    pathlib.Path(f'{found}.part').write_text(text)
    os.rename(f'{found}.part', found)
    signal.pause()


if __name__ == '__main__':
    main(*sys.argv[1:])
