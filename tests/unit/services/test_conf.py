# SPDX-License-Identifier: Apache-2.0

"""Tests the options and what is derived from them."""

from oslo_config import cfg
from oslo_config import fixture
from oslo_config import types
from oslotest import base

from nova_rt.rules import defaults
from nova_rt.rules import reservation
from nova_rt.services import conf as rt_conf


class ConfTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.conf = cfg.ConfigOpts()
        rt_conf.register_opts(self.conf)
        self.useFixture(fixture.Config(self.conf))
        self.conf([], default_config_files=[])

    def test_register_again(self):
        rt_conf.register_opts(self.conf)
        self.assertEqual('worst_fit', self.conf.nova_rt.packing_policy)

    def test_default_limits(self):
        self.assertEqual(
            reservation.Limits(
                min_runtime_us=100, min_period_us=1000,
                max_period_us=1_000_000, max_bandwidth=950_000,
                hint_override=reservation.HintOverride.LOWER,
                plain_hints=False),
            rt_conf.limits(self.conf))

    def test_each_limit_is_its_option(self):
        values = {'min_runtime_us': 7, 'min_period_us': 8,
                  'max_period_us': 9, 'hint_override': 'any'}
        for name, value in values.items():
            self.conf.set_override(name, value, group='nova_rt')
        self.conf.set_override('max_share', 0.29, group='nova_rt')
        limits = rt_conf.limits(self.conf)
        self.assertEqual(
            values, {name: getattr(limits, name) for name in values})
        self.assertEqual(290_000, limits.max_bandwidth)
        self.conf.set_override('hints_on_plain_flavors', True,
                               group='nova_rt')
        self.assertTrue(rt_conf.limits(self.conf).plain_hints)

    def test_limit_of_emulators(self):
        self.assertIsNone(rt_conf.emulator_quota(self.conf))
        for share, quota in ((0.01, (1_000, 100_000)),
                             (0.09, (9_000, 100_000)), (0.1, (1_000, 10_000)),
                             (1, (10_000, 10_000)), (2.5, (25_000, 10_000))):
            self.conf.set_override('emulator_max_share', share,
                                   group='nova_rt')
            self.assertEqual(quota, rt_conf.emulator_quota(self.conf))

    def test_every_choice_of_hints_has_a_meaning(self):
        option = next(opt for opt in rt_conf.ALL_OPTS
                      if opt.name == 'hint_override')
        self.assertEqual([choice.value for choice in
                          reservation.HintOverride],
                         list(option.type.choices))

    def test_values_out_of_range(self):
        for name, value in (
                ('max_share', 1.01), ('max_share', 0), ('cpu_cap', 1.01),
                ('emulator_max_share', 0), ('emulator_max_share', 'x'),
                ('min_runtime_us', 1), ('max_period_us', 4_194_305),
                ('guest_priority', 0), ('guest_priority', 100),
                ('guest_policy', 'deadline'), ('hint_override', 'all')):
            self.assertRaises(ValueError, self.conf.set_override, name,
                              value, group='nova_rt')

    def test_what_is_not_a_finite_number_is_refused(self):
        shares = [opt.name for opt in rt_conf.ALL_OPTS
                  if isinstance(opt.type, types.Float)]
        self.assertIn('emulator_max_share', shares)
        for name in shares:
            for text in ('nan', 'inf', '-inf', 'NaN'):
                self.assertRaises(ValueError, self.conf.set_override, name,
                                  text, group='nova_rt')

    def test_ppm_is_exact_for_what_people_write(self):
        wrong = [n for n in range(0, 1_000_001, 7)
                 if rt_conf.ppm(float(f'{n / 1e6:.6f}')) != n]
        self.assertEqual([], wrong)

    def test_sample_has_all_options_with_help(self):
        (group, options), = rt_conf.list_opts()
        self.assertEqual('nova_rt', group.name)
        self.assertEqual(sorted(self.conf.nova_rt),
                         sorted(option.name for option in options))
        self.assertEqual([], [o.name for o in options if not o.help])


class IndependenceTest(base.BaseTestCase):

    def test_an_override_stays_on_its_object(self):
        one, two = cfg.ConfigOpts(), cfg.ConfigOpts()
        rt_conf.register_opts(one)
        rt_conf.register_opts(two)
        two.set_override('cpu_cap', 0.5, group='nova_rt')
        self.assertEqual((defaults.CPU_CAP, 0.5),
                         (one.nova_rt.cpu_cap, two.nova_rt.cpu_cap))
