# SPDX-License-Identifier: Apache-2.0


import ddt
from oslotest import base

from rt_probe import evidence
from rt_probe import machine
from rt_probe import sources
from rt_probe import threads

_MS = 1_000_000
_PERIOD = 100 * _MS
START = sources.Sample(0, 0, frozenset({1}), 0, (0, 0))


def thread(run=0, wait=0, slept=0, runnable=True):
    return threads.Thread(run * _MS, wait * _MS, slept, runnable)


def after(ms=500, used=150, **changes):
    return START._replace(**{
        'at_ns': ms * _MS, 'wall_ns': ms * _MS, 'used_ns': used * _MS,
        **changes})


@ddt.ddt
class DisturbanceTest(base.BaseTestCase):

    def test_none(self):
        self.assertEqual('', evidence.disturbance(START, after(), 500 * _MS))

    @ddt.data(
        ('jumped by [+]3.0 s', {'wall_ns': 3500 * _MS}),
        ('jumped by -3.0 s', {'wall_ns': -2500 * _MS}),
        ('nothing ran for 5.0 s', {'ms': 5000}),
        ('CPUs changed from 1 to 0,1', {'cpus': frozenset({0, 1})}),
        ('counter went backwards', {'used': -1}),
        ('counter went backwards', {'throttling': (-1, 0)}),
        ('counter went backwards', {'throttling': None}),
        ('no time passed', {'ms': 0, 'used': 0}))
    @ddt.unpack
    def test_reason(self, reason, changes):
        self.assertRegex(evidence.disturbance(
            START, after(**changes), 500 * _MS), reason)


class StepTest(base.BaseTestCase):

    def source(self, before, now, needed=1):
        return evidence.step(before, now, _PERIOD, needed).source

    def test_throttled_in_each_period(self):
        step = evidence.step(START, after(throttling=(5, 5)), _PERIOD, 1)
        self.assertEqual(sources.THROTTLING, step.source)
        self.assertAlmostEqual(0.3, step.used)

    def test_not_throttled_in_one(self):
        self.assertEqual('', self.source(START, after(throttling=(5, 4))))

    def test_idle_periods_are_not_counted_by_the_kernel(self):
        self.assertEqual('', self.source(START, after(throttling=(2, 2))))

    def test_no_period_at_all(self):
        self.assertEqual('', self.source(START, after(throttling=(0, 0))))

    def threads(self, then, now, **kwargs):
        return self.source(
            START._replace(threads={7: then}),
            after(threads={7: now}), **kwargs)

    def test_thread_that_never_slept(self):
        """The kernel does not count the wait of a thread that still waits."""
        self.assertEqual(sources.SCHEDSTAT, self.threads(
            thread(), thread(run=150, wait=280)))

    def test_thread_that_slept_for_a_moment(self):
        self.assertEqual(sources.SCHEDSTAT, self.threads(
            thread(), thread(run=150, wait=349, slept=3)))

    def test_thread_that_slept(self):
        self.assertEqual('', self.threads(
            thread(), thread(run=150, wait=230, slept=3)))

    def test_thread_that_waits_now(self):
        """Up to a period of the wait is not counted yet."""
        before = START._replace(threads={7: thread()})
        found = evidence.step(before, after(threads={
            7: thread(run=150, wait=280, slept=3)}), _PERIOD, 1)
        self.assertEqual((sources.SCHEDSTAT, 70 * _MS),
                         (found.source, found.unwanted_ns))

    def test_thread_that_slept_again_and_again(self):
        """In a long step an uncounted wait is negligible, but sleep is not."""
        start, before = (START._replace(at_ns=ms * _MS, threads={7: thread(
            run=0.3 * ms, wait=0.55 * ms, slept=ms)}) for ms in (0, 500))
        now = after(ms=1000, threads={
            7: thread(run=300, wait=550, slept=1000)})
        self.assertEqual(sources.SCHEDSTAT, self.source(before, now))
        self.assertEqual('', evidence.step(before, now, _PERIOD, 1, start
                                           ).source)

    def test_thread_that_sleeps_now(self):
        self.assertEqual('', self.threads(
            thread(), thread(run=150, wait=300, runnable=False)))

    def test_one_thread_cannot_want_two_cpus(self):
        self.assertEqual('', self.threads(
            thread(), thread(run=150, wait=350), needed=2))

    def test_new_thread_tells_nothing(self):
        self.assertEqual('', self.source(START, after(threads={
            7: thread(run=150, wait=350)})))

    def test_thread_that_begins_to_want_more(self):
        """The thread could have used the time that it slept before, too."""
        before = START._replace(threads={7: thread()})
        for wait, runnable, source in (
                (180, True, sources.SCHEDSTAT), (170, True, ''),
                (180, False, '')):
            found = evidence.step(before, after(threads={7: thread(
                run=150, wait=wait, slept=9, runnable=runnable)}), 0, 1,
                begun=True)
            self.assertEqual(source, found.source)
        found = evidence.step(before, after(threads={
            7: thread(run=150, wait=300, slept=9)}), 0, 1, begun=True)
        self.assertEqual(50 * _MS, found.unwanted_ns)

    def test_who_begins_to_wait(self):
        before = START._replace(threads={7: thread()})
        for ms, waits in ((15, True), (5, False)):
            self.assertEqual(waits, evidence.waits(before, after(threads={
                7: thread(run=150, wait=ms), 8: thread(wait=400)})))

    def steal(self, idle, busy=300, stolen=200):
        return self.source(
            START._replace(machine=machine.Machine(0, 0, 0)),
            after(machine=machine.Machine(busy * _MS, idle * _MS,
                                          stolen * _MS)))

    def test_machine_without_idle_time(self):
        self.assertEqual(sources.STEAL, self.steal(idle=0))

    def test_machine_with_idle_time(self):
        self.assertEqual('', self.steal(idle=20))

    def test_what_a_busy_machine_received(self):
        """A guest of KVM counted 0.85 of a CPU at its ticks, and got 0.81."""
        step = evidence.step(
            START._replace(machine=machine.Machine(0, 0, 0)),
            after(used=425, machine=machine.Machine(425 * _MS, 0, 95 * _MS)),
            _PERIOD, 1)
        self.assertEqual(405 * _MS, step.used_ns)

    def test_machine_whose_ticks_are_lost(self):
        """A guest of KVM with 0.6 of a CPU told 0.0: no busy tick counted."""
        self.assertEqual('', self.steal(idle=0, busy=0))
        self.assertEqual('', self.steal(idle=0, busy=100))

    def pressure(self, full, **changes):
        return self.source(
            START._replace(full_ns=0, throttling=None, **changes),
            after(full_ns=full * _MS, throttling=None, **changes))

    def test_group_that_runs_or_stalls(self):
        self.assertEqual(sources.PRESSURE, self.pressure(350))

    def test_group_that_also_sleeps(self):
        self.assertEqual('', self.pressure(300))

    def test_pressure_tells_nothing_of_several_cpus(self):
        self.assertEqual('', self.pressure(350, cpus=frozenset({0, 1})))
