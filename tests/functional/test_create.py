# SPDX-License-Identifier: Apache-2.0

"""Tests what is claimed, published, allocated and enforced for one server."""

import os
from typing import Any

import fixtures
from lxml import etree
from nova import objects
from nova.tests.functional.api import client
import oslo_messaging

from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import counting
from tests.emulation import numbers
from tests.functional import base

#: (hints, the key that the message to the user names)
BAD_HINTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({base.HINT_RUNTIME: 'abc'}, base.HINT_RUNTIME),
    ({base.HINT_RUNTIME: -5}, base.HINT_RUNTIME),
    ({base.HINT_RUNTIME: 0}, base.HINT_RUNTIME),
    ({base.HINT_RUNTIME: True}, base.HINT_RUNTIME),
    ({base.HINT_RUNTIME: [1, 2]}, base.HINT_RUNTIME),
    ({base.HINT_RUNTIME: 200_001}, base.HINT_RUNTIME),
    ({base.HINT_PERIOD: 999}, 'less than the runtime'),
    ({base.HINT_PERIOD: 1_000_001}, base.HINT_PERIOD),
    ({'cpu.rt_priority': 5}, 'cpu.rt_priority'),
)


class CreateTest(base.TestCase):
    """Goes through the API to the (emulated) kernel and back to nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.start_host()

    def test_an_empty_host_publishes_its_capacity(self) -> None:
        self.assertEqual(
            {'CUSTOM_RT_BANDWIDTH': {
                'total': 4_000_000, 'reserved': 200_000, 'min_unit': 1,
                'max_unit': 3_800_000, 'step_size': 1,
                'allocation_ratio': 1.0},
             'CUSTOM_RT_SHARE': {
                 'total': 1_000_000, 'reserved': 50_000, 'min_unit': 1,
                 'max_unit': 950_000, 'step_size': 1,
                 'allocation_ratio': 1.0}}, self.inventories())
        self.assertIn(hostmap.TRAIT, self.traits())
        self.assertEqual('3.800', self.stats()[hostmap.SHARE])
        self.assert_nothing_left()

    def test_flavor(self) -> None:
        server = self.boot(self.rt_flavor(100_000, 200_000, vcpus=2))
        claim = self.claim(server)
        self.assertEqual(reservation.Reservation(100_000, 200_000),
                         claim.reservation)
        self.assertEqual(((0, 1), 0, {}),
                         (claim.cpus, claim.move, claim.hints))
        self.assertEqual((1_000_000, 500_000), self.allocated(server))
        self.assertEqual((1_000_000, 500_000), self.usage())
        self.assertEqual('2.000', self.stats()[hostmap.SHARE_USED])
        state = self.host_map().state
        self.assertEqual((500_000, 500_000, 0, 0), state.used)
        self.assertEqual((500_000, True), (state.charged, state.replicated))
        self.assertEqual((100_000, 200_000), self.budget(server))
        self.assertEqual({0, 1},
                         self.kernel().confined()[self.group(server)])
        self.assert_tight()
        # The guest is confined before it starts, too.
        vcpu = etree.fromstring(self.domain(server).XMLDesc(0)).find('vcpu')
        self.assertEqual({0, 1}, numbers.cpu_set(vcpu.get('cpuset'), ''))

        self._delete_server(server)
        self.assertEqual((0, 0), self.allocated(server))
        self.assert_nothing_left()

    def test_the_tasks_are_real_time_and_the_keeper_is_not(self) -> None:
        server = self.boot(self.rt_flavor())
        guests = self.guests.hosts['host1']
        threads = guests.running[self.keeper(server)]
        self.assertEqual(
            [os.SCHED_OTHER, os.SCHED_RR, os.SCHED_RR],
            [self.kernel().tasks[thread].policy for thread in threads])

    def test_a_hint_overrides_the_runtime(self) -> None:
        server = self.boot(self.rt_flavor(100_000, 200_000),
                           {base.HINT_RUNTIME: 120_000})
        claim = self.claim(server)
        self.assertEqual(reservation.Reservation(120_000, 200_000),
                         claim.reservation)
        self.assertEqual({base.HINT_RUNTIME: 120_000}, claim.hints)
        self.assertEqual((600_000, 600_000), self.allocated(server))
        self.assertEqual((120_000, 200_000), self.budget(server))
        self._delete_server(server)
        self.assert_nothing_left()

    def test_hints_alone(self) -> None:
        server = self.boot(
            self.rt_flavor(None, None),
            {base.HINT_RUNTIME: '10000', base.HINT_PERIOD: '100000'})
        self.assertEqual((10_000, 100_000), self.budget(server))
        self.assertEqual((100_000, 100_000), self.allocated(server))

    def test_without_reservation(self) -> None:
        server = self.boot(self.rt_flavor(None, None))
        self.assertIsNone(self.claim(server))
        self.assertEqual((0, 0), self.allocated(server))
        self.assertEqual({}, self.granted(server))
        self.assertEqual(set(range(base.PCPUS)),
                         self.kernel().confined()[self.group(server)])
        self.assertNotIn('nova_rt_hint',
                         self.instance(server).system_metadata)
        self.audit()
        self.assert_nothing_left()

    def test_starts_of_ordinary_servers_are_not_looked_up(self) -> None:
        flavor = self.rt_flavor(None, None)
        looked_up = self.useFixture(fixtures.MockPatch(
            'nova_rt.services.compute.counting.instance',
            side_effect=counting.instance)).mock
        server = self.boot(flavor)
        self.api.post_server_action(server['id'], {'reboot': {
            'type': 'HARD'}})
        self._wait_for_state_change(server, 'ACTIVE')
        looked_up.assert_not_called()
        self.boot(self.rt_flavor())
        self.assertTrue(looked_up.called)

    def test_bad_hints_are_refused_by_the_api(self) -> None:
        flavor = self.rt_flavor(100_000, 200_000)
        for hints, word in BAD_HINTS:
            error = self.assertRaises(
                client.OpenStackApiException, self.post, flavor, hints)
            self.assertEqual(400, error.response.status_code, hints)
            self.assertIn(word, str(error))

    def test_flavors_that_contradict_are_refused_by_the_api(self) -> None:
        for extra, reason in (
                ({'hw__cpu_policy': 'dedicated'}, 'shared pCPUs'),
                ({'resources1__PCPU': '2'}, 'resources1:PCPU='),
                ({'hw__cpu_realtime': 'yes',
                  'hw__cpu_realtime_mask': '^0'}, 'outside of any CPU')):
            flavor = self.rt_flavor(None, None, 2, **extra)
            error = self.assertRaises(
                client.OpenStackApiException, self.post, flavor,
                {base.HINT_RUNTIME: 10_000, base.HINT_PERIOD: 100_000})
            self.assertEqual(400, error.response.status_code)
            self.assertIn(reason, str(error))

    def test_the_claim_cannot_be_stored(self) -> None:
        """Nova's own claim is given back, too."""
        rt, save = self.computes['host1'].manager.rt, objects.Instance.save

        def fail(instance: Any, *args: Any, **kwargs: Any) -> Any:
            if rt._rt_pending and 'resources' in instance.obj_what_changed():
                raise oslo_messaging.MessagingTimeout
            return save(instance, *args, **kwargs)

        self.useFixture(fixtures.MonkeyPatch(
            'nova.objects.Instance.save', fail))
        self.boot(self.rt_flavor(), status='ERROR')
        self.assertEqual(set(), rt.tracked_instances)
        self.assertEqual([], rt.rt_claims())

    def test_nova_breaks_its_claim_off(self) -> None:
        """Claims made before no longer count, even before any audit."""
        rt = self.computes['host1'].manager.rt

        def fail(*args: Any, **kwargs: Any) -> None:
            claimed.append(len(rt.rt_claims()))
            raise oslo_messaging.MessagingTimeout

        claimed: list[int] = []
        self.useFixture(fixtures.MonkeyPatch(
            'nova.compute.resource_tracker.ResourceTracker.'
            '_update_usage_from_instance', fail))
        self.boot(self.rt_flavor(), status='ERROR')
        self.assertEqual(1, claimed[0])
        self.assertEqual([], rt.rt_claims())

    def test_an_audit_between_claim_and_spawn(self) -> None:
        """Nova saves the claim late, so that an audit would lose the claim."""
        seen = []
        rt = self.computes['host1'].manager.rt
        real = rt.instance_claim

        def claim(*args: Any, **kwargs: Any) -> Any:
            found = real(*args, **kwargs)
            self.audit()
            seen.append([claim.instance_uuid for claim in rt.rt_claims()])
            return found

        rt.instance_claim = claim
        server = self.boot(self.rt_flavor())
        self.assertEqual([[server['id']]], seen)
        self.audit()
        self.assertEqual('2.000', self.stats()[hostmap.SHARE_USED])

    def test_stop_and_start(self) -> None:
        """The claim stays, while the budget goes and comes with the guest."""
        server = self.boot(self.rt_flavor(100_000, 200_000))
        self._stop_server(server)
        self.assertEqual({}, self.kernel_budgets())
        self.assertEqual((500_000, 500_000), self.allocated(server))
        self.audit()
        self.assertEqual('2.000', self.stats()[hostmap.SHARE_USED])
        self._start_server(server)
        self.assertEqual((100_000, 200_000), self.budget(server))
        self.assert_tight()


