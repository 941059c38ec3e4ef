# SPDX-License-Identifier: Apache-2.0

"""Measures what one server costs the kernel interface of this machine.

usage: .venv/bin/python benchmarks/backend.py [rounds [other servers]]

In scratch groups with libvirt's layout, it reserves for and releases a
container and virtual machines of 1, 2 and 4 vCPUs, beside other servers with a
budget.  Each round also measures the same number of bare writes by the
privileged process.  Exits with 1 above 25 writes or 5 ms.
"""

from collections.abc import Callable, Iterator
import contextlib
import os
import pathlib
import statistics
import sys
import time

from oslo_config import cfg

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine import privsep

WRITES, LIMIT_MS = 25, 5.0
PERIOD_US = 100_000
#: The runtime of each server, which a developer's machine always has free.
RUNTIME_US = 100
TOP = 'nova-rt-bench'
GUESTS = {'container': 0, 'VM, 1 vCPU': 1, 'VM, 2 vCPUs': 2,
          'VM, 4 vCPUs': 4}


class CountedFS(fs.RealFS):
    """The real files, with a count of the writes."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str]] = []

    def write(self, path: str, text: str) -> None:
        self.written.append((path, text))
        super().write(path, text)


def leaves(interface: base.KernelInterface, guest: str, vcpus: int
           ) -> list[str]:
    """Returns the groups with a budget; see ``layout``."""
    if not vcpus or (interface.replicated and interface.inherits):
        return [guest]
    count = 1 if interface.replicated else vcpus
    return [f'{guest}/vcpu{number}' for number in range(count)]


@contextlib.contextmanager
def groups(root: pathlib.Path, names: list[str]) -> Iterator[None]:
    """Makes groups, and removes them at the end of the block."""
    made = []
    try:
        for name in names:
            path = root / name.strip('/')
            for part in [*reversed(path.parents), path]:
                if not part.exists():
                    part.mkdir()
                    made.append(part)
        yield
    finally:
        for part in reversed(made):
            part.rmdir()


def ms(action: Callable[[], object]) -> float:
    """Returns how many ms an action takes."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def measure(interface: base.KernelInterface, files: CountedFS,
            names: list[str], rounds: int) -> tuple[int, float, float]:
    """Returns medians: writes, their ms, and the ms of bare writes."""
    budgets = {name: base.Budget({0: RUNTIME_US}, PERIOD_US)
               for name in names}
    times, bare = [], []
    for _ in range(rounds):
        files.written.clear()
        times.append(ms(lambda: interface.reserve(budgets))
                     + ms(lambda: interface.release(names)))
        path, text = files.written[-1]
        count = len(files.written)
        bare.append(ms(lambda: [privsep.write_cgroup_file(path, text)
                                for _ in range(count)]))
    return count, statistics.median(times), statistics.median(bare)


def main() -> int:
    """Runs all rounds and returns the exit status."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    other_servers = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    # Like nova-compute, this has a root helper; here it needs no sudo.
    cfg.CONF([], project='nova-rt-bench')
    if os.geteuid() == 0:
        privsep.cgroup_pctxt.set_client_mode(False)
        privsep.TOPS = frozenset((TOP,))
    files = CountedFS()
    interface = detect.detect(files)
    if interface is None:
        sys.exit('the kernel offers no interface')
    root = pathlib.Path(interface._root)
    busy = [f'/{TOP}/other-{number}' for number in range(other_servers)]
    names = [name for vcpus in GUESTS.values() for name in leaves(
        interface, f'/{TOP}/guest-{vcpus}', vcpus)]
    bad = False
    with groups(root, [*busy, *names]):
        interface.reserve({name: base.Budget({0: RUNTIME_US}, PERIOD_US)
                           for name in busy})
        try:
            print(f'{interface.name}, beside {other_servers} other servers, '
                  f'{rounds} rounds')
            for kind, vcpus in GUESTS.items():
                count, own, bare = measure(
                    interface, files, leaves(
                        interface, f'/{TOP}/guest-{vcpus}', vcpus), rounds)
                bad = bad or count > WRITES or own > LIMIT_MS
                print(f'{kind:12} {count:3} writes  {own:6.2f} ms, '
                      f'x{own / bare:.1f} of bare writes ({bare:.2f} ms)')
        finally:
            interface.release(busy)
    return int(bad)


if __name__ == '__main__':
    sys.exit(main())
