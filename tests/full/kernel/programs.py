# SPDX-License-Identifier: Apache-2.0

"""The programs of the monitor that this kernel accepts, and one report.

Loads each object file, attaches its programs, and watches a group with a busy
task.  As root, with version 2 of control groups::

    tools/lab.sh KERNEL --icount -- python -m tests.full.kernel.programs

Exit status: 0 the programs of the scheduler run and count the CPU time of the
task as the kernel does, 1 otherwise.
"""

import argparse
from collections.abc import Sequence
import contextlib
import ctypes
import json
import os
import pathlib
import platform
import sys
import time

from benchmarks import stand_ins
from nova_rt.rules import exception
from rt_monitor import counters
from rt_monitor import libbpf
from rt_monitor import objects
from rt_monitor import paths
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot
from rt_monitor import tap
from rt_monitor import transactions

KINDS: tuple[type[objects.ProgramSource], ...] = (
    sched.Scheduler, transactions.Transactions, tap.Taps, paths.Paths,
    counters.Counters)
_UUID = 'watched'
_BUSY = 'print(flush=True)\nwhile True: pass'
#: How far the CPU time may be off, as a part of the CPU time.
_TOLERANCE = 0.005


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(prog='programs', description=__doc__)
    parser.add_argument('--log', action='store_true', help='also print what '
                        'libbpf and the verifier say')
    parser.add_argument('--seconds', type=float, default=1.0,
                        help='how long the task is busy')
    options = parser.parse_args(arguments)
    library = ctypes.CDLL('libbpf.so.1')
    library.libbpf_set_print.restype = ctypes.c_void_p
    printer = library.libbpf_set_print(None)
    sources, counted_ns, used_ns = _report(options.seconds)
    if options.log:  # the monitor has let libbpf print nothing
        library.libbpf_set_print(ctypes.c_void_p(printer))
    loaded = {kind.name: load(kind) for kind in KINDS}
    right = abs(counted_ns - used_ns) <= _TOLERANCE * used_ns
    print(json.dumps({
        'kernel': platform.release(), 'loaded': loaded, 'sources': sources,
        'counted_ns': counted_ns, 'used_ns': used_ns, 'right': right},
        indent=2))
    return int(not right)


def load(kind: type[objects.ProgramSource]) -> str:
    """Loads and attaches programs; returns why the kernel refuses, or ''."""
    try:
        found = libbpf.Object(str(objects.path(kind.name)), kind.instead)
    except exception.CannotMonitor as error:
        return f'cannot be loaded: {error.kwargs["reason"]}'
    try:
        found.attach()
    except exception.CannotMonitor as error:
        return f'cannot be attached: {error.kwargs["reason"]}'
    found.close()
    return ''


def _report(seconds: float) -> tuple[dict[str, str], int, int]:
    """Watches a group in which a task is busy.

    Returns why each source is off, the CPU time that the monitor counts, and
    the CPU time by the kernel's own count, in ns.
    """
    with (contextlib.closing(snapshot.Monitor(with_http=True)) as monitor,
          stand_ins.groups('busy') as groups):
        group = groups['busy']
        monitor.watch([servers.Watched(
            _UUID, {servers.WHOLE: os.stat(group).st_ino})])
        with stand_ins.running(group, sys.executable, '-c', _BUSY) as child:
            if child.stdout is not None:
                child.stdout.readline()
            time.sleep(seconds)
        usage = monitor.read().usages.get(_UUID)
        return ({source.name: source.reason for source in monitor.sources},
                usage.whole.totals.ran if usage else 0, _used_ns(group))


def _used_ns(group: pathlib.Path) -> int:
    stat = dict(line.split() for line in
                (group / 'cpu.stat').read_text().splitlines())
    return 1_000 * int(stat['usage_usec'])


if __name__ == '__main__':
    sys.exit(main())
