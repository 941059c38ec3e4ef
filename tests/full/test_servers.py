# SPDX-License-Identifier: Apache-2.0

"""The paper's commands: a flavor, a server, a hint that wins."""

from demo import client

from tests.full import base

RT1 = ('--property hw:cpu.rt_runtime_us=100000 '
       '--property hw:cpu.rt_period_us=200000')


class ServersTestCase(base.FullTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.assert_clean)

    def test_flavor(self):
        self.flavor('flavor_rt1', RT1)
        server = self.server('rt1', '--flavor flavor_rt1')
        self.assert_reserved(server, 100_000, 200_000)

    def test_hint_wins(self):
        self.flavor('flavor_rt1', RT1)
        server = self.server(
            'rt2', '--flavor flavor_rt1 --hint cpu.rt_runtime_us=120000')
        self.assert_reserved(server, 120_000, 200_000)

    def test_hints_alone(self):
        self.flavor('plain')
        server = self.server(
            'rt3', '--flavor plain --hint cpu.rt_runtime_us=30000 '
            '--hint cpu.rt_period_us=100000')
        self.assert_reserved(server, 30_000, 100_000)

    def test_virtual_machine(self):
        self.flavor('flavor_rt2', RT1)
        server = self.server(
            'vm1', '--flavor flavor_rt2 --hint cpu.rt_runtime_us=40000',
            'qemu')
        self.eventually('it boots', lambda: 'vCPUs busy' in client.run(
            'console log show vm1').text)
        self.assert_reserved(server, 40_000, 200_000)

    def test_both_nodes_at_once(self):
        """An operation on one server does not change the other server."""
        self.flavor('flavor_rt1', RT1)
        container = self.server('rt4', '--flavor flavor_rt1')
        machine = self.server(
            'vm2', '--flavor flavor_rt1 --hint cpu.rt_runtime_us=40000',
            'qemu')
        self.assertNotEqual(container.node, machine.node)
        base.check()
        self.openstack('server delete --wait vm2')
        self.assert_reserved(container, 100_000, 200_000)

    def test_bad_hint(self):
        self.flavor('flavor_rt1', RT1)
        answer = client.run(
            'server create --image lxc-busy --nic none --flavor flavor_rt1 '
            '--hint cpu.rt_runtime_us=300000 rt5')
        self.assertNotEqual(0, answer.status)
        self.assertIn('more than the period', answer.text)