class WithoutMiddlewareTest(base.TestCase):
    """The scheduler refuses the same request again, with the reason."""

    MIDDLEWARE = False

    def setUp(self) -> None:
        super().setUp()
        self.start_host()

    def refused(self, flavor: str, hints: dict[str, Any], *reasons: str
                ) -> None:
        server = self.boot(flavor, hints, 'ERROR')
        for reason in ('No valid host', *reasons):
            self.assertIn(reason, self.fault(server))
        self._delete_server(server)

    def assert_no_traceback(self) -> None:
        """Only the conductor's NoValidHost is logged with a traceback."""
        errors = [line for line in self.stdlog.logger.output.splitlines()
                  if ' ERROR [nova' in line]
        self.assertEqual(
            [], [line for line in errors if not line.endswith(
                '[nova.conductor.manager] Failed to schedule instances')])

    def test_bad_hints(self) -> None:
        flavor = self.rt_flavor(100_000, 200_000)
        for hints, word in BAD_HINTS:
            self.refused(flavor, hints, word)
        self.assert_no_traceback()
        self.assert_nothing_left()

    def test_flavors_that_contradict(self) -> None:
        hints = {base.HINT_RUNTIME: 10_000, base.HINT_PERIOD: 100_000}
        # Nova itself has real-time vCPUs only on dedicated pCPUs.
        for extra in (
                {'hw__cpu_policy': 'dedicated'},
                {'hw__cpu_policy': 'dedicated', 'hw__cpu_realtime': 'yes',
                 'hw__cpu_realtime_mask': '^0'}):
            self.refused(self.rt_flavor(None, None, 2, **extra), hints,
                         'hw:cpu_policy', 'shared pCPUs')
        # Containers have no dedicated pCPUs.
        self.refused(self.rt_flavor(
            None, None, 2, hw__cpu_policy='mixed',
            hw__cpu_dedicated_mask='^0'), hints)
        self.assert_no_traceback()
        self.assert_nothing_left()
