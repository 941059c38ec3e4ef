# SPDX-License-Identifier: Apache-2.0

"""Reservations in Heat templates."""

import pathlib

from demo import client

from tests.full import base

HOT = pathlib.Path(__file__).with_name('hot')


class HeatTestCase(base.FullTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.assert_clean)

    def stack(self, name: str, parameters: str = '') -> base.host.Server:
        """Creates a stack from a template; returns its only server."""
        self.addCleanup(client.run, f'stack delete --yes --wait {name}')
        path = HOT / f'{name}.yaml'
        self.openstack(f'stack create --wait -t {path} {parameters} {name}')
        return self.running(f'heat-{name}')

    def test_flavor(self):
        self.assert_reserved(self.stack('flavor'), 100_000, 200_000)

    def test_hints(self):
        self.flavor('plain')
        self.assert_reserved(
            self.stack('hints', parameters='--parameter flavor=plain'),
            30_000, 100_000)

    def test_both(self):
        self.flavor('flavor_rt1', '--property hw:cpu.rt_runtime_us=100000 '
                    '--property hw:cpu.rt_period_us=200000')
        self.assert_reserved(
            self.stack('both', parameters='--parameter flavor=flavor_rt1'),
            120_000, 200_000)

    def test_no_room_rolls_back(self):
        self.flavor('flavor_rt1', '--property hw:cpu.rt_runtime_us=100000 '
                    '--property hw:cpu.rt_period_us=150000')
        # Its hint makes this 80 % of a CPU, more than the node has.
        answer = client.run(
            f'stack create --wait --enable-rollback -t {HOT / "both.yaml"} '
            '--parameter flavor=flavor_rt1 full')
        self.addCleanup(client.run, 'stack delete --yes --wait full')
        self.assertIn('ROLLBACK_COMPLETE', self.openstack(
            'stack show full -c stack_status -f value'), answer.text)
