# SPDX-License-Identifier: Apache-2.0

"""Moves of vCPUs between pCPUs: ``nova-rt-manage defrag``."""

import contextlib
import errno
import io
import json
from typing import Any

import fixtures

from rt_operate.commands import manage
from rt_operate.manage import defrag
from rt_operate.manage import remote
from tests.functional import audits
from tests.functional import base
from tests.functional import kill_matrix
from tests.functional import operations
from tests.functional import test_deadline
from tests.functional import test_numa
from tests import proof
from tests import seeds

Server = operations.Server


class Commands:
    """Runs the command; to be mixed with operations.TestCase."""

    HOSTS: tuple[str, ...] = ('host1',)

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'rt_operate.manage.start.configure', lambda *args: None))

    def defrag(self, *argv: str, code: int = 0, host: str = 'host1') -> str:
        """Runs the command, and checks the invariants; returns the output."""
        out = io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(out)):
            found = manage.main(['defrag', host, *argv])
        self.assertEqual(code, found, out.getvalue())
        self.assertNotIn('Traceback', out.getvalue())
        self.assert_invariants()
        return out.getvalue()

    def places(self, *servers: Server) -> list[tuple[int, ...]]:
        return [self.claimed(server).cpus for server in servers]


class DeadlineTest(Commands, test_deadline.Stock, operations.TestCase):
    """Virtual machines on a stock kernel, whose vCPUs may move."""

    def fragmented(self) -> list[Server]:
        """Puts 0.4 on each pCPU, so that no pCPU has room for 0.6."""
        return [self.reserved(share=400) for _ in range(base.PCPUS)]

    def test_plan(self) -> None:
        """The command changes nothing, and says how to go on."""
        servers = self.fragmented()
        before = self.places(*servers)
        out = self.defrag('--for-share', '0.6', code=1)
        self.assertIn('would move server ', out)
        self.assertIn('fits on host1 after 1 move; no plan has fewer moves',
                      out)
        self.assertEqual(before, self.places(*servers))

    @proof.proves(
        'nova-rt-manage defrag --apply, while servers run',
        'A server that did not fit on any pCPU then fits. Claim, Placement, '
        'kernel and map agree after each move, and no guest is restarted.')
    def test_apply(self) -> None:
        servers = self.fragmented()
        before = self.places(*servers)
        pids = [self.domain(server).rt_pid for server in servers]
        out = self.defrag('--for-share', '0.6', '--apply')
        self.assertIn('moved server ', out)
        self.assertIn('1 move made; ', out)
        self.assertEqual(1, len([
            old for old, new in zip(before, self.places(*servers),
                                    strict=True) if old != new]))
        for server in servers:
            self.assert_runs(server, 'host1', 400)
        self.assertEqual(pids, [self.domain(server).rt_pid
                                for server in servers])
        self.assertIn('without a move', self.defrag('--for-share', '0.6'))
        self.reserved(share=600)

    def test_two_vcpus(self) -> None:
        self.fragmented()
        found = json.loads(self.defrag(
            '--for-share', '0.6', '--vcpus', '2', '--format', 'json', code=1))
        self.assertEqual((2, 2, True, False), (
            len(found['moves']), found['at_least'], found['shortest'],
            found['fits']))
        found = json.loads(self.defrag(
            '--for-share', '0.6', '--vcpus', '2', '--format', 'json',
            '--apply'))
        self.assertEqual([True, True], [
            move['made'] for move in found['moves']])
        self.reserved(share=600, vcpus=2)

    def test_largest(self) -> None:
        """Without a share, the plan makes as much room as moves can make."""
        self.fragmented()
        self.assertIn('90000 us every 100000 us', self.defrag(code=1))

    def test_no_plan(self) -> None:
        self.fragmented()
        self.assertIn('no plan of at most 1 move makes room', self.defrag(
            '--for-share', '0.6', '--vcpus', '2', '--max-moves', '1', code=2))
        self.assertIn('moves cannot help', self.defrag(
            '--for-share', '0.9', '--vcpus', '3', code=2))
        self.assertIn('there is no such compute host', self.defrag(
            code=2, host='host9'))

    @proof.proves(
        'nova-rt-manage defrag --apply, the kernel refuses a move',
        'Claim, Placement and kernel are as before the move; the earlier '
        'moves are not undone.')
    def test_the_kernel_refuses(self) -> None:
        servers = self.fragmented()
        before = self.places(*servers)
        calls: list[str] = []

        def refuse(path: str, text: str) -> None:
            calls.append(path)
            raise OSError(errno.EINVAL, 'refused', path)
        self.kernel().intercept = refuse
        out = self.defrag('--for-share', '0.6', '--apply', code=2)
        self.kernel().intercept = None
        self.assertTrue(calls)
        self.assertIn('0 of 1 move made; the next move was refused: ', out)
        self.assertEqual(before, self.places(*servers))
        self.assert_invariants()

    def test_nova_works_on_a_server(self) -> None:
        """The first server stays where it is, and another one moves."""
        servers = self.fragmented()
        for server in servers[:-1]:
            instance = self.instance(server)
            instance.task_state = 'rebooting'
            instance.save()
        found = json.loads(self.defrag(
            '--for-share', '0.6', '--format', 'json', code=1))
        self.assertEqual([servers[-1]['id']], [
            move['server'] for move in found['moves']])

    def test_bad_moves(self) -> None:
        """nova-compute checks each move itself."""
        server, other = self.reserved(share=400), self.reserved(share=600)
        ((here,), (there,)) = self.places(server, other)
        for target, source, reason in (
                (there, here, f'pCPU {there} has no room for 40000 us'),
                (here, there, 'has no vCPU with a reservation on pCPU'),
                (here, here, 'has another vCPU on pCPU'),
                (99, here, 'pCPU 99 has no room')):
            self.assertRaisesRegex(
                remote.Refused, reason, self.move, server, source, target)
        self.assertEqual([(here,), (there,)], self.places(server, other))

    def move(self, server: Server, source: int, target: int) -> None:
        host = defrag.read('host1')
        remote.call(host.name, host.cell, 'rt_move_vcpu', '',
                    uuid=server['id'], source=source, target=target)

    def test_a_stopped_server(self) -> None:
        """The claim of the server moves; the guest starts on the new pCPU."""
        server = self.reserved(share=400)
        ((here,),) = self.places(server)
        self.act(server, 'os-stop', None, 'SHUTOFF')
        self.move(server, here, here + 1)
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assertEqual([(here + 1,)], self.places(server))
        self.assert_runs(server, 'host1', 400)


