# SPDX-License-Identifier: Apache-2.0

"""Figure 5 of the paper with real containers, created through Nova.

Containers of two vCPUs of 0.5, one of 0.3 and three of 0.4 leave 0.75 free on
none of four pCPUs, so Nova refuses a container of 0.75.  While the third
container is shelved, the fourth fits, and the third returns to other pCPUs.
The test needs a kernel that charges a reservation on its own pCPUs only::

    tools/lab.sh KERNEL --cpus 4 --memory 4096 figure5
"""

import json
import os

import openstack

from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine import privsep
from nova_rt.rules import hostmap
from tests.cloud import base
from tests.full.kernel import sold

_CPUS = range(4)
_PERIOD_US = 100_000
_SECONDS = 10
#: How far the sum of the shares of a container may be off, in CPUs.
_TOLERANCE = 0.02
_Server = openstack.compute.v2.server.Server


class Figure5Test(base.CloudTestCase):

    # The paper's policy.
    SETTINGS = ('nova_rt.packing_policy=worst_fit',)

    @classmethod
    def setUpClass(cls) -> None:
        if os.cpu_count() != len(_CPUS):
            cls.skipTest(cls, 'the figure has four pCPUs')
        super().setUpClass()

    def setUp(self) -> None:
        super().setUp()
        privsep.cgroup_pctxt.set_client_mode(False)
        interface = detect.detect(fs.RealFS())
        if interface is None or interface.replicated:
            self.skipTest('this kernel charges a reservation on every pCPU')

    def share(self, runtime_us: int, vcpus: int = 1) -> str:
        """Makes a flavor with this runtime; returns its id."""
        return self.flavor(runtime_us, _PERIOD_US, vcpus)

    def cpus(self, server: _Server) -> tuple[int, ...]:
        return self.claim(server).cpus

    def used(self) -> int:
        """Returns the ppm of all pCPUs that nova-compute says are taken."""
        return sum(sum(json.loads(stats[hostmap.MAP])['used'])
                   for stats in base.host.published(self.settings))

    def reaches(self, server: _Server, status: str) -> None:
        self.eventually(f'status {status}', lambda: (
            self.cloud.compute.get_server(server).status == status))

    def test_the_third_container_makes_room_for_the_fourth(self) -> None:
        first = self.boot(self.share(50_000, 2))
        second = self.boot(self.share(30_000))
        third = self.boot(self.share(40_000, 3))
        self.assertEqual([(0, 1), (2,), (3, 2, 0)],
                         [*map(self.cpus, (first, second, third))])
        self.assertEqual(2_500_000, self.used())
        fourth = self.share(75_000)
        refused = self.boot(fourth, wanted='ERROR')
        fault = self.cloud.compute.get_server(refused).fault['message']
        self.assertIn('No valid host was found', fault)
        self.delete(refused)
        self.cloud.compute.shelve_server(third)
        self.reaches(third, 'SHELVED_OFFLOADED')
        last = self.boot(fourth)
        self.assertEqual((3,), self.cpus(last))
        self.cloud.compute.unshelve_server(third)
        self.reaches(third, 'ACTIVE')
        self.assertEqual({0, 1, 2}, set(self.cpus(third)))
        self.assertEqual(3_250_000, self.used())
        self.assert_in_step()
        self.assert_shares((first, 1.0), (second, 0.3), (third, 1.2),
                           (last, 0.75))
        self.assert_nothing_remains()

    def assert_shares(self, *wanted: tuple[_Server, float]) -> None:
        """Checks the CPU time of servers beside busy ordinary tasks."""
        names = {server.name: share for server, share in wanted}
        with sold.company(_CPUS):
            shares = base.measure.shares(
                [found for found in base.host.servers(self.settings)
                 if found.name in names], _SECONDS)
        print('shares:', sorted(shares.values()))
        for name, share in names.items():
            self.assertAlmostEqual(share, shares[name], delta=_TOLERANCE)
