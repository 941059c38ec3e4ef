# SPDX-License-Identifier: Apache-2.0

"""Prints the share of a CPU that the reserved vCPU of a QEMU process gets.

Run with the Python of a Debian system: ``share.py PIDFILE SECONDS``.
"""

import os
import pathlib
import sys
import time

#: See linux/sched.h; the other bits are flags.
_DEADLINE = 6


def main(record: str, seconds: str) -> None:
    """Prints CPU time over wall time of each SCHED_DEADLINE thread."""
    folder = pathlib.Path('/proc', pathlib.Path(record).read_text(
        encoding='ascii').strip(), 'task')
    threads = [each for each in folder.iterdir()
               if os.sched_getscheduler(int(each.name)) & 0xff == _DEADLINE]
    for thread in threads:
        used, begin = _used(thread), time.monotonic()
        time.sleep(float(seconds))
        share = (_used(thread) - used) / (time.monotonic() - begin)
        print(f'share {share:.4f}')


def _used(thread: pathlib.Path) -> float:
    """Returns the CPU time of a thread in seconds."""
    return int((thread / 'schedstat').read_text().split()[0]) / 1e9


if __name__ == '__main__':
    main(*sys.argv[1:])
