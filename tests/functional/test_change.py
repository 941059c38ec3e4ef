# SPDX-License-Identifier: Apache-2.0

"""Tests ``nova-rt-manage reserve``: a running server's new reservation."""

import contextlib
import errno
import io

import fixtures

from rt_operate.commands import manage
from tests.functional import base
from tests.functional import operations
from tests.functional import test_deadline
from tests import proof
from tests import seeds


class ChangeTests:
    """The tests of each kernel; to be mixed with operations.TestCase."""

    HOSTS = ('host1',)

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'rt_operate.manage.start.configure', lambda *args: None))

    def reserve(self, server: operations.Server, runtime: int,
                *argv: str, code: int = 0) -> str:
        """Runs the command, and checks the invariants; returns the output."""
        out = io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(out)):
            found = manage.main(['reserve', server['id'], '--runtime-us',
                                 str(runtime), *argv])
        self.assertEqual(code, found, out.getvalue())
        self.assertNotIn('Traceback', out.getvalue())
        self.assert_invariants()
        return out.getvalue()

    def pid(self, server: operations.Server) -> int:
        return int(self.domain(server).rt_pid)

    @proof.proves(
        'nova-rt-manage reserve, while the server runs',
        'Claim, Placement, kernel and map have the new reservation, and the '
        'guest was not restarted.')
    def test_up_and_down(self) -> None:
        server = self.reserved(share=300)
        pid = self.pid(server)
        for share in (500, 200, 700):
            out = self.reserve(server, share * 100)
            self.assertIn(f'holds: {share * 100} us every 100000 us', out)
            self.assert_runs(server, 'host1', share)
            self.assertEqual(
                share * 1000 * self.VCPUS, self.allocated(server)[0])
        self.reserve(server, 5_000, '--period-us', '50000')
        self.assert_runs(server, 'host1', 100)
        self.assertEqual(pid, self.pid(server))
        found = self.api.api_get(f'/servers/{server["id"]}/'
                                 'os-instance-actions').body
        self.assertIn('rt_change_reservation', [
            each['action'] for each in found['instanceActions']])

    def test_back_to_the_flavor(self) -> None:
        server = self.reserved(share=300)
        self.assertIn('hints: cpu.rt_runtime_us=20000;',
                      self.reserve(server, 20_000))
        self.assertIn('hints: none;', self.reserve(server, 30_000))

    def test_survives_a_start(self) -> None:
        """Each later start and move uses the changed reservation."""
        server = self.reserved(share=300)
        self.reserve(server, 50_000)
        self.act(server, 'os-stop', None, 'SHUTOFF')
        self.reserve(server, 40_000)
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 400)
        self.restart_compute_service('host1')
        self.assert_invariants()
        self.assert_runs(server, 'host1', 400)

    @proof.proves(
        'nova-rt-manage reserve, the reservation does not fit',
        'The command says so and nothing changes.')
    def test_too_much(self) -> None:
        server = self.reserved(share=300)
        for number in range(self.FULL):
            self.reserved(share=600)
        out = self.reserve(server, 90_000, code=2)
        self.assertIn('is not changed: ', out)
        self.assertIn('room for 90000 us every 100000 us', out)
        self.assert_runs(server, 'host1', 300)
        self.assertIn('it is more than the period', self.reserve(
            server, 100_001, code=2))
        self.assert_runs(server, 'host1', 300)

    @proof.proves(
        'nova-rt-manage reserve, the kernel refuses',
        'Claim, Placement and kernel are as before.')
    def test_the_kernel_refuses(self) -> None:
        server = self.reserved(share=300)
        calls: list[str] = []

        def refuse(path: str, text: str) -> None:
            if '50000' in text:  # the new runtime
                calls.append(path)
                raise OSError(errno.EINVAL, 'refused', path)
        self.kernel().intercept = refuse
        self.assertIn('is not changed: ', self.reserve(
            server, 50_000, code=2))
        self.assertTrue(calls)
        self.assert_runs(server, 'host1', 300)

    def test_busy_or_resized(self) -> None:
        server = self.reserved(share=300)
        instance = self.instance(server)
        instance.task_state = 'resize_prep'
        instance.save()
        self.assertIn('Nova is working on the server',
                      self.reserve(server, 50_000, code=2))
        instance.task_state = None
        instance.save()
        self.reserve(server, 50_000)

    def test_no_reservation(self) -> None:
        server = self.boot(self.rt_flavor(None, None))
        self.assertIn('holds no CPU reservation', self.reserve(
            server, 50_000, '--period-us', '100000', code=2))
        self.assertIn('there is no such server', self.reserve(
            {'id': '0' * 36}, 50_000, code=2))