class RejectTest(Commands, test_deadline.Stock, operations.TestCase):
    """Tests a host that may make room for a server itself."""

    MODE = 'apply'

    def _configure(self) -> None:
        super()._configure()
        self.flags(group='nova_rt', defrag_on_reject=self.MODE)

    @proof.proves(
        'Create, no pCPU has room but the host has, [nova_rt] '
        'defrag_on_reject = apply',
        'The host moves vCPUs of other servers first, while they run.')
    def test_on_reject(self) -> None:
        servers = [self.reserved(share=400) for _ in range(base.PCPUS)]
        before = self.places(*servers)
        self.reserved(share=600)
        self.assertEqual(1, len([
            old for old, new in zip(before, self.places(*servers),
                                    strict=True) if old != new]))
        for server in servers:
            self.assert_runs(server, 'host1', 400)

    def test_more_than_the_sum(self) -> None:
        for _ in range(base.PCPUS):
            self.reserved(share=800)
        before = self.stats()
        self.boot(self.flavor(600), status='ERROR')
        self.assertEqual(before, self.stats())


class AcceptTest(Commands, test_deadline.Stock, operations.TestCase):
    """Tests a host that gathers free bandwidth when it accepts a server."""

    def spread(self, mode: str) -> list[Server]:
        """Starts servers on two pCPUs that have room together on one.

        :param mode: the option from then on
        """
        servers = [self.reserved(share=400), self.reserved(share=300)]
        self.assertNotEqual(*self.places(*servers))
        self.flags(group='nova_rt', defrag_on_accept=mode)
        return servers

    @proof.proves(
        'Create, [nova_rt] defrag_on_accept = apply',
        'The host first moves up to two vCPUs of other servers, while they '
        'run, so that more free bandwidth is on one pCPU.')
    def test_on_accept(self) -> None:
        servers = self.spread('apply')
        pids = [self.domain(server).rt_pid for server in servers]
        new = self.reserved(share=700)
        self.assertEqual(*self.places(*servers))
        self.assert_runs(servers[0], 'host1', 400)
        self.assert_runs(servers[1], 'host1', 300)
        self.assert_runs(new, 'host1', 700)
        self.assertEqual(pids, [self.domain(server).rt_pid
                                for server in servers])
        self.assert_invariants()

    @proof.proves(
        'Create, [nova_rt] defrag_on_accept = apply, the kernel refuses a '
        'move',
        'The new server runs; the other servers stay where they are.')
    def test_the_kernel_refuses(self) -> None:
        servers = self.spread('apply')
        before = self.places(*servers)
        calls: list[str] = []

        def refuse(path: str, text: str) -> None:
            if not calls:
                calls.append(path)
                raise OSError(errno.EINVAL, 'refused', path)
        self.kernel().intercept = refuse
        new = self.reserved(share=700)
        self.assertTrue(calls)
        self.assertEqual(before, self.places(*servers))
        self.assert_runs(new, 'host1', 700)
        self.assert_invariants()

    def test_plan(self) -> None:
        """The moves are logged only."""
        servers = self.spread('plan')
        before = self.places(*servers)
        self.reserved(share=700)
        self.assertEqual(before, self.places(*servers))
        self.assertIn('These moves gather free bandwidth: server ',
                      self.stdlog.logger.output)


