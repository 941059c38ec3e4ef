# SPDX-License-Identifier: Apache-2.0

"""Invalid reservations are refused at once, in one sentence."""

from collections.abc import Callable
from typing import Any

import testtools

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions

from nova_rt_tempest_plugin.tests.scenario import base

CONF = config.CONF


class RefusalsTest(base.ReservationTest):

    def assert_refused(self, words: str, request: Callable[..., Any],
                       *args: Any) -> None:
        """Checks for status 400 and an answer with these words."""
        error = self.assertRaises(exceptions.BadRequest, request, *args)
        self.assertIn(words, str(error))

    def refused_hints(self, words: str, flavor: str, **hints: Any) -> None:
        self.assert_refused(words, self.server, flavor, {
            f'cpu.{key}': value for key, value in hints.items()})

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('d74f36cb-fe08-4a88-851b-6f8accccd161')
    @testtools.skipUnless(CONF.nova_rt.hint_override == 'any',
                          'This cloud refuses the hint for another reason.')
    def test_runtime_above_the_period(self) -> None:
        self.refused_hints(
            f'it is more than the period of {CONF.nova_rt.period_us}',
            self.rt_flavor(CONF.nova_rt.runtime_us),
            rt_runtime_us=str(CONF.nova_rt.period_us + 1))

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('78c1b632-f033-4ae0-bca0-59c76cb35ca5')
    def test_no_number(self) -> None:
        self.refused_hints(
            'it must be a positive whole number of microseconds',
            self.rt_flavor(CONF.nova_rt.runtime_us), rt_runtime_us='much')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('cccb0e11-ea22-4bd9-8787-3463a10b467f')
    def test_unknown_hint(self) -> None:
        self.refused_hints(
            'there is no such hint',
            self.rt_flavor(CONF.nova_rt.runtime_us), rt_runtime='1000')

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('162526d5-63fe-42c8-87ff-cca80ebfff76')
    @testtools.skipUnless(base.hints_alone(),
                          'This cloud refuses the hint for another reason.')
    def test_no_period(self) -> None:
        self.refused_hints(
            'neither the flavor nor a hint gives cpu.rt_period_us',
            self.rt_flavor(),
            rt_runtime_us=str(CONF.nova_rt.runtime_us))

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('05afa211-3197-4030-b928-b6dd82e30064')
    @testtools.skipUnless(CONF.nova_rt.hint_override == 'lower',
                          'This cloud lets hints raise a share.')
    def test_raised(self) -> None:
        self.refused_hints(
            'in this cloud a hint may only lower the share',
            self.rt_flavor(CONF.nova_rt.runtime_us),
            rt_runtime_us=str(CONF.nova_rt.larger_runtime_us))

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('264e9981-3ae5-4731-86b9-de3ab074f542')
    @testtools.skipUnless(CONF.nova_rt.hint_override == 'none',
                          'This cloud accepts reservations from hints.')
    def test_no_hints(self) -> None:
        self.refused_hints(
            'this cloud does not accept reservations in hints',
            self.rt_flavor(CONF.nova_rt.runtime_us),
            rt_runtime_us=str(CONF.nova_rt.runtime_us))

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('6f0c1d52-0b0e-4d0a-9a5f-7c1f0d3b2e84')
    @testtools.skipIf(base.hints_alone()
                      or CONF.nova_rt.hint_override == 'none',
                      'This cloud has another rule for hints alone.')
    def test_hints_alone(self) -> None:
        self.refused_hints(
            'a hint counts only on a flavor that has a reservation',
            self.rt_flavor(),
            rt_runtime_us=str(CONF.nova_rt.runtime_us),
            rt_period_us=str(CONF.nova_rt.period_us))

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('164a798f-cd6e-4e18-aced-a38f75ad2818')
    def test_flavor(self) -> None:
        flavor = self.rt_flavor()
        self.assert_refused(
            'it is more than the period', self.set_extra_specs, flavor,
            {'hw:cpu.rt_runtime_us': str(CONF.nova_rt.period_us + 1),
             'hw:cpu.rt_period_us': str(CONF.nova_rt.period_us)})
        self.assertEqual({}, self.admin_flavors_client.list_flavor_extra_specs(
            flavor)['extra_specs'])

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('1295b5b6-3589-468b-b013-a17e71be1e6c')
    def test_dedicated_cpus(self) -> None:
        flavor = self.rt_flavor(CONF.nova_rt.runtime_us)
        self.assert_refused(
            'a CPU reservation needs shared pCPUs, not dedicated ones',
            self.set_extra_specs, flavor, {'hw:cpu_policy': 'dedicated'})