class ResizeTests:
    """Resizes to a flavor that differs only in the reservation."""

    HOSTS = ('host1', 'host2')

    def setUp(self) -> None:
        super().setUp()
        # Nova uses the name of its host to tell whether a server stayed.
        self.flags(host='host1')

    def to(self, server: operations.Server, share: int) -> None:
        self.act(server, 'resize', {'flavorRef': self.twin(share, 300)},
                 'VERIFY_RESIZE')

    def pid(self, server: operations.Server) -> int:
        return int(self.domain(server).rt_pid)

    @proof.proves(
        'Resize to a flavor that differs only in the reservation, confirmed '
        'or reverted, with or without allow_resize_to_same_host',
        'The guest keeps running on its host, with the new reservation or, '
        'after a revert, with the old reservation.')
    def test_in_place(self) -> None:
        server = self.reserved(share=300)
        before, pid = self.claimed(server), self.pid(server)
        self.to(server, 450)
        self.assert_runs(server, 'host1', 450)
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 300)
        self.to(server, 200)
        self.assert_runs(server, 'host1', 200)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 200)
        self.assertEqual(pid, self.pid(server))

    @proof.proves(
        'Resize to a flavor that differs only in the reservation, which does '
        'not fit on the host',
        'The server is resized to another host, with a restart.')
    def test_elsewhere(self) -> None:
        server = self.reserved(share=300)
        for _ in range(self.FULL):
            self.reserved(share=500)
        self.to(server, 600)
        self.assert_runs(server, 'host2', 600)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)

    @proof.proves(
        'Resize of a stopped server to a flavor that differs only in the '
        'reservation',
        'Nova resizes the server as any other, to another host.')
    def test_stopped(self) -> None:
        server = self.reserved(share=300)
        self.act(server, 'os-stop', None, 'SHUTOFF')
        self.to(server, 450)
        self.act(server, 'confirmResize', None, 'SHUTOFF')
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 450)

    def test_a_tenant_writes_the_hint(self) -> None:
        server = self.boot(self.flavor(300), {'_nova_rt_here': 'host2'})
        self.assertEqual(300, self.share(server))


class ContainerTest(ChangeTests, operations.TestCase):
    """The tests on a kernel that grants a runtime on every CPU."""

    FULL = 1


class MachineTest(ChangeTests, operations.TestCase):
    """The tests with a runtime for each CPU: a guest keeps its pCPUs."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    VCPUS = 2
    FULL = 2


class GroupMachineTest(ChangeTests, operations.TestCase):
    """Virtual machines whose parents are throttled, too."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F1'
    FULL = 1


class DeadlineTest(ChangeTests, test_deadline.Stock, operations.TestCase):
    """Virtual machines on a stock kernel; they may leave their pCPUs."""

    FULL = 4

    def test_leaves_its_pcpu(self) -> None:
        """A vCPU stays on its pCPU if it fits there, and otherwise moves."""
        server = self.reserved(share=300)
        (here,) = self.claimed(server).cpus
        others = [self.reserved(share=500) for _ in range(base.PCPUS - 1)]
        beside = self.reserved(share=400)
        self.assertEqual((here,), self.claimed(beside).cpus)
        self.reserve(server, 45_000)
        self.assertEqual((here,), self.claimed(server).cpus)
        self._delete_server(others[0])
        pid = self.pid(server)
        self.reserve(server, 80_000)
        self.assertNotEqual((here,), self.claimed(server).cpus)
        self.assertEqual(pid, self.pid(server))
        self.assert_runs(server, 'host1', 800)


class MachineResizeTest(ResizeTests, operations.TestCase):
    """The tests of a resize with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    FULL = 4


class DeadlineResizeTest(ResizeTests, test_deadline.Stock,
                         operations.TestCase):
    """Virtual machines on a stock kernel."""

    FULL = 4


load_tests = seeds.load_of_the_day(__name__, 5, 'NOVA_RT_OPERATIONS')
