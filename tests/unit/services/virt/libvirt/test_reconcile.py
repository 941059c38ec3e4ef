# SPDX-License-Identifier: Apache-2.0

"""Tests that the kernel follows the claims, lowering first."""

import dataclasses
import re

import fixtures
import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.services.virt.libvirt import reconcile
from tests.unit import base as unit
from tests.unit.services.virt.libvirt import fakes

CAP = 950_000
PERIOD = 1_000_000  # a us of runtime is a ppm
#: Guests of libvirt, those that Nova does not know too.
RUNNING = (1, 2, 30)


class Kernel:
    """Budgets of (runtime, period) by pid, and never more than CAP."""

    def __init__(self, budgets=None):
        self.budgets = budgets or {}
        self.settled = 0
        self.guarded = 0
        self.withheld = []
        self.noted = []
        self.warned = []
        self.orphans = []
        self.broken = set()
        #: Guests because of which the kernel refuses all budgets.
        self.in_the_way = set()

    def note(self, pids):
        self.noted.append(pids)

    def bandwidth(self, pid):
        if pid in self.broken:
            raise fakes.refusal(f'/{pid}')
        runtime, period = self.budgets.get(pid, (0, 1))
        return runtime * 1_000_000 // period

    def holds(self, pid, claim):
        wanted = claim.reservation
        return self.budgets.get(pid) == (wanted.runtime_us, wanted.period_us)

    def apply(self, pid, claim):
        wanted = claim.reservation
        others = sum(map(self.bandwidth, self.budgets.keys() - {pid}))
        if self.in_the_way or pid in self.broken or (
                others + wanted.bandwidth > CAP):
            raise fakes.refusal(f'/{pid}')
        self.budgets[pid] = wanted.runtime_us, wanted.period_us

    def release(self, pid):
        self.bandwidth(pid)
        del self.budgets[pid]

    def settle(self):
        self.settled += 1

    def guard(self):
        self.guarded += 1
        if 'guard' in self.broken:
            raise fakes.refusal()

    def give_way(self, pids):
        self.in_the_way -= set(pids)

    def withhold(self, pid):
        self.bandwidth(pid)
        self.withheld.append(pid)

    def warnings(self):
        return self.warned

    def release_orphans(self, running):
        assert running == RUNNING, running
        found, self.orphans = self.orphans, []
        return found


def guest(pid, runtime=None, period=PERIOD):
    held = (fakes.claim(runtime, period),) if runtime else ()
    return reconcile.RunningGuest(f'server{pid}', pid, held)


class ReconcilerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())

    def run_once(self, kernel, *guests):
        reconcile.Reconciler(kernel).run(guests, RUNNING)
        return kernel.budgets

    def test_nothing_to_do(self):
        kernel = Kernel({1: (100, PERIOD)})
        self.assertEqual({1: (100, PERIOD)},
                         self.run_once(kernel, guest(1, 100), guest(2)))
        self.assertEqual(('', 1), (self.log.output, kernel.settled))

    def test_who_has_no_claim_gets_no_real_time(self):
        kernel = Kernel({1: (100, PERIOD)})
        self.run_once(kernel, guest(1, 100), guest(2))
        self.assertEqual([2], kernel.withheld)

    def test_controllers_are_mended_first(self):
        """If this is not possible, the last step of the audit says so."""
        kernel = Kernel()
        kernel.broken.add('guard')
        self.run_once(kernel, guest(1, 100))
        self.assertEqual((1, {1: (100, PERIOD)}),
                         (kernel.guarded, kernel.budgets))

    def test_lost_budget(self):
        self.assertEqual({1: (100, PERIOD)},
                         self.run_once(Kernel(), guest(1, 100)))
        self.assertIn('server1', self.log.output)

    def test_orphan(self):
        self.assertEqual(
            {}, self.run_once(Kernel({1: (100, PERIOD)}), guest(1)))
        self.assertIn('server1', self.log.output)

    def test_one_in_the_middle_of_something_is_left(self):
        budgets = {1: (100, PERIOD), 2: (300, PERIOD)}
        self.assertEqual(budgets, self.run_once(Kernel(dict(budgets)), *(
            dataclasses.replace(each, settled=False)
            for each in (guest(1), guest(2, 200), guest(3, 100)))))
        self.assertEqual('', self.log.output)

    def test_same_bandwidth_in_another_period(self):
        self.assertEqual({1: (100, 1000)}, self.run_once(
            Kernel({1: (200, 2000)}), guest(1, 100, 1000)))

    def test_builds_do_not_wait_for_all_that_fail(self):
        """Some are left to later audits, and all have their turn."""
        kernel = Kernel()
        kernel.broken = set(range(1, 8))
        reconciler = reconcile.Reconciler(kernel)
        guests = [guest(pid, 100) for pid in range(1, 10)]
        tried = []
        apply = kernel.apply

        def record(pid, claim):
            tried.append(pid)
            apply(pid, claim)
        kernel.apply = record
        reconciler.run(guests, RUNNING)
        self.assertEqual(3, len(set(tried) & kernel.broken))
        for _ in range(2):
            reconciler.run(guests, RUNNING)
        self.assertEqual(set(range(1, 10)), set(tried))
        self.assertEqual(3 * 3 + 2, len(tried))
        kernel.broken = set()
        reconciler.run(guests, RUNNING)
        self.assertEqual(set(range(1, 10)), set(kernel.budgets))

    def test_guests_that_give_way_do_not_wait_for_the_next_audit(self):
        kernel = Kernel()
        kernel.in_the_way = {9}
        budgets = self.run_once(kernel, *(
            guest(pid, 100) for pid in range(1, 10)))
        self.assertEqual(set(range(1, 10)), set(budgets))
        self.assertNotIn('Cannot', self.log.output)

    def test_a_failed_guest_that_is_gone_is_forgotten(self):
        kernel = Kernel()
        kernel.broken = {1}
        reconciler = reconcile.Reconciler(kernel)
        for guests in ([guest(1, 100)], [], [guest(1, 100)]):
            reconciler.run(guests, RUNNING)
        self.assertEqual(2, self.log.output.count('Cannot correct'))

    def test_lower_first(self):
        before = {1: (100_000, PERIOD), 2: (800_000, PERIOD)}
        for order in ((1, 2), (2, 1)):
            guests = {1: guest(1, 800_000), 2: guest(2, 100_000)}
            found = self.run_once(Kernel(dict(before)),
                                  *(guests[pid] for pid in order))
            self.assertEqual({1: (800_000, PERIOD), 2: (100_000, PERIOD)},
                             found)

    def test_orphans_make_room(self):
        found = self.run_once(Kernel({2: (900_000, PERIOD)}),
                              guest(1, 900_000), guest(2))
        self.assertEqual({1: (900_000, PERIOD)}, found)

    def test_failure_hinders_no_other(self):
        kernel = Kernel()
        kernel.broken = {1, 3}
        found = self.run_once(kernel, guest(1), guest(2, 100),
                              guest(3, 100), guest(4, 100))
        self.assertEqual({2: (100, PERIOD), 4: (100, PERIOD)}, found)
        self.assertEqual(1, kernel.settled)
        for name in ('server1', 'server3'):
            self.assertIn(name, self.log.output)

    def test_failure_is_logged_once_until_it_is_over(self):
        kernel = Kernel()
        reconciler = reconcile.Reconciler(kernel)
        logged = []
        for broken in ({1}, {1}, set(), {1}):
            kernel.broken = broken
            kernel.budgets.clear()
            reconciler.run([guest(1, 100)], RUNNING)
            logged.append(self.log.output.count('Cannot correct'))
        self.assertEqual([1, 1, 1, 2], logged)

    def test_an_audit_counts_what_it_corrected_and_what_it_could_not(self):
        kernel = Kernel({4: (100, PERIOD)})
        kernel.broken = {1}
        reconciler = reconcile.Reconciler(kernel)
        for broken, said in (
                ({1}, (3, 1)), ({1}, ()), (set(), (1, 0)), (set(), ())):
            kernel.broken = broken
            reconciler.run([guest(1, 100), guest(2, 100), guest(3, 100),
                            guest(4)], RUNNING)
            found = re.findall(r'this audit corrected: (\d+); .* (\d+)\.',
                               self.log.output)
            self.assertEqual([tuple(map(str, said))] if said else [], found)
            self.log.reset_output()

    def test_warnings_are_logged_once_until_they_are_over(self):
        kernel = Kernel()
        found = reconcile.Reconciler(kernel)
        for warned, times in ((['%s does'], 1), (['%s does'], 1), ([], 1),
                              (['%s does', 'other'], 2)):
            kernel.warned = warned
            found.run([], RUNNING)
            self.assertEqual(times, self.log.output.count('%s does'))

    def test_a_budget_without_tasks(self):
        kernel = Kernel()
        kernel.orphans = ['/machine/idle']
        self.run_once(kernel)
        self.assertIn('/machine/idle', self.log.output)
        self.assertEqual(1, kernel.settled)

    def test_failing_settle_is_logged(self):
        kernel = Kernel()

        def settle():
            raise fakes.refusal('/machine')
        kernel.settle = settle
        self.run_once(kernel, guest(1, 100))
        self.assertEqual({1: (100, PERIOD)}, kernel.budgets)
        self.assertIn('/machine', self.log.output)

    @hypothesis.given(st.lists(st.tuples(
        st.integers(0, 200_000), st.integers(0, 200_000)), max_size=4),
        st.randoms(use_true_random=False))
    @unit.PROPERTY
    def test_any_legal_state_reaches_the_claims_at_once(self, pairs, random):
        guests = [guest(pid, wanted)
                  for pid, (_, wanted) in enumerate(pairs)]
        random.shuffle(guests)
        found = self.run_once(Kernel({
            pid: (now, PERIOD) for pid, (now, _) in enumerate(pairs)
            if now}), *guests)
        self.assertEqual({pid: (wanted, PERIOD) for pid, (_, wanted)
                          in enumerate(pairs) if wanted}, found)