class AggregateTest(Commands, test_deadline.Stock, operations.TestCase):
    """Tests the packing policy of a host aggregate."""

    def metadata(self, value: str) -> None:
        aggregate = self.api.post_aggregate({'aggregate': {'name': 'rack1'}})
        self.api.add_host_to_aggregate(aggregate['id'], 'host1')
        self.api.post_aggregate_action(aggregate['id'], {'set_metadata': {
            'metadata': {'nova_rt:packing_policy': value}}})
        self.audit('host1')

    @proof.proves(
        'Aggregate metadata nova_rt:packing_policy',
        'The claim and the map of the host have this policy from the next '
        'audit on.  With an unknown policy the host takes no reservations.')
    def test_best_fit(self) -> None:
        self.metadata('best_fit')
        self.assertEqual('best_fit', self.host_map().policy)
        first, second = self.reserved(share=300), self.reserved(share=300)
        self.assertEqual(*self.places(first, second))

    def test_unknown(self) -> None:
        server = self.reserved(share=300)
        self.metadata('magic')
        self.assertEqual((), self.host_map().state.cpus)
        self.assertIn('rack1 has nova_rt:packing_policy=magic',
                      self.host_map().reason)
        self.boot(self.flavor(200), status='ERROR')
        self.assert_runs(server, 'host1', 300)


class ContainerTest(Commands, operations.TestCase):
    """On a kernel that grants a runtime on every CPU."""

    def test_held(self) -> None:
        self.reserved(share=400)
        self.assertIn('moves cannot help', self.defrag(
            '--for-share', '0.7', code=2))


class MachineTest(Commands, operations.TestCase):
    """With a runtime for each CPU a vCPU cannot leave its pCPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'

    def test_held(self) -> None:
        for _ in range(base.PCPUS):
            self.reserved(share=400)
        self.assertIn('does not let a vCPU leave its pCPU', self.defrag(
            '--for-share', '0.7', code=2))


class CellsTest(Commands, test_numa.TestCase):
    """Servers with a NUMA topology stay in their cells."""

    @proof.proves(
        'nova-rt-manage defrag --apply, servers with a NUMA topology',
        'A vCPU moves only between the pCPUs of its cell.')
    def test_in_cells(self) -> None:
        servers = [self.boot_on('host1', self.bound(400))
                   for _ in range(base.PCPUS)]
        for server in servers:
            self.assert_in_cells(server)
        out = self.defrag('--for-share', '0.6', '--vcpus', '2', '--apply')
        self.assertIn('2 moves made', out)
        for server in servers:
            self.assert_in_cells(server)
        host = defrag.read('host1')
        (cpu,) = self.claimed(servers[0]).cpus
        outside = next(cpus for cpus in self.CELLS.values()
                       if cpu not in cpus)
        self.assertRaisesRegex(
            remote.Refused, 'outside of the NUMA cell', remote.call,
            'host1', host.cell, 'rt_move_vcpu', '', uuid=servers[0]['id'],
            source=cpu, target=min(outside))


def _move(server: Server) -> None:
    """Moves the only vCPU of a server to some other pCPU."""
    host = defrag.read('host1')
    (source,) = host.claims[server['id']].cpus
    with contextlib.suppress(remote.Refused):
        remote.call('host1', host.cell, 'rt_move_vcpu', '',
                    uuid=server['id'], source=source,
                    target=(source + 1) % base.PCPUS)


class KillTest(test_deadline.Stock, kill_matrix.KillTests,
               operations.TestCase):
    """nova-compute is killed at steps of a move."""

    # test_kill has the other operations.
    test_create = test_delete = test_confirm = None

    @proof.proves(
        'nova-rt-manage defrag --apply, nova-compute is killed at any step',
        'After the restart the server has its reservation on one of the two '
        'pCPUs, and nothing is over-committed at any time.')
    def test_move(self) -> None:
        self.matrix(kill_matrix.Operation(
            'move', lambda: self.boot_here(self.small), _move))


class AuditTest(audits.Audits, test_deadline.Stock, operations.TestCase):
    """An audit at the steps of a move."""

    HOSTS = ('host1',)

    def test_move(self) -> None:
        """The whole move is made under the lock, for which an audit waits."""
        self.share = 1.0
        server: Any = self.boot_on('host1', self.small)
        before = self.claimed(server).cpus
        with self.audited('move'):
            _move(server)
            self.killer.wait()
        self.assertTrue(self.killer.seams)
        self.assertEqual(0, self.audits)
        self.assertNotEqual(before, self.claimed(server).cpus)
        self.ends(server)


load_tests = seeds.load_of_the_day(__name__, 3, 'NOVA_RT_DEFRAG')
