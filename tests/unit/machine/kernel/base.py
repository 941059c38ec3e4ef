# SPDX-License-Identifier: Apache-2.0

"""Emulated kernels for the tests of nova_rt.machine.kernel."""

from collections.abc import Callable, Iterator
import os
import unittest

import testscenarios

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tree
from nova_rt.rules import reservation
from tests.emulation import clock
from tests.emulation import hcbs_multi
from tests.emulation import kernel as emulation
from tests.emulation import kernels
from tests.emulation import rt_group_sched
from tests.emulation import rt_max
from tests.emulation import rt_max_cpuset

KERNELS = kernels.KERNELS
#: For tests that run on each kernel.
SCENARIOS = [(name, {'kind': name}) for name in KERNELS]
CAP = 950_000

PLAIN = '/machine'
LEAF = '/machine/lxc-7-a.libvirt-lxc'
OTHER = '/machine/lxc-8-b.libvirt-lxc'
#: with systemd
DEEP = '/machine.slice/machine-lxc\\x2d7.scope/libvirt'
DEEPER = '/machine.slice/machine-lxc\\x2d8.scope/libvirt'


def budget(runtime: int, period: int, *cpus: int) -> base.Budget:
    """Returns a budget, by default on pCPU 0."""
    return base.Budget(dict.fromkeys(cpus or (0,), runtime), period)


def mkdirs(kernel: emulation.Kernel, *groups: str) -> None:
    """Groups with their ancestors, in all hierarchies, as libvirt makes."""
    for group in groups:
        parts = group.strip('/').split('/')
        for depth in range(len(parts)):
            above = '/' + '/'.join(parts[:depth])
            path = '/' + '/'.join(parts[:depth + 1])
            enable(kernel, above, 'cpu', 'cpuset')
            if path in kernel.budgets():
                continue
            kernel.mkdir(path)
            if kernel.version == 1:
                kernel.mkdir_cpuset(path)
                kernel.write(cpus_of(kernel, path), f'0-{kernel.cpus - 1}')


def enable(kernel: emulation.Kernel, group: str, *controllers: str) -> None:
    """Hand controllers of cgroup v2 down from a group."""
    path = f'{mount(kernel)}{group.rstrip("/")}/cgroup.subtree_control'
    if kernel.version == 2:
        for name in set(controllers) - set(kernel.read(path).split()):
            kernel.write(path, f'+{name}')


def rmdir(kernel: emulation.Kernel, group: str) -> None:
    """Removes a group as libvirt does: with its budget, in all hierarchies."""
    kernel.rmdir(group)
    if kernel.version == 1:
        kernel.rmdir_cpuset(group)


def mount(kernel: emulation.Kernel, controller: str = 'cpu') -> str:
    """Returns the mount point of the hierarchy that has a controller."""
    return next(point for point, kind, options in kernel.mounts()
                if kind == 'cgroup2' or controller in options.split(','))


def cpus_of(kernel: emulation.Kernel, group: str) -> str:
    """The path of its cpuset.cpus."""
    return f'{mount(kernel, "cpuset")}{group}/cpuset.cpus'


