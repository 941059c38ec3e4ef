# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.kernel.detect and survey: which interface the kernel has."""

from collections.abc import Callable
import errno
from unittest import mock

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base as rt_base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import survey
from nova_rt.rules import exception
from tests.emulation import hcbs
from tests.emulation import hcbs_multi
from tests.emulation import hcbs_rfc
from tests.emulation import hcbs_rfc_multi
from tests.emulation import kernel as emulation
from tests.emulation import rt_group_sched
from tests.unit.machine.kernel import base

SCRATCH = '/' + survey.SCRATCH


def fails(when: Callable[[str], bool], number: int, call: Callable[..., str]
          ) -> Callable[..., str]:
    """*call*, but with an errno for some paths."""
    def wrapped(path: str, *args: str) -> str:
        if when(path):
            raise base.refuse(number)
        return call(path, *args)
    return wrapped


class DetectTest(base.EveryKernelTest):
    """Each kernel has exactly one interface, and keeps no trace of us."""

    def setUp(self) -> None:
        self.kernel = self.new_kernel()
        self.interface_name = base.KERNELS[self.kind].interface

    def _by_names(self, kernel: emulation.Kernel) -> bool:
        """Checks whether the names of a kernel's files tell its interface."""
        evidence = detect.installed()[self.interface_name].evidence
        return evidence(kernel.version) is rt_base.Evidence.NAMES

    def test_claimed_once(self) -> None:
        claimed = []
        hierarchy = survey.hierarchy_of(self.kernel)
        assert hierarchy is not None
        look = survey.Survey(self.kernel, hierarchy)
        with look.open():
            for name, kind in detect.installed().items():
                if kind.detect(look):
                    claimed.append(name)
        self.assertEqual([self.interface_name], claimed)

    def test_finds_it(self) -> None:
        found = detect.detect(self.kernel)
        assert found is not None
        self.assertEqual(self.interface_name, found.name)
        self.assertNotIn(SCRATCH, self.kernel.budgets())

    def test_finds_it_beside_guests(self) -> None:
        base.mkdirs(self.kernel, base.LEAF)
        interface = self.interface_on(self.kernel)
        interface.reserve({base.LEAF: base.budget(10_000, 100_000, 0, 1, 2,
                                                  3)})
        before = self.kernel.budgets()
        found = detect.detect(self.kernel)
        assert found is not None
        self.assertEqual(self.interface_name, found.name)
        self.assertEqual(before, self.kernel.budgets())

    def test_finds_it_after_a_crash_in_between(self) -> None:
        """The scratch group is there, perhaps with a value."""
        mount = base.mount(self.kernel)
        base.enable(self.kernel, '/', 'cpu')
        self.kernel.mkdir(SCRATCH)
        for name in ('cpu.rt_period_us', 'cpu.rt_runtime_us', 'cpu.rt.max'):
            try:
                self.kernel.write(f'{mount}{SCRATCH}/{name}', '100000'
                                  if name != 'cpu.rt.max' else '0 100000')
            except OSError:
                continue
        self.test_finds_it()

    def test_by_name(self) -> None:
        """Nothing is tried then."""
        for name, kind in detect.installed().items():
            found = detect.detect(self.kernel, name)
            self.assertIs(kind, type(found))
        self.assertEqual([], self.kernel.written)

    def test_unknown_name(self) -> None:
        with self.assertRaisesRegex(LookupError, 'use one of hcbs, .*rt_max'):
            detect.detect(self.kernel, 'nothing')

    def test_two_claims(self) -> None:
        both = [kind for kind in detect.installed().values()
                if kind.name != self.interface_name][:1]
        with mock.patch.object(both[0], 'detect', return_value=True):
            with self.assertRaisesRegex(
                    exception.KernelError, f'looks like .*{both[0].name}.*'
                    r'set \[nova_rt\] kernel_interface'):
                detect.detect(self.kernel)
            self.assertNotIn(SCRATCH, self.kernel.budgets())
            # That is how an operator goes on.
            self.assertIsNotNone(detect.detect(self.kernel,
                                               self.interface_name))

    def test_no_permission(self) -> None:
        """Each refused file gives one sentence, and never a guess."""
        for number in (errno.EPERM, errno.EACCES, errno.EROFS):
            with self.subTest(errno.errorcode[number]):
                kernel = self.new_kernel()
                kernel.make = fails(  # type: ignore[method-assign]
                    lambda path: True, number,
                    kernel.make)  # type: ignore[arg-type]
                self._refused(kernel)
                kernel = self.new_kernel()
                base.enable(kernel, '/', 'cpu')

                def intercept(path: str, text: str, number: int = number
                              ) -> None:
                    raise base.refuse(number)

                kernel.intercept = intercept
                if self._by_names(kernel) or self.kind == 'F2-v2':
                    self._found(kernel)  # told by what can be read
                else:
                    self._refused(kernel)

    def test_unreadable(self) -> None:
        for number in (errno.EPERM, errno.EACCES, errno.EIO):
            kernel = self.new_kernel()
            kernel.read = fails(  # type: ignore[method-assign]
                lambda path: 'cpu.rt' in path or 'controllers' in path,
                number, kernel.read)
            self._refused(kernel)

    def test_nonsense(self) -> None:
        """An empty file is nonsense, too."""
        for text in ('', 'abc', '1.5', '\N{ARABIC-INDIC DIGIT THREE}x'):
            kernel = self.new_kernel()
            read = kernel.read

            def nonsense(path: str, text: str = text) -> str:
                return text if path.endswith('period_us') else read(path)

            kernel.read = nonsense  # type: ignore[method-assign]
            if self._by_names(kernel):
                self._found(kernel)
            else:
                self._refused(kernel)

    def test_no_files(self) -> None:
        self.kernel.read = fails(  # type: ignore[method-assign]
            lambda path: 'cpu.rt' in path, errno.ENOENT, self.kernel.read)
        self.assertIsNone(detect.detect(self.kernel))
        self.assertNotIn(SCRATCH, self.kernel.budgets())

    def test_not_mounted(self) -> None:
        with mock.patch.object(self.kernel, 'mounts', return_value=[
                ('/proc', 'proc', 'rw')]):
            self.assertIsNone(detect.detect(self.kernel))

    def _found(self, kernel: emulation.Kernel) -> None:
        found = detect.detect(kernel)
        assert found is not None
        self.assertEqual(self.interface_name, found.name)
        self.assertNotIn(SCRATCH, kernel.budgets())

    def _refused(self, kernel: emulation.Kernel) -> None:
        with self.assertRaises(exception.KernelError) as caught:
            detect.detect(kernel)
        text = str(caught.exception)
        self.assertIn('cannot find out what the kernel offers', text)
        self.assertNotIn('\n', text)
        self.assertNotIn(SCRATCH, kernel.budgets())


