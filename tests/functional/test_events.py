# SPDX-License-Identifier: Apache-2.0

"""Events from libvirt while another operation goes on or fails."""

from typing import Any

import fixtures
from nova.virt import event as virtevent
import oslo_messaging

from nova_rt.rules import exception
from tests.functional import operations

STARTED = virtevent.EVENT_LIFECYCLE_STARTED


class EventTest(operations.TestCase):
    """Sends a lifecycle event of a guest."""

    HOSTS = ('host1',)

    def setUp(self) -> None:
        super().setUp()
        self.driver = self.computes['host1'].driver
        self.heard: list[Any] = []
        self.driver.register_event_listener(self.hear)

    def hear(self, event: Any) -> None:
        if event.transition == STARTED:
            self.heard.append(event.uuid)

    def breaks(self, name: str, error: Exception) -> None:
        def failing(*args: Any, **kwargs: Any) -> Any:
            raise error
        self.useFixture(fixtures.MonkeyPatch(name, failing))

    def test_the_conductor_is_away(self) -> None:
        plain = self.boot_on('host1', self.rt_flavor(None, None))
        self.breaks('nova.objects.Instance.get_by_uuid',
                    oslo_messaging.MessagingTimeout())
        self.heard.clear()
        self.guests.reboot(self.domain(plain))
        self.computes['host1'].manager.rt.tracked_instances.clear()
        self.guests.reboot(self.domain(plain))
        self.assertEqual([plain['id']] * 2, self.heard)
        self.assertEqual(1, len(self.alive('host1')))

    def test_the_tracker_knows_the_claim(self) -> None:
        server = self.reserved()
        self.breaks('nova.objects.Instance.get_by_uuid',
                    oslo_messaging.MessagingTimeout())
        self.guests.reboot(self.domain(server))
        self.assertEqual((60_000, 100_000), self.budget(server))
        self.assertIn(server['id'], self.heard)

    def refuse(self, server: operations.Server, times: int,
               meanwhile: Any = lambda: None) -> None:
        """Sends an event while the kernel refuses the budget."""
        target = self.driver.rt_reservations.enforcer
        holds, refused = target.holds, []

        def refuse(pid: int, claim: Any) -> bool:
            if len(refused) >= times:
                return bool(holds(pid, claim))
            refused.append(pid)
            meanwhile()
            raise exception.KernelError(
                interface='test', group=str(pid), reason='it is busy')
        self.useFixture(fixtures.MockPatchObject(target, 'holds', refuse))
        self.event(server, 'host1', STARTED)

    def test_refused_once(self) -> None:
        server = self.reserved()
        self.refuse(server, 1)
        self.assert_runs(server, 'host1', 600)

    def test_refused(self) -> None:
        server = self.reserved()
        self.refuse(server, 2)
        self.assertEqual([], self.alive('host1'))

    def test_another_guest_runs_by_now(self) -> None:
        server = self.reserved()

        def reboot() -> None:
            if not done:
                done.append(True)
                self.refused(server, 'reboot', {'type': 'HARD'})
        done: list[bool] = []
        self.refuse(server, 2, reboot)
        self.assert_runs(server, 'host1', 600)

    def test_nova_is_at_work(self) -> None:
        server = self.reserved()
        instance = self.instance(server)
        instance.task_state = 'powering-off'
        instance.save()
        self.refuse(server, 2)
        self.assertEqual(1, len(self.alive('host1')))
