# SPDX-License-Identifier: Apache-2.0

"""Tests the wait for a moment at which a budget may become smaller."""

import fixtures
from oslotest import base

from nova_rt.services.virt.libvirt import lowering

PERIOD_US, OLD_US, NEW_US = 200_000, 80_000, 60_000
THREAD = 42


class Guest:
    """A server that uses its old runtime at the begin of each period.

    :ivar now_us: the time, which only sleeps let pass
    """

    def __init__(self, begin_us, runtime_us=OLD_US):
        self.now_us, self.runtime_us = begin_us, runtime_us
        self.runnable, self.ended = True, False

    def used_by(self, thread):
        """The CPU time of a thread in this period."""
        return self.used_us

    def sleep(self, seconds):
        self.now_us += round(seconds * 1e6)

    def monotonic(self):
        return self.now_us / 1e6

    @property
    def used_us(self):
        """The CPU time in this period."""
        return min(self.now_us % PERIOD_US, self.runtime_us)

    def ran_ns(self, thread):
        if self.ended:
            raise ProcessLookupError
        return 1000 * (self.now_us // PERIOD_US * self.runtime_us
                       + self.used_by(thread))

    def is_runnable(self, thread):
        if self.ended:
            raise ProcessLookupError
        return self.runnable


class Shared(Guest):
    """A server whose second vCPU waits for a neighbour in each period."""

    def used_by(self, thread):
        since_us = self.now_us % PERIOD_US
        if thread == THREAD:
            return min(since_us, self.runtime_us)
        return max(0, min(since_us, 10_000)
                   + min(since_us - 110_000, self.runtime_us - 10_000)
                   * (since_us > 110_000))


class WaitTest(base.BaseTestCase):

    def wait(self, guest, runtime_us=NEW_US, threads=(THREAD,)):
        begun = guest.now_us
        for name, value in (('time', guest), ('thread', guest),
                            ('ticks.tick_us', lambda: 4_000)):
            self.useFixture(fixtures.MonkeyPatch(
                f'nova_rt.services.virt.libvirt.lowering.{name}', value))
        lowering.wait(lambda: {each: [each] for each in threads}, runtime_us,
                      PERIOD_US)
        return guest.now_us - begun

    def test_busy(self):
        """The server has used little, whenever the wait begins."""
        for begin_us in range(0, PERIOD_US, 7_000):
            guest = Guest(10 * PERIOD_US + begin_us)
            waited_us = self.wait(guest)
            self.assertLess(guest.used_us, NEW_US / 2)
            self.assertLess(waited_us, PERIOD_US + OLD_US)

    def test_never_at_rest(self):
        guest = Guest(0, runtime_us=PERIOD_US)
        self.assertEqual(2 * PERIOD_US, self.wait(guest))

    def test_nothing_to_wait_for(self):
        guest = Guest(70_000)
        guest.runnable = False
        self.assertEqual(0, self.wait(guest))
        guest.ended = True
        self.assertEqual(0, self.wait(guest))
        self.assertEqual(0, self.wait(Guest(70_000), runtime_us=23_000))

    def test_vcpus_that_never_rest_together(self):
        """One vCPU rests while the other one catches up."""
        for begin_us in range(0, PERIOD_US, 7_000):
            guest = Shared(10 * PERIOD_US + begin_us)
            waited_us = self.wait(guest, threads=(THREAD, THREAD + 1))
            self.assertLess(guest.used_us, NEW_US / 2)
            self.assertLess(waited_us, 2 * PERIOD_US)