class VariantTest(base.KernelTest):
    """Other revisions and settings of the same interfaces."""

    def detected(self, kernel: emulation.Kernel) -> str:
        found = detect.detect(kernel)
        return found.name if found else ''

    def test_revisions_of_the_rfc(self) -> None:
        for revision in range(1, 6):
            self.assertEqual('hcbs_rfc', self.detected(
                hcbs_rfc.Kernel(revision=revision)))

    def test_f2m_that_refuses_zero(self) -> None:
        self.assertEqual('hcbs_multi', self.detected(
            hcbs_multi.Kernel(refuses_zero=True)))

    def test_f3m_that_shows_one_number(self) -> None:
        self.assertEqual('hcbs_rfc_multi', self.detected(
            hcbs_rfc_multi.Kernel(uniform_scalar=True)))

    def test_one_cpu(self) -> None:
        for kernel in base.KERNELS.values():
            self.assertEqual(kernel.interface, self.detected(kernel(1)))

    def test_other_period_of_the_host(self) -> None:
        """New groups of F2 start with that of the sysctl."""
        for version in (1, 2):
            kernel = hcbs.Kernel(version=version)
            kernel.set_sysctl(950_000, 1_000_000)
            kernel.sysctl = (475_000, 500_000)
            self.assertEqual('hcbs', self.detected(kernel))

    def test_controllers_mounted_together(self) -> None:
        """Distributions mount them together."""
        kernel = rt_group_sched.Kernel()
        with mock.patch.object(kernel, 'mounts', return_value=[
                (base.mount(kernel), 'cgroup', 'rw,cpu,cpuacct')]):
            self.assertEqual('rt_group_sched', self.detected(kernel))

    def test_hybrid(self) -> None:
        """cpu is on v1, and a v2 hierarchy has no controllers."""
        kernel = rt_group_sched.Kernel()
        mounts = [('/sys/fs/cgroup/unified', 'cgroup2', 'rw'),
                  *kernel.mounts()]
        with mock.patch.object(kernel, 'mounts', return_value=mounts):
            self.assertEqual('rt_group_sched', self.detected(kernel))

    def test_short_is_not_refused(self) -> None:
        """Only a scratch group shows the difference between F1 and F2."""
        kernel = hcbs.Kernel()
        look = survey.Survey(kernel, cgroup.Hierarchy(
            base.mount(kernel), 'cpu'))
        with look.open():
            self.assertIs(survey.Outcome.SHORT, look.attempt(
                'cpu.rt_runtime_us', '1000001'))
            self.assertIs(survey.Outcome.REFUSED, look.attempt(
                'cpu.rt_runtime_us', 'abc'))
            self.assertIs(survey.Outcome.ACCEPTED, look.attempt(
                'cpu.rt_runtime_us', '1000'))
            self.assertEqual('0', look.value('cpu.rt_runtime_us'))
            self.assertTrue(look.in_root('cpu.rt_runtime_us'))
