# SPDX-License-Identifier: Apache-2.0

"""The emulated and the real kernel get the same calls and must agree.

After each call the errno and all values read back are compared.  The sequences
are random; a failure prints their seed, and NOVA_RT_SEED repeats a sequence.
"""

from collections.abc import Callable
import errno
import os
import pathlib
import random
import subprocess

from nova_rt.machine.kernel import two_files as f1
from tests.emulation import rt_group_sched as emulation
from tests.functional.kernel import base
from tests import seeds

SEQUENCES = int(os.environ.get('NOVA_RT_SEQUENCES', '100'))
CALLS = 40

GROUPS = ('/a', '/a/b', '/a/b/c', '/d', '/d/e')
RUNTIMES = (0, 1, 2, 5, 10, 50, 100, 250, 500, 999, 1_000, 1_001, 1_500,
            1_999, 2_000, 2_001, 2_002, 4_000, 950_001, 1_000_000)
PERIODS = (0, 500, 1_000, 2_000, 10_000, 99_991, 100_000, 250_000,
           1_000_000, 2_000_000, 4_194_304)
#: With these values the real kernel can keep running.
TEXTS = ('0x10', '0X1f', '010', '08', '0', '00', '+5', '-+5', '--5', ' 5',
         '5 ', '5 5', 'abc', '', '-1', '-2', '1.5', '0x', '0xg', '1e3', '5,',
         '9223372036854775807', '9223372036854775808',
         '-9223372036854775808', '-9223372036854775809',
         '18446744073709551615', '18446744073709551616',
         '18446744073709552', '17592186045', '17592186044416', '٣')


def result(action: Callable[[], object]) -> str:
    """Returns the name of the errno; '' for success."""
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return ''


class Pair:
    """Both kernels, and the real children by the emulated ids."""

    def __init__(self, test: base.RealKernelTest) -> None:
        self.test = test
        self.top = test.top
        self.name = '/' + test.name
        self.kernel = emulation.Kernel(os.cpu_count() or 1)
        self.kernel.mkdir(self.name)
        self.write(emulation.RUNTIME, '', str(base.TOP_US), '')
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self.log: list[str] = []

    def real(self, group: str) -> pathlib.Path:
        return pathlib.Path(f'{self.top}{group}')

    def both(self, what: str, real: Callable[[], object],
             emulated: Callable[[], object]) -> str:
        """Makes a call to both kernels; errno and values must agree."""
        wanted, found = result(real), result(emulated)
        self.log.append(f'{what} -> {wanted or "ok"}')
        self.test.assertEqual(
            wanted, found, '\n'.join(self.log[-20:]) + '\nemulated: '
            + (found or 'ok'))
        self.compare()
        return wanted

    def compare(self) -> None:
        emulated = {group.removeprefix(self.name): values for group, values
                    in self.kernel.snapshot().items() if group != '/'}
        real = {}
        for group in ('', *GROUPS):
            path = self.real(group)
            if path.exists():
                real[group] = (int((path / f1.RUNTIME).read_text()),
                               int((path / f1.PERIOD).read_text()))
        self.test.assertEqual(real, emulated, '\n'.join(self.log[-20:]))

    def write(self, name: str, group: str, text: str, what: str = 'write'
              ) -> str:
        path = self.real(group) / name
        emulated = f'{emulation.CPU_MOUNT}{self.name}{group}/{name}'
        if not what:
            path.write_text(text)
            self.kernel.write(emulated, text)
            return ''
        return self.both(f'{what} {group}/{name} {text!r}',
                         lambda: _write(path, text),
                         lambda: self.kernel.write(emulated, text))

    def mkdir(self, group: str) -> None:
        self.both(f'mkdir {group}', self.real(group).mkdir,
                  lambda: self.kernel.mkdir(self.name + group))

    def rmdir(self, group: str) -> None:
        """Removes a group without a budget, which could return late."""
        if self.kernel.snapshot().get(self.name + group, (0, 0))[0]:
            self.write(emulation.RUNTIME, group, '0')
        if not self.kernel.snapshot().get(self.name + group, (0, 0))[0]:
            self.both(f'rmdir {group}', self.real(group).rmdir,
                      lambda: self.kernel.rmdir(self.name + group))

    def start(self) -> None:
        child = self.test.start()
        thread = child.pid
        self.children[thread] = child
        # The task's own group is not compared, so the task first enters one of
        # ours.
        (self.top / 'tasks').write_text(str(thread))
        self.kernel.spawn(thread, self.name)

    def end(self, thread: int) -> None:
        self.test.end(self.children.pop(thread))
        self.kernel.exit(thread)
        self.log.append(f'end {thread}')

    def move(self, thread: int, group: str) -> None:
        self.both(f'move {thread} {group}',
                  lambda: _write(self.real(group) / 'tasks', str(thread)),
                  lambda: self.kernel.move(thread, 'cpu',
                                           self.name + group))

    def policy(self, thread: int, policy: int, priority: int) -> None:
        self.both(f'policy {thread} {policy} {priority}',
                  lambda: os.sched_setscheduler(
                      thread, policy, os.sched_param(priority)),
                  lambda: self.kernel.set_policy(thread, policy, priority))
        self.test.assertEqual(os.sched_getscheduler(thread),
                              self.kernel.tasks[thread].policy)


