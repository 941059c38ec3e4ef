# SPDX-License-Identifier: Apache-2.0

"""Bursts in a simulated virtual machine whose hypervisor reports steal."""

import os
import random
from unittest import mock

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from rt_probe import bursts
from rt_probe import gaps
from rt_probe import spin
from tests.unit import base as unit

_MS = 1_000_000
_TICK_NS, _UNIT_NS = 4 * _MS, 10 * _MS
#: The time of another thread after a time without the vCPU.
_OTHER_NS = 100_000
_ERROR_NS = _TICK_NS + _UNIT_NS
_estimate = gaps.estimate


class Machine:
    """A machine with one vCPU, which gets a share of each period.

    The guest accounts steal at its ticks.  A tick that is late comes as soon
    as the vCPU runs again.  /proc/stat rounds down to its unit.

    :param loop_ns: the time of one turn of the burst's loop
    :param slow: how much longer than on a fast CPU the burst's own work takes
    :param switched: the part of the times without the vCPU after which another
        thread runs first
    :param counts: whether the kernel counts how long threads wait
    """

    def __init__(self, share, period_ns, slow=1, switched=0.0, seed=0,
                 counts=True):
        self._budget_ns, self._period_ns = share * period_ns, period_ns
        self._slow = slow
        self._switched, self._counts = switched, counts
        self._random = random.Random(seed)  # noqa: S311
        self.now_ns = self._random.uniform(0, self._period_ns)
        self._steal_ns = self._accounted_ns = self.switches = self.waited = 0
        self._tick = 0

    def work(self, ns):
        """The vCPU runs for so long, and stands still in between."""
        left = ns * self._slow
        while True:
            phase = self.now_ns % self._period_ns
            runs = min(left, max(0, self._budget_ns - phase))
            self._pass(runs)
            left -= runs
            if left <= 0:
                return
            self._stand_still()

    def _stand_still(self):
        until = (self.now_ns // self._period_ns + 1) * self._period_ns
        self._steal_ns += until - self.now_ns
        self.now_ns = until
        if self._random.random() < self._switched:
            self.switches += 1
            self.waited += _OTHER_NS
            self._pass(_OTHER_NS)

    def _pass(self, ns):
        before = self.now_ns // _TICK_NS
        if before != self._tick:
            self._accounted_ns, self._tick = self._steal_ns, before
        self.now_ns += ns
        after = self.now_ns // _TICK_NS
        if after != before:
            self._accounted_ns, self._tick = self._steal_ns, after

    def clock(self):
        self.work(20_000)
        return int(self.now_ns)

    def stolen_ns(self):
        self.work(30_000)
        return int(self._accounted_ns // _UNIT_NS * _UNIT_NS)

    def count_switches(self):
        self.work(2_000)
        return self.switches

    def waited_ns(self):
        self.work(10_000)
        return self.waited if self._counts else None

    def estimate(self, found, *args):
        self.work(20_000 * len(list(found)))
        return _estimate(found, *args)

    def burst(self, period_ns):
        """Returns the bursts after five bursts as ``once --burst idle``."""
        found = bursts.Bursts(0.01)
        order = spin.Order(False, period_ns, _ERROR_NS, None, self.stolen_ns)
        with (mock.patch.object(spin.time, 'monotonic_ns', self.clock),
              mock.patch.object(spin.time, 'thread_time_ns', self.clock),
              mock.patch.object(spin, '_switches', self.count_switches),
              mock.patch.object(spin, '_waited_ns', self.waited_ns),
              mock.patch.object(spin.gaps, 'estimate', self.estimate),
              mock.patch.object(spin.Burst, 'run', lambda burst: spin._spin(
                  burst._order, os.getppid()))):
            for _ in range(bursts.KEPT):
                found.take(order)
        return found


class VirtualTest(base.BaseTestCase):

    @unit.PROPERTY
    @hypothesis.given(share=st.floats(0.1, 0.9),
                      period_ms=st.sampled_from([10, 20, 50, 100]),
                      told=st.booleans(), slow=st.sampled_from([1, 4, 20]),
                      switched=st.sampled_from([0, 0.1, 0.5, 1]),
                      seed=st.integers(0, 1000), counts=st.booleans())
    def test_truth_or_nothing(self, share, period_ms, told, slow, switched,
                              seed, counts):
        machine = Machine(share, period_ms * _MS, slow, switched, seed, counts)
        known = machine.burst(period_ms * _MS if told else None).known
        if known is not None:
            self.assertLessEqual(known.estimate.lower, share)
            self.assertGreaterEqual(known.estimate.upper, share)

    def test_a_usual_machine_is_measured(self):
        for share in (0.2, 0.5, 0.8):
            for told in (True, False):
                # The timers of other threads expire while the vCPU stands
                # still.
                machine = Machine(share, 100 * _MS, switched=1)
                found = machine.burst(100 * _MS if told else None)
                self.assertEqual('', found.reason)
                self.assertAlmostEqual(share, found.known.estimate.available,
                                       1)
