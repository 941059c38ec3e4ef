# SPDX-License-Identifier: Apache-2.0

"""The life of a server with a reservation, as Placement accounts for it."""

import testtools

from tempest.common import waiters
from tempest import config
from tempest.lib import decorators

from nova_rt_tempest_plugin.tests.scenario import base

CONF = config.CONF


class ServersTest(base.ReservationTest):

    @decorators.idempotent_id('e4a0edff-34b3-450a-ab5a-885336817b28')
    def test_flavor(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        self.assert_reserved(server, base.bandwidth(CONF.nova_rt.runtime_us))

    @decorators.idempotent_id('cb30799d-b0f7-4fef-8917-f4a8d19e2f7a')
    def test_each_vcpu(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us, vcpus=2))
        self.assert_reserved(
            server, base.bandwidth(CONF.nova_rt.runtime_us), vcpus=2)

    @decorators.idempotent_id('4ef3e346-d7a7-47a7-bcdd-ec44411ac320')
    @testtools.skipUnless(CONF.nova_rt.hint_override == 'any',
                          'This cloud does not let hints raise a share.')
    def test_hint_wins(self) -> None:
        server = self.server(
            self.rt_flavor(CONF.nova_rt.runtime_us),
            {'cpu.rt_runtime_us': str(CONF.nova_rt.larger_runtime_us)})
        self.assert_reserved(
            server, base.bandwidth(CONF.nova_rt.larger_runtime_us))

    @decorators.idempotent_id('a5fd302d-06d3-4aa1-ada2-1240b12cd5ab')
    @testtools.skipUnless(base.hints_alone(),
                          'This cloud takes no reservations from hints alone.')
    def test_hints_alone(self) -> None:
        server = self.server(
            self.rt_flavor(),
            {'cpu.rt_runtime_us': str(CONF.nova_rt.runtime_us),
             'cpu.rt_period_us': str(CONF.nova_rt.period_us)})
        self.assert_reserved(server, base.bandwidth(CONF.nova_rt.runtime_us))

    @decorators.idempotent_id('a18582ba-74d9-4e3f-9248-5851fdf3b0ab')
    def test_no_reservation(self) -> None:
        self.assertEqual([], self.allocated(self.server(self.rt_flavor())))

    @decorators.idempotent_id('7279d5ff-ebb7-4b15-b95b-6bbe063aadf5')
    def test_delete(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        self.remove(server)
        self.assert_released(server)

    @decorators.idempotent_id('ce281ee7-518c-482e-b94f-825d3e4b1895')
    def test_off_and_on(self) -> None:
        """A server that is off keeps its reservation."""
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        for action, status in ((self.servers_client.stop_server, 'SHUTOFF'),
                               (self.servers_client.start_server, 'ACTIVE')):
            action(server)
            waiters.wait_for_server_status(
                self.servers_client, server, status)
            self.assert_reserved(
                server, base.bandwidth(CONF.nova_rt.runtime_us))


class ResizeTest(base.ReservationTest):

    @classmethod
    def skip_checks(cls) -> None:
        super().skip_checks()
        if not CONF.compute_feature_enabled.resize:
            raise cls.skipException('This cloud does not resize servers.')

    @decorators.idempotent_id('531bfd25-c660-463c-8cb8-0127e60a53b7')
    def test_resize(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        self.resize_server(
            server, self.rt_flavor(CONF.nova_rt.larger_runtime_us))
        self.assert_reserved(
            server, base.bandwidth(CONF.nova_rt.larger_runtime_us))

    @decorators.idempotent_id('7aad85c3-9236-4c0e-95fd-9f4fb7d6ae45')
    def test_revert(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        self.servers_client.resize_server(
            server, self.rt_flavor(CONF.nova_rt.larger_runtime_us))
        waiters.wait_for_server_status(
            self.servers_client, server, 'VERIFY_RESIZE')
        self.servers_client.revert_resize_server(server)
        waiters.wait_for_server_status(self.servers_client, server, 'ACTIVE')
        self.assert_reserved(server, base.bandwidth(CONF.nova_rt.runtime_us))

    @decorators.idempotent_id('b8d4a396-5872-40fb-bc6b-412ff98fe07b')
    def test_to_none(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        self.resize_server(server, self.rt_flavor())
        self.assertEqual([], self.allocated(server))