def _write(path: pathlib.Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, text.encode() + b'\n')
    finally:
        os.close(handle)


class DifferentialTest(base.RealKernelTest):
    """The kernels never disagree; tests.full.kernel tests other kernels."""

    interfaces = ('rt_group_sched',)

    def setUp(self) -> None:
        super().setUp()
        self.take_room()
        self.pair = Pair(self)

    def test_random_sequences(self) -> None:
        seed = seeds.seed()
        print(f'NOVA_RT_SEED={seed}', flush=True)
        chosen = random.Random(seed)  # noqa: S311 - not for secrets
        with self.subTest(f'NOVA_RT_SEED={seed}'):
            for _ in range(SEQUENCES):
                self._sequence(chosen)
                self._clear()

    def _sequence(self, chosen: random.Random) -> None:
        pair = self.pair
        pair.log.clear()
        for group in GROUPS:
            if chosen.random() < 0.8:
                pair.mkdir(group)
        for _ in range(3):
            pair.start()
        for _ in range(CALLS):
            self._call(chosen, chosen.choice(GROUPS))

    def _call(self, chosen: random.Random, group: str) -> None:
        pair = self.pair
        thread = chosen.choice(list(pair.children))
        kind = chosen.choices(
            ('runtime', 'period', 'text', 'mkdir', 'rmdir', 'move', 'policy',
             'restart'), (30, 20, 8, 6, 4, 14, 14, 1))[0]
        if kind == 'runtime':
            pair.write(emulation.RUNTIME, group, str(chosen.choice(RUNTIMES)))
        elif kind == 'period':
            pair.write(emulation.PERIOD, group, str(chosen.choice(PERIODS)))
        elif kind == 'text':
            name = chosen.choice((emulation.RUNTIME, emulation.PERIOD))
            pair.write(name, group, chosen.choice(TEXTS))
        elif kind == 'mkdir':
            pair.mkdir(group)
        elif kind == 'rmdir':
            pair.rmdir(group)
        elif kind == 'move':
            pair.move(thread, chosen.choice(('', *GROUPS)))
        elif kind == 'policy':
            pair.policy(thread, *chosen.choice((
                (os.SCHED_OTHER, 0), (os.SCHED_RR, 1), (os.SCHED_FIFO, 1),
                (os.SCHED_BATCH, 0), (os.SCHED_RR, 0), (os.SCHED_OTHER, 1),
                (os.SCHED_FIFO, 100))))
        else:
            pair.end(thread)
            pair.start()

    def _clear(self) -> None:
        for thread in list(self.pair.children):
            self.pair.end(thread)
        for group in reversed(GROUPS):
            if self.pair.real(group).exists():
                self.pair.rmdir(group)
                self.assertFalse(self.pair.real(group).exists())

    def test_each_text_as_each_value(self) -> None:
        """Writes each text in a group without a budget, and with one."""
        self.pair.mkdir('/a')
        for runtime in ('0', '1000'):
            for name in (emulation.RUNTIME, emulation.PERIOD):
                for text in TEXTS:
                    self.pair.write(emulation.RUNTIME, '/a', '0')
                    self.pair.write(emulation.PERIOD, '/a', '1000000')
                    self.pair.write(emulation.RUNTIME, '/a', runtime)
                    self.pair.write(name, '/a', text)

    def test_a_task_in_a_group_that_loses_its_budget(self) -> None:
        pair = self.pair
        pair.mkdir('/a')
        pair.start()
        thread = next(iter(pair.children))
        pair.move(thread, '/a')
        pair.policy(thread, os.SCHED_RR, 1)
        pair.write(emulation.RUNTIME, '/a', '1000')
        pair.policy(thread, os.SCHED_RR, 1)
        pair.write(emulation.RUNTIME, '/a', '0')
        pair.write(emulation.RUNTIME, '/a', '1')
        pair.end(thread)
        pair.write(emulation.RUNTIME, '/a', '0')

    def test_the_top_cannot_exceed_the_root(self) -> None:
        """The kernel surely refuses, so that the host does not change."""
        for text in ('950001', '1000000', '-1', '1000001'):
            self.assertEqual('EINVAL', self.pair.write(
                emulation.RUNTIME, '', text))

    def test_a_removed_group_keeps_its_budget_a_while(self) -> None:
        """The test does not compare the time, only that the budget returns."""
        pair = self.pair
        for _ in range(5):
            pair.mkdir('/a')
            pair.mkdir('/d')
            pair.write(emulation.RUNTIME, '/a', str(base.TOP_US))
            pair.real('/a').rmdir()
            pair.kernel.rmdir(pair.name + '/a')
            path = f'{emulation.CPU_MOUNT}{pair.name}/d/{emulation.RUNTIME}'
            with self.assertRaises(OSError) as caught:
                pair.kernel.write(path, str(base.TOP_US))
            self.assertEqual(errno.EINVAL, caught.exception.errno)
            base.eventually(lambda: _write(
                pair.real('/d') / f1.RUNTIME, str(base.TOP_US)))
            pair.kernel.clock.sleep(1)
            pair.kernel.write(path, str(base.TOP_US))
            pair.compare()
            pair.rmdir('/d')


