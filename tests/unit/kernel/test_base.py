# SPDX-License-Identifier: Apache-2.0

"""nova_rt.kernel.base: the journal of writes."""

import errno

from nova_rt.kernel import base as kernel_base
from tests.emulation import rt_group_sched as emulation
from tests.unit.kernel import base

ROOT = emulation.CPU_MOUNT
RUNTIME = f'{ROOT}/a/cpu.rt_runtime_us'
PERIOD = f'{ROOT}/a/cpu.rt_period_us'


class JournalTest(base.KernelTest):
    """Writes that are undone, last first, when a later one fails."""

    def setUp(self) -> None:
        super().setUp()
        self.kernel.mkdir('/a')
        self.before = self.kernel.snapshot()

    def test_keeps_what_succeeded(self) -> None:
        with kernel_base.journal(self.kernel) as journal:
            journal.write(RUNTIME, 10_000)
            journal.write(PERIOD, 100_000)
        self.assertEqual((10_000, 100_000), self.kernel.snapshot()['/a'])

    def test_does_not_write_an_equal_value(self) -> None:
        with kernel_base.journal(self.kernel) as journal:
            journal.write(PERIOD, 1_000_000)
        self.assertEqual([], self.kernel.written)

    def test_undoes_last_first(self) -> None:
        with self.assertRaises(RuntimeError), kernel_base.journal(
                self.kernel) as journal:
            journal.write(RUNTIME, 10_000)
            journal.write(PERIOD, 100_000)
            raise RuntimeError('anything')
        self.assertEqual(self.before, self.kernel.snapshot())
        self.assertEqual([(PERIOD, '1000000'), (RUNTIME, '0')],
                         self.kernel.written[2:])

    def test_undoes_on_keyboard_interrupt(self) -> None:
        with self.assertRaises(KeyboardInterrupt), kernel_base.journal(
                self.kernel) as journal:
            journal.write(RUNTIME, 10_000)
            raise KeyboardInterrupt
        self.assertEqual(self.before, self.kernel.snapshot())

    def test_a_refused_write_is_raised_and_undone(self) -> None:
        with self.assertRaises(OSError) as caught, kernel_base.journal(
                self.kernel) as journal:
            journal.write(RUNTIME, 10_000)
            journal.write(PERIOD, 5_000)
        self.assertEqual(errno.EINVAL, caught.exception.errno)
        self.assertEqual(self.before, self.kernel.snapshot())

    def test_undo_passes_over_groups_that_are_gone(self) -> None:
        self.kernel.mkdir('/b')
        with self.assertRaises(RuntimeError), kernel_base.journal(
                self.kernel) as journal:
            journal.write(f'{ROOT}/b/cpu.rt_runtime_us', 7_000)
            journal.write(RUNTIME, 10_000)
            self.kernel.rmdir('/a')
            raise RuntimeError('anything')
        self.assertEqual((0, 1_000_000), self.kernel.snapshot()['/b'])

    def test_another_value_read_back_is_an_error(self) -> None:
        kernel = Rounding()
        kernel.mkdir('/a')
        with self.assertRaisesRegex(
                OSError, 'rt_runtime_us reads 9999 after writing 10000'
        ), kernel_base.journal(kernel) as journal:
            journal.write(RUNTIME, 10_000)
        self.assertEqual((0, 1_000_000), kernel.snapshot()['/a'])


class Rounding(emulation.Kernel):
    """A kernel that takes one microsecond off large values."""

    def write(self, path: str, text: str) -> None:
        super().write(path, '9999' if text == '10000' else text)
