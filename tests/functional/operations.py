# SPDX-License-Identifier: Apache-2.0

"""The operations of tenants and operators, through Nova's API."""

from collections.abc import Callable
import contextlib
from typing import Any

import fixtures
import nova.conf
from nova.tests.functional.api import client
from nova.virt import event as virtevent
from nova.virt.libvirt import driver as libvirt_driver

from nova_rt.services.compute import claims
from tests.functional import guests
from tests.functional import invariants

IMAGE = 'a2459075-d96c-40d5-893e-577ff92e721c'
Server = dict[str, Any]


class TestCase(invariants.TestCase):
    """Casts are calls: an operation has ended when its request has ended."""

    #: The number of vCPUs of a server that names none.
    VCPUS = 1

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver.'
            'migrate_disk_and_power_off', _power_off))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver._cleanup_resize',
            _at_home(libvirt_driver.LibvirtDriver._cleanup_resize)))

    # Servers.

    def reserved(self, host: str = 'host1', share: int = 600,
                 vcpus: int | None = None) -> Server:
        """Starts a server with *share* thousandths of a pCPU."""
        server = self.boot_on(host, self.flavor(share, vcpus))
        self.assert_invariants()
        return server

    def flavor(self, share: int, vcpus: int | None = None) -> str:
        """Any two of these flavors differ in more than the reservation."""
        return self.twin(share, share, vcpus)

    def twin(self, share: int, other: int, vcpus: int | None = None) -> str:
        """Makes a flavor that differs from *other* in the reservation only."""
        return self.rt_flavor(share * 100, 100_000, vcpus or self.VCPUS,
                              test__size=str(other))

    def boot_on(self, host: str, flavor: str, status: str = 'ACTIVE'
                ) -> Server:
        body = self.request(flavor)
        body['server']['host'] = host
        created = self.api.post_server(body)
        return dict(self._wait_for_state_change(created, status))

    def act(self, server: Server, action: str, body: Any = None,
            status: str | None = None) -> None:
        """Runs an action to its end status, and checks the invariants."""
        self.api.post_server_action(server['id'], {action: body})
        if status:
            self._wait_for_state_change(server, status)
        self.assert_invariants()

    def refused(self, server: Server, action: str, body: Any = None) -> str:
        """Runs an action that fails, now or later; returns the answer."""
        try:
            self.api.post_server_action(server['id'], {action: body})
        except client.OpenStackApiException as error:
            return str(error)
        return ''

    def host_of(self, server: Server) -> str:
        return str(self.api.get_server(server['id'])[
            'OS-EXT-SRV-ATTR:host'])

    # What it holds.

    def claimed(self, server: Server) -> claims.RTClaim:
        found = self.claim(server)
        assert found is not None
        return found

    def share(self, server: Server) -> int:
        """Returns the thousandths of a pCPU that are claimed."""
        return self.claimed(server).reservation.bandwidth // 1000

    def assert_runs(self, server: Server, host: str, share: int) -> None:
        """Checks that a server runs there, with this reservation."""
        self.assertEqual(host, self.host_of(server))
        claim = self.stored(host)[server['id']]
        self.assertEqual(share * 1000, claim.reservation.bandwidth)
        self.assertIn(server['id'], [domain.UUIDString()
                                     for domain in self.alive(host)])
        self.assert_safe()

    def assert_off(self, server: Server, host: str, share: int) -> None:
        """Checks that a server does not run, and keeps this claim."""
        self.assertEqual({}, self.kernel(host).granted())
        self.assertEqual(share, self.share(server))
        self.assertNotIn(server['id'], [domain.UUIDString()
                                        for domain in self.alive(host)])

    # The following methods are events of hosts and guests.

    def event(self, server: Server, host: str, transition: int) -> None:
        self.computes[host].driver.emit_event(
            guests.lifecycle(server['id'], transition))

    def crash(self, server: Server, host: str = 'host1') -> None:
        """Ends the guest by itself; libvirt reports the end."""
        self.guests.vanish(self.domain(server, host))
        self.event(server, host, virtevent.EVENT_LIFECYCLE_STOPPED)

    def power_cut(self, host: str) -> Any:
        """Ends all guests and nova-compute; returns libvirt's connection."""
        connection = self.computes[host].driver._host.get_connection()
        domains = self.alive(host)
        self.computes[host].stop()
        for domain in domains:
            self.guests.vanish(domain)
        return connection

    def lose(self, host: str) -> Any:
        """Makes Nova believe that a host is down; returns its service."""
        compute = self.computes.pop(host)
        compute.stop()
        self._force_down(host, True)
        return compute

    def disable(self, host: str) -> None:
        """Disables a host, so that no server is scheduled to it."""
        service = self.api.get_services(host=host, binary='nova-compute')[0]
        self.api.put_service(service['id'], {'status': 'disabled'})

    def _force_down(self, host: str, down: bool) -> None:
        service = self.api.get_services(
            host=host, binary='nova-compute')[0]
        self.api.put_service_force_down(service['id'], down)

    def come_back(self, host: str, compute: Any) -> None:
        """Restarts the host with its guests and kernel as they were."""
        self.computes[host] = compute
        self.restart_compute_service(host)
        with contextlib.suppress(client.OpenStackApiException):
            return self._force_down(host, False)
        # If a server was evacuated several times, Nova completes one
        # evacuation in each start, and needs one more start before it believes
        # the host.
        self.restart_compute_service(host)
        self._force_down(host, False)


def _at_home(method: Callable[..., None]) -> Callable[..., None]:
    """Runs a method under the name of its host: all share this process."""
    def call(driver: Any, *args: Any) -> None:
        last = nova.conf.CONF.host
        nova.conf.CONF.set_override('host', driver._host.get_hostname())
        try:
            method(driver, *args)
        finally:
            nova.conf.CONF.set_override('host', last)

    return call


def _power_off(driver: Any, context: Any, instance: Any, *args: Any,
               **kwargs: Any) -> str:
    """There is no disk to move; Nova's own tests leave this out, too."""
    guest = driver._host.get_guest(instance)
    if guest.is_active():
        guest.poweroff()
    return '{}'
