# SPDX-License-Identifier: Apache-2.0

"""Makes servers with reservations, and reads their allocations."""

from typing import Any

from tempest.api.compute import base
from tempest.common import waiters
from tempest import config
from tempest.lib.common.utils import test_utils

from nova_rt.rules import hostmap
from nova_rt.rules import reservation

CONF = config.CONF

Body = dict[str, Any]


def hints_alone() -> bool:
    """Returns whether hints count on any flavor, whatever they ask for."""
    return bool(CONF.nova_rt.hint_override == 'any'
                and CONF.nova_rt.hints_on_plain_flavors)


class ReservationTest(base.BaseV2ComputeAdminTest):
    """Servers need no network; flavors and Placement need an admin."""

    credentials = ['primary', 'admin']
    # From this version on servers may have no network.
    min_microversion = '2.37'

    @classmethod
    def setup_clients(cls) -> None:
        super().setup_clients()
        cls.placement_client = cls.os_admin.placement_client

    def rt_flavor(self, runtime_us: int | None = None, vcpus: int = 1
                  ) -> str:
        """Makes a flavor with Tempest's usual sizes; returns its id.

        :param runtime_us: the runtime of its reservation; None for a flavor
            without a reservation
        """
        usual = self.flavors_client.show_flavor(self.flavor_ref)['flavor']
        flavor = self.create_flavor(
            ram=usual['ram'], vcpus=vcpus, disk=usual['disk'])['id']
        if runtime_us is not None:
            self.set_extra_specs(flavor, {
                'hw:cpu.rt_runtime_us': str(runtime_us),
                'hw:cpu.rt_period_us': str(CONF.nova_rt.period_us)})
        return str(flavor)

    def set_extra_specs(self, flavor: str, specs: dict[str, str]) -> None:
        """Sets extra specs of a flavor."""
        self.admin_flavors_client.set_flavor_extra_spec(flavor, **specs)

    def server(self, flavor: str, hints: Body | None = None) -> str:
        """Runs a server until the test ends; returns its id."""
        more = {'scheduler_hints': hints} if hints else {}
        server = str(self.create_test_server(
            flavor=flavor, networks='none', wait_until='ACTIVE',
            **more)['id'])
        # Tempest itself removes the server only after all tests of the class;
        # until then it would hold CPU time that other tests need.
        self.addCleanup(self.remove, server)
        return server

    def remove(self, server: str) -> None:
        """Deletes a server, and waits until it is gone."""
        test_utils.call_and_ignore_notfound_exc(
            self.servers_client.delete_server, server)
        waiters.wait_for_server_termination(self.servers_client, server)

    def allocated(self, server: str) -> list[Body]:
        """Returns the server's amounts at each provider of CPU time."""
        answer = self.placement_client.list_allocations(server)
        amounts = [{name: each['resources'][name] for name in hostmap.CLASSES
                    if name in each['resources']}
                   for each in answer['allocations'].values()]
        return [each for each in amounts if each]

    def assert_reserved(self, server: str, bandwidth: int, vcpus: int = 1,
                        hosts: int = 1) -> None:
        """Checks that a host gives the server this many ppm for each vCPU."""
        self.assertEqual([hostmap.amounts(vcpus, bandwidth)] * hosts,
                         self.allocated(server))

    def assert_released(self, server: str) -> None:
        """Waits for the release, which follows the end of the server."""
        self.assertTrue(test_utils.call_until_true(
            lambda: not self.allocated(server), self.build_timeout,
            self.build_interval), self.allocated(server))


def bandwidth(runtime_us: int) -> int:
    """Returns the bandwidth in parts per million of one CPU."""
    return reservation.Reservation(
        runtime_us, CONF.nova_rt.period_us).bandwidth