class CpusetTest(base.RealKernelTest):
    """The few rules of cpusets that matter when a guest is confined."""

    interfaces = ('rt_group_sched',)

    def setUp(self) -> None:
        super().setUp()
        self.cpuset = self.scratch('cpuset')
        (self.cpuset / 'cpuset.mems').write_text('0')
        self.kernel = emulation.Kernel(os.cpu_count() or 1)
        self.kernel.mkdir_cpuset('/t')

    def both(self, group: str, text: str) -> str:
        real = pathlib.Path(f'{self.cpuset}{group}/{emulation.CPUS}')
        path = f'{emulation.CPUSET_MOUNT}/t{group}/{emulation.CPUS}'
        wanted = result(lambda: _write(real, text))
        self.assertEqual(
            wanted, result(lambda: self.kernel.write(path, text)),
            f'{group} {text!r}')
        self.assertEqual(real.read_text().strip(), self.kernel.read(path))
        return wanted

    def test_writes(self) -> None:
        last = (os.cpu_count() or 1) - 1
        every = f'0-{last}' if last else '0'
        (self.cpuset / 'child').mkdir()
        self.kernel.mkdir_cpuset('/t/child')
        for group, text in (
                ('', '0'), ('', every), ('', f'{last + 1}'), ('', 'x'),
                ('/child', '0'), ('/child', every), ('/child', f'{last}'),
                ('', f'{last}'), ('', '0,0'), ('/child', ''), ('', ''),
                ('/child', '0'), ('', '0'), ('/child', every)):
            self.both(group, text)

    def test_a_task_needs_a_cpu(self) -> None:
        (self.cpuset / 'child').mkdir()
        (self.cpuset / 'child' / 'cpuset.mems').write_text('0')
        self.kernel.mkdir_cpuset('/t/child')
        self.both('', '0')
        child = self.start()
        self.kernel.spawn(child.pid)

        def move() -> str:
            wanted = result(lambda: _write(
                self.cpuset / 'child' / 'tasks', str(child.pid)))
            self.assertEqual(wanted, result(lambda: self.kernel.move(
                child.pid, 'cpuset', '/t/child')))
            return wanted

        self.assertEqual('ENOSPC', move())
        self.both('/child', '0')
        self.assertEqual('', move())
        self.assertEqual('ENOSPC', self.both('/child', ''))
