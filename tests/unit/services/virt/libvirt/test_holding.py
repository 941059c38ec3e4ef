# SPDX-License-Identifier: Apache-2.0

import threading
import unittest
from unittest import mock

import libvirt

from nova_rt.services.virt.libvirt import holding

PATIENCE = 30


class Guest:
    """Nova's Guest and libvirt's domain, as far as they are used."""

    uuid = 'a server'

    def __init__(self, pages: tuple[int, ...] = (1,), aborts: int = 0
                 ) -> None:
        """:param pages: sent so far, at one look after the other

        :param aborts: how often libvirt is not ready for it
        """
        self._domain = self
        self._pages = list(pages)
        self._aborts = aborts
        self.looks = 0
        self.speeds: list[int] = []
        self.done = threading.Event()

    def get_job_info(self) -> 'Guest':
        self.looks += 1
        self.memory_processed = self._pages.pop(0)
        return self

    def migrateSetMaxSpeed(self, speed: int) -> None:
        self.speeds.append(speed)
        if speed != holding.SPEED:
            self.done.set()

    def abort_job(self) -> None:
        self._aborts -= 1
        if self._aborts >= 0:
            raise libvirt.libvirtError('no job is active')
        self.done.set()


class HoldTest(unittest.TestCase):

    def setUp(self) -> None:
        for name, value in (('INTERVAL', 0.001), ('PATIENCE', 0.01)):
            patch = mock.patch.object(holding, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def run_until_done(self, guest: Guest, ready: mock.Mock) -> None:
        with holding.Hold(guest, ready, 7):
            self.assertTrue(guest.done.wait(PATIENCE))

    def test_ready(self) -> None:
        guest = Guest()
        self.run_until_done(guest, mock.Mock(return_value=True))
        self.assertEqual([7], guest.speeds)

    def test_not_before_the_first_page(self) -> None:
        guest = Guest(pages=(0, 0, 5))
        self.run_until_done(guest, mock.Mock(return_value=True))
        self.assertEqual(([7], 3), (guest.speeds, guest.looks))

    def test_asked_again(self) -> None:
        holding.PATIENCE = PATIENCE
        guest = Guest()
        with self.assertLogs(holding.LOG.logger, 'ERROR'):
            self.run_until_done(guest, mock.Mock(
                side_effect=[False, RuntimeError('no answer'), True]))
        self.assertEqual([7], guest.speeds)

    def test_memory_waits_after_disks(self) -> None:
        """Memory is not sent faster when the disks are there."""
        holding.PATIENCE = PATIENCE
        guest = Guest(pages=(0, 0, 5, 6, 7))
        with holding.Hold(guest, lambda: guest.speeds == [1], 7, 100):
            self.assertTrue(guest.done.wait(PATIENCE))
        self.assertEqual([1, 7], guest.speeds)

    def test_given_up(self) -> None:
        guest = Guest(aborts=2)
        with self.assertLogs(holding.LOG.logger, 'ERROR') as logged:
            self.run_until_done(guest, mock.Mock(return_value=False))
        self.assertEqual([], guest.speeds)
        self.assertIn('check nova-compute there.', logged.output[0])

    def test_over_before(self) -> None:
        """A migration that ends at once needs no other speed."""
        guest = Guest()
        with holding.Hold(guest, mock.Mock(return_value=False), 7):
            pass
        self.assertEqual(([], 0), (guest.speeds, guest.looks))


class SpeedTest(unittest.TestCase):

    def test_no_disks(self) -> None:
        self.assertEqual(1, holding.speed(0))

    def test_disks_take_the_patience(self) -> None:
        self.assertEqual(34, holding.speed(2**30))
        self.assertEqual(682, holding.speed(20 * 2**30))
        self.assertEqual(1, holding.speed(59 * 2**20))
