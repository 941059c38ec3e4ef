# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.host.interrupts: masks, and what kernel this is.

Which threads are found is tested with the doctor that asks.
"""

import unittest

from nova_rt.machine.host import interrupts


class Files:
    """The given files; no others exist."""

    def __init__(self, **found: str) -> None:
        self.found = {'/' + path.replace('_', '/'): text
                      for path, text in found.items()}

    def read(self, path: str) -> str:
        if path not in self.found:
            raise FileNotFoundError(path)
        return self.found[path]


class KernelTest(unittest.TestCase):

    def test_kernels(self) -> None:
        for found, realtime, threads in (
                (Files(), False, False),
                (Files(sys_kernel_realtime='1'), True, True),
                (Files(sys_kernel_realtime='0'), False, False),
                (Files(proc_version='Linux version 6.12.1 (x) #1 SMP '
                                    'PREEMPT_RT Debian'), True, True),
                (Files(proc_version='Linux version 6.12.1-PREEMPT_RT-like '
                                    '(x) #1 SMP PREEMPT_DYNAMIC'),
                 False, False),
                (Files(proc_cmdline='quiet threadirqs'), False, True)):
            self.assertEqual(realtime, interrupts.is_realtime(found))
            self.assertEqual(threads, interrupts.are_threads(found))


class MaskTest(unittest.TestCase):

    def test_mask(self) -> None:
        for cpus, wanted in (((0,), '1'), ((0, 1, 4), '13'), ((31,),
                             '80000000'), ((32,), '1,00000000'),
                             ((0, 32, 64), '1,00000001,00000001')):
            self.assertEqual(wanted, interrupts.mask(cpus))


class InterruptTest(unittest.TestCase):

    def test_where_it_may_run(self) -> None:
        """Reserved is CPU 1; (thread, affinity, effective), and whether."""
        for cpus, affinity, effective, wanted in (
                ({0}, {0}, {0}, False), ({0, 1}, {0}, {0}, True),
                ({1}, {1}, {1}, True),
                # It is not there now, but nothing keeps it away.
                ({0}, {0, 1}, {0}, True),
                # The interrupt cannot be moved, and the thread was.
                ({0}, {1}, {1}, False)):
            found = interrupts.Interrupt(
                24, 70, 'irq/24-x', frozenset(cpus), frozenset(affinity),
                frozenset(effective))
            self.assertEqual(wanted, found.may_run_on(frozenset({1})),
                             (cpus, affinity, effective))
