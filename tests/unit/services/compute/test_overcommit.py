# SPDX-License-Identifier: Apache-2.0

"""Tests which servers have to move, and why."""

from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import cpus
from nova_rt.rules import reservation
from nova_rt.services.compute import capacity
from nova_rt.services.compute import claims
from nova_rt.services.compute import overcommit
from tests.unit import base

HALF = reservation.Reservation(50_000, 100_000)


def claim(uuid, *pcpus):
    return claims.RTClaim(uuid, 0, HALF, pcpus)


def host(pcpus, cap, replicated=False, reason=''):
    return capacity.HostCapacity(
        cpus.CpuBandwidth.empty(pcpus, cap, replicated), reason)


class SentencesTest(base.TestCase):

    def said(self, *args):
        return list(overcommit.describe(*args))

    def test_all_fits(self):
        held = [claim(uuids.a, 0), claim(uuids.b, 1)]
        self.assertEqual([], self.said(host((0, 1), 500_000), held))

    def test_nothing_is_held(self):
        self.assertEqual([], self.said(host((), 0, reason='off'), []))

    def test_the_cap_was_lowered(self):
        held = [claim(uuids.a, 0), claim(uuids.b, 1)]
        self.assertEqual(
            [f'pCPU {cpu} is claimed for 0.100 more than its cap of 0.400; '
             f'migrate or resize one of server {uuid}'
             for cpu, uuid in ((0, uuids.a), (1, uuids.b))],
            self.said(host((0, 1), 400_000), held))

    def test_replicated(self):
        """The warning comes once, and every server counts."""
        held = [claim(uuids.a, 0), claim(uuids.b, 1)]
        said, = self.said(host((0, 1), 900_000, replicated=True), held)
        self.assertIn('claimed for 0.100 more than its cap of 0.900', said)
        for uuid in (uuids.a, uuids.b):
            self.assertIn(uuid, said)

    def test_the_kernel_cannot_serve_them(self):
        """The servers were admitted by their sum, before an upgrade."""
        fixed = capacity.HostCapacity(
            cpus.CpuBandwidth.empty((0, 1), 950_000, True, base.FIXED))
        held = [claim(uuids.a, 0), claims.RTClaim(
            uuids.b, 0, reservation.Reservation(80_000, 200_000), (0,))]
        said, = self.said(fixed, held)
        self.assertIn('pCPU 0 cannot give all its servers', said)
        self.assertIn(uuids.a, said)
        apart = [held[0], claims.RTClaim(uuids.b, 0, held[1].reservation,
                                         (1,))]
        self.assertEqual([], self.said(fixed, apart))

    def test_pcpus_were_taken_out(self):
        held = [claim(uuids.a, 0), claim(uuids.b, 1)]
        self.assertEqual(
            [f'claims use pCPUs other than 1-2 of [nova_rt] rt_cpus; '
             f'migrate or resize server {uuids.a}'],
            self.said(host((1, 2), 500_000), held))

    def test_the_host_takes_none(self):
        held = [claim(uuids.b, 1), claim(uuids.a, 0), claim(uuids.a, 1)]
        first, second = sorted((uuids.a, uuids.b))
        self.assertEqual(
            [f'switched off; migrate or resize servers {first}, {second}'],
            self.said(host((0, 1), 0, reason='switched off'), held))