def refuse(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def refuse_nth(kernel: emulation.Kernel, nth: int, number: int) -> None:
    """Refuse the *nth* write (from 0) from now on, whenever it is tried.

    Other writes pass, so that an undo can work.
    """
    seen: list[tuple[str, str]] = []

    def intercept(path: str, text: str) -> None:
        if (path, text) not in seen:
            seen.append((path, text))
        if len(seen) > nth and seen[nth] == (path, text):
            raise refuse(number)

    kernel.intercept = intercept


_known = detect.installed()


def _class(name: str) -> type[base.KernelInterface]:
    if name not in _known:
        raise LookupError(
            f'no kernel interface is installed as {name}: name the module in '
            f'the entry points of group nova_rt.kernel in pyproject.toml, and '
            f'run tools/setup.sh, which installs entry points')
    return _known[name]


def interface_on(kernel: emulation.Kernel, kind: str,
                 ppm: int = CAP) -> tree.TreeInterface:
    """Returns an interface as after nova-compute's start; detects nothing."""
    hierarchy = survey.hierarchy_of(kernel)
    assert hierarchy is not None
    enable(kernel, '/', 'cpu')
    found = _class(KERNELS[kind].interface)(kernel, hierarchy)
    assert isinstance(found, tree.TreeInterface)
    found.prepare(ppm)
    return found


class KernelTest(unittest.TestCase):
    """Production code on an emulation, with a clock of its own."""

    kind = 'F1'

    def setUp(self) -> None:
        self.kernel = self.new_kernel()
        self.interface = self.interface_on(self.kernel)

    def new_kernel(self, cpus: int = 4) -> emulation.Kernel:
        kernel = KERNELS[self.kind](cpus)
        self.enterContext(clock.waiting(kernel.clock))
        return kernel

    def interface_on(self, kernel: emulation.Kernel) -> tree.TreeInterface:
        return interface_on(kernel, self.kind)

    def writes_of(self, action: Callable[[], object]
                  ) -> list[tuple[str, str, str]]:
        """(group, file, text) of the writes of *action*, in order."""
        self.kernel.written.clear()
        action()
        found = []
        for path, text in self.kernel.written:
            group, _, name = path.rpartition('/')
            found.append((group.removeprefix(mount(self.kernel)) or '/',
                          name.removeprefix('cpu.rt_').removesuffix('_us'),
                          text))
        return found

    def assert_tight(self, kernel: emulation.Kernel, top: str) -> None:
        """Asserts that each group holds exactly the sum of its children.

        On F1, the top group has all of the rest if its children hold a budget.
        """
        self.assertEqual([], not_tight(kernel, top))

    def lanes(self, runtime: int, *cpus: int) -> tuple[int, ...]:
        """Returns what budgets() shows for a runtime on these pCPUs."""
        return tuple(runtime if self.interface.replicated
                     or cpu in (cpus or (0,)) else 0
                     for cpu in range(self.kernel.cpus))


class EveryKernelTest(testscenarios.WithScenarios, KernelTest):
    """Each test on each kernel."""

    scenarios = SCENARIOS


def is_token(kernel: emulation.Kernel, runtime: int) -> bool:
    """Returns whether it stands for none, where a kernel refuses 0."""
    return isinstance(kernel, hcbs_multi.Kernel) and runtime == 2


def budgets(kernel: emulation.Kernel
            ) -> dict[str, tuple[tuple[int, ...], int]]:
    """Returns what all groups have: runtimes by CPU and a period."""
    return {group: (tuple(0 if is_token(kernel, runtime) else runtime
                          for runtime in runtimes), period)
            for group, (runtimes, period) in kernel.budgets().items()}


def has_tokens(kernel: emulation.Kernel) -> bool:
    """Returns whether a group holds a value that stands for 0 (F2m)."""
    return any(runtime and is_token(kernel, runtime)
               for runtimes, _ in kernel.budgets().values()
               for runtime in runtimes)


def not_tight(kernel: emulation.Kernel, top: str) -> list[str]:
    """Returns the groups from *top* on that differ from their children.

    The sums are computed from the kernel's numbers, as the kernel does it: in
    ppm of a period of 1 s, rounded up for each child.
    """
    found, counted = budgets(kernel), kernel.budgets()
    least = 3 if isinstance(kernel, hcbs_multi.Kernel) else (
        1 if isinstance(kernel, rt_group_sched.Kernel) else 2)  # a server
    wrong = []
    for group in found:
        if group != top and not group.startswith(top + '/'):
            continue
        below = list(_below(kernel, found, group))
        if not below and (group != top):
            continue
        lanes = tuple(sum(_ppm(counted[child], cpu) for child in below)
                      for cpu in range(kernel.cpus))
        if isinstance(kernel, rt_max_cpuset.Kernel):
            lanes = (max(lanes),) * kernel.cpus
        lanes = tuple(max(lane, least) if lane else 0 for lane in lanes)
        if group == top and any(lanes) and isinstance(
                kernel, rt_group_sched.Kernel):
            lanes = (_left(kernel, found, top),) * kernel.cpus
        runtimes, period = found[group]
        if isinstance(kernel, hcbs_multi.Kernel):
            # An undo may have turned a value that stands for 0 into 0.
            lanes, runtimes = (
                tuple(0 if 0 <= lane <= least else lane for lane in each)
                for each in (lanes, runtimes))
        if isinstance(kernel, rt_max.Kernel) and runtimes[0] == rt_max.MAX:
            if group == top:
                wrong.append(f'{group} is max: guests have what the root has')
        elif runtimes != lanes or (any(lanes) and period != 1_000_000):
            wrong.append(f'{group} has {runtimes} / {period}, its children '
                         f'{lanes}')
    return wrong


def _left(kernel: emulation.Kernel,
          found: dict[str, tuple[tuple[int, ...], int]], top: str) -> int:
    """ppm that the others at the top leave of the root's."""
    runtimes, period = found['/']
    limit = min(runtimes[0] * reservation.PPM // period,
                kernel.sysctl[0] * reservation.PPM // kernel.sysctl[1])
    return limit - sum(_ppm(held, 0) for group, held in found.items()
                       if group.count('/') == 1 and group not in ('/', top))


def _below(kernel: emulation.Kernel,
           found: dict[str, tuple[tuple[int, ...], int]], group: str
           ) -> Iterator[str]:
    """Returns the nearest groups below that are not ``max``."""
    for child in found:
        if child != '/' and child.rpartition('/')[0] == group:
            if isinstance(kernel, rt_max.Kernel) and (
                    max(found[child][0]) == rt_max.MAX):
                yield from _below(kernel, found, child)
            else:
                yield child


def _ppm(held: tuple[tuple[int, ...], int], cpu: int) -> int:
    runtimes, period = held
    return -(-runtimes[cpu] * reservation.PPM // max(1, period))
