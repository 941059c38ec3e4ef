# SPDX-License-Identifier: Apache-2.0

"""A day of a DevStack: stack, use, unstack, stack again, clean."""

import pathlib
import statistics
import tempfile

from oslotest import base

from tests.stack import container
from tests.stack import devstack
from tests.stack import repositories

RESERVED = {'hw:cpu.rt_runtime_us': '60000', 'hw:cpu.rt_period_us': '200000'}
#: A window has 30 periods.
SECONDS, WINDOWS = 6, 5


class StackTest(base.BaseTestCase):
    """A single test, because each step needs the result of the step before."""

    TIMEOUT_SCALING_FACTOR = 1000

    def setUp(self):
        super().setUp()
        if reason := repositories.lacking() or container.lacking():
            self.skipTest(reason)
        scratch = tempfile.TemporaryDirectory(prefix='nova-rt-stack-',
                                              ignore_cleanup_errors=True)
        self.addCleanup(scratch.cleanup)
        self.devstack = devstack.DevStack(pathlib.Path(scratch.name))
        self.addCleanup(self.devstack.box.stop)
        self.devstack.prepare()

    def test_a_day(self):
        said = self.devstack.stack()
        self.assertIn('No host offers reservations', said)
        # The container has a PID namespace of its own.
        self.assertIn('pid_mode', self.devstack.doctor())
        self.assertIn('could not check the kernel', self.devstack.check())
        self.no_host()
        self.refused_flavors()
        self.devstack.unstack()
        self.flavor_that_nova_refuses()
        self.devstack.take_for_host()
        self.stack_and_use()
        self.devstack.clean()
        self.nothing_is_left()
        self.stack_and_use()
        # With the server in it.
        self.devstack.unstack()
        self.assertEqual([], self.devstack.guests())
        self.devstack.clean()
        self.nothing_is_left()

    def stack_and_use(self):
        said = self.devstack.stack()
        self.assertNotIn('No host offers reservations', said)
        self.reserved_server()

    def reserved_server(self):
        self.assertEqual(RESERVED, self.devstack.properties('flavor_rt1'))
        self.devstack.openstack('server create --flavor flavor_rt1 --image '
                                'busy --nic none --wait rt1')
        self.assertIn('1 server with a reservation, 0 differences',
                      self.devstack.check())
        shares = self.devstack.shares(SECONDS, WINDOWS)
        print('shares of a busy virtual machine of 0.3:', shares)
        self.assertAlmostEqual(0.3, statistics.median(shares), delta=0.01)

    def refused_flavors(self):
        """The real client: only "set" tells by its exit status."""
        wrong = '--property hw:cpu.rt_runtime_us=abc'
        create = 'flavor create --vcpus 1 --ram 64'
        self.assertEqual(0, self.devstack.status(f'{create} {wrong} wrong'))
        self.assertEqual({}, self.devstack.properties('wrong'))
        self.assertEqual(1, self.devstack.status(f'flavor set {wrong} wrong'))
        self.devstack.openstack('flavor set wrong --property '
                                'hw:cpu.rt_runtime_us=1000')
        self.assertIn('flavor wrong: it has hw:cpu.rt_runtime_us and no '
                      'hw:cpu.rt_period_us', self.devstack.check())

    def flavor_that_nova_refuses(self):
        said = self.devstack.stack(
            'NOVA_RT_FLAVORS=a:1:64:0:300000:200000', check=False)
        self.assertIn('NOVA_RT_FLAVORS=a:1:64:0:300000:200000: Invalid '
                      'flavor extra spec', said)
        self.assertIn('Correct the settings above in local.conf', said)

    def no_host(self):
        self.assertEqual(1, self.devstack.status(
            'server create --flavor flavor_rt1 --image busy --nic none '
            '--wait rt1'))
        self.devstack.openstack('server delete --wait rt1')

    def nothing_is_left(self):
        self.assertEqual([], self.devstack.guests())
        left = self.devstack.box.run(
            'ls -d /etc/nova /etc/systemd/system/devstack@n-*.service '
            '/usr/local/bin/nova-rt* /usr/local/bin/tacker-rt '
            '2> /dev/null || true')
        self.assertEqual('', left)
