# SPDX-License-Identifier: Apache-2.0

"""Tests ``nova-rt advise --apply --all``: reservations follow their loads."""

import argparse
import contextlib
import io
import json
import pathlib

import fixtures

from nova_rt.rules import reservation
from rt_models.model import kernel as rt_kernel
from rt_monitor import histogram
from rt_operate import advice
from rt_operate.commands import keep
from tests.functional import operations
from tests.functional import test_deadline
from tests import proof
from tests import seeds

LIMITS = {'hw__cpu.rt_auto_min_share': '0.1',
          'hw__cpu.rt_auto_max_share': '0.7',
          'hw__cpu.rt_auto_target_ms': '600',
          'hw__cpu.rt_auto_percentile': '0.95'}
PERIOD_US, SECONDS, PARTS, REQUESTS = 100_000, 5.0, 10, 1000


class KeepTests:
    """The tests of each kernel; to be mixed with operations.TestCase."""

    HOSTS = ('host1',)

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'rt_operate.manage.start.configure', lambda *args, **more: None))
        self.audit_log = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'audit'
        self.keeper = self.started()

    def started(self, dry_run: bool = False) -> keep.Keeper:
        return keep.Keeper(argparse.Namespace(
            format='text', config_file=(), dry_run=dry_run, most_changes=100,
            audit_log=str(self.audit_log)), None, rt_kernel.Kernel())

    def follows(self, share: int, **limits: str) -> operations.Server:
        """Starts a server whose flavor has a target and limits."""
        server = self.boot(self.rt_flavor(
            share * 100, PERIOD_US, self.VCPUS, **(LIMITS | limits)))
        self.assert_invariants()
        return server

    def load(self, server: operations.Server, used: float, unclear: int = 0
             ) -> advice.MeasuredLoad:
        """Returns a measurement of a server whose vCPUs use this share."""
        took = [0] * histogram.BUCKETS
        took[histogram.bucket_of(100_000_000)] = REQUESTS
        return advice.MeasuredLoad(
            [REQUESTS // PARTS] * PARTS, SECONDS,
            [used * SECONDS * self.VCPUS / PARTS] * PARTS, self.VCPUS,
            histogram.Histogram.from_counts(took, 0), reservation.Reservation(
                self.share(server) * 100, PERIOD_US), 0, unclear)

    def step(self, server: operations.Server, used: float, unclear: int = 0
             ) -> str:
        """Takes one step, and checks the invariants; returns the output."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.keeper.step({server['id']: self.load(server, used, unclear)})
        self.assert_invariants()
        return said.getvalue()

    @proof.proves(
        'nova-rt advise --apply --all, the load of a server grows and shrinks',
        'Claim, Placement, kernel and map follow the load within the limits '
        'of the flavor, and the guest is not restarted.')
    def test_follows_its_load(self) -> None:
        server = self.follows(300)
        pid = self.domain(server).rt_pid
        for _ in range(4):
            self.step(server, 0.69)
        self.assert_runs(server, 'host1', 700)
        for _ in range(12):
            self.step(server, 0.01)
        self.assert_runs(server, 'host1', 100)
        self.assertEqual(pid, self.domain(server).rt_pid)
        changes = [json.loads(line)['runtime_us'] for line
                   in self.audit_log.read_text().splitlines()]
        self.assertEqual(70_000, max(changes))
        self.assertEqual(10_000, changes[-1])

    @proof.proves(
        'nova-rt advise --apply --all, signals that are unclear, no room, a '
        'flavor without a target, a dry run',
        'Nothing changes; except for a flavor without a target, the command '
        'says why.')
    def test_changes_nothing(self) -> None:
        server = self.follows(300)
        self.assertIn('1 exchanges are unclear', self.step(server, 0.6, 1))
        self.assert_runs(server, 'host1', 300)
        self.keeper = self.started(dry_run=True)
        self.assertIn('(--dry-run)', self.step(server, 0.6))
        self.assert_runs(server, 'host1', 300)
        self.keeper = self.started()
        others = [self.reserved(share=600) for _ in range(self.FULL)]
        self.assertEqual('', self.step(others[0], 0.1))
        self.assertIn('is not changed: ', self.step(server, 0.6))
        self.assert_runs(server, 'host1', 300)


class ContainerTest(KeepTests, operations.TestCase):
    """The tests on a kernel that grants a runtime on every CPU."""

    FULL = 1


class DeadlineTest(KeepTests, test_deadline.Stock, operations.TestCase):
    """Virtual machines on a stock kernel; they may leave their pCPUs."""

    FULL = 4


load_tests = seeds.load_of_the_day(__name__, 4, 'NOVA_RT_OPERATIONS')
