# SPDX-License-Identifier: Apache-2.0

"""A virtual machine moves from one real host to another while it runs."""

import time

from openstack import exceptions

from tests.hosts import base
from tests.hosts import meter
from tests.hosts import pauses

#: Of the reservation, in each window of ten periods outside the pause.
LEAST = 0.98
BEFORE, AFTER = 4, 6


class SharesTestCase(base.HostsTestCase):

    def assert_keeps_its_share(self, server: base.Server, host: str) -> None:
        with (meter.watching(self.domain_name(server)) as looks,
              pauses.watching(server.id) as pause):
            time.sleep(BEFORE)
            asked = time.monotonic_ns()
            self.move(server, host)
            time.sleep(AFTER)
        runtime, period = self.RESERVATION
        share = runtime / period
        seen = meter.Samples(looks)
        self.assertGreater(pause.end_ns, pause.begin_ns)
        stalls = seen.stalls()
        found = seen.windows(
            period, [(pause.begin_ns, pause.end_ns), *stalls])
        length = meter.PERIODS * period * 1000
        parts = {
            'before': [each.share for each in found
                       if each.begin_ns + length < asked],
            'while it is copied': [
                each.share for each in found
                if asked <= each.begin_ns + length <= pause.begin_ns],
            'after': [each.share for each in found
                      if each.begin_ns > pause.end_ns]}
        print(f'to {host}: pause of '
              f'{(pause.end_ns - pause.begin_ns) / 1e6:.0f} ms; least share '
              'in ten periods, of the reservation:',
              {name: (round(min(each) / share, 3), round(
                  max(each) / share, 3), len(each)) if each else None
               for name, each in parts.items()}, 'QEMU made it wait, ms:',
              [round((end - begin) / 1e6) for begin, end in stalls])
        for name in ('before', 'after'):
            self.assertGreater(len(parts[name]), 0, name)
        for name, shares in parts.items():
            for each in shares:
                self.assertGreaterEqual(each, LEAST * share, name)


class LiveMigrationTestCase(SharesTestCase):

    def test_busy(self):
        """The server has its share before, during and after the move."""
        server = self.reserved(base.EAST)
        for host in (base.WEST, base.EAST):
            self.assert_keeps_its_share(server, host)
            self.assert_runs(server, host)

    def test_idle(self):
        server = self.reserved(base.EAST, 'idle')
        for host in (base.WEST, base.EAST):
            self.move(server, host)
            self.assert_runs(server, host)

    def test_it_finds_the_other_host(self):
        server = self.reserved(base.EAST)
        self.move(server)
        self.assert_runs(server, base.WEST)

    def test_aborted(self):
        server = self.reserved(base.EAST)
        before = self.claim(server)
        self.begins_to_move(server)
        self.compute.abort_server_migration(
            self.migration(server).id, server)
        self.ended(server, 'cancelled', 'error')
        self.forgive(server)
        self.assertEqual(before, self.claim(server))
        self.assert_runs(server, base.EAST)

    def test_no_room(self):
        server = self.reserved(base.EAST)
        other = self.reserved(base.WEST, 'idle', 60_000)
        before = self.claim(server)
        self.assertRaises(exceptions.BadRequestException, self.ask, server)
        self.assertEqual(before, self.claim(server))
        self.assert_runs(server, base.EAST)
        self.assert_runs(other, base.WEST)
