# SPDX-License-Identifier: Apache-2.0

"""Tests what several requests ask for together."""

from oslotest import base

from tacker_rt.vnfd import asked
from tacker_rt.vnfd import descriptor
from tests.unit.tacker_rt import samples

_RUNTIME, _PERIOD = 'cpu.rt_runtime_us', 'cpu.rt_period_us'


def _nfv(vdu='VDU1', **values):
    return {'nfv': {'VDU': {vdu: {
        f'cpu.rt_{key}': value for key, value in values.items()}}}}


class AskedTest(base.BaseTestCase):

    def examine(self, *layers, requirements=None):
        """Layers are what is kept, a request, and a grant."""
        names = (asked.KEPT, asked.REQUEST, asked.GRANT)
        vdus, found = descriptor.examine(
            {'f': samples.sol001(requirements or samples.hints(
                '60000', '100000'))},
            request=[asked.Asked(where, one) for where, one
                     in zip(names, layers, strict=False)])
        return vdus['VDU1'], list(map(str, found))

    def runtime(self, *layers):
        vdu, found = self.examine(*layers)
        self.assertEqual([], found)
        return vdu.hints[_RUNTIME]

    def test_the_last_wins(self):
        one, two, three = (_nfv(runtime_us=value)
                           for value in (10_000, 20_000, 30_000))
        self.assertEqual(10_000, self.runtime(one))
        self.assertEqual(20_000, self.runtime(one, two))
        self.assertEqual(30_000, self.runtime(one, two, three))
        self.assertEqual(30_000, self.runtime(one, {}, three))

    def test_key_by_key(self):
        vdu, found = self.examine(_nfv(runtime_us=10_000, carrier='both'),
                                  _nfv(period_us=50_000))
        self.assertEqual([], found)
        self.assertEqual(samples.hints(10_000, 50_000), vdu.hints)
        self.assertEqual(descriptor.Carrier.BOTH, vdu.carrier)

    def test_null_takes_back(self):
        kept, null = _nfv(runtime_us=10_000), _nfv(runtime_us=None)
        self.assertEqual(60_000, self.runtime(kept, null))
        self.assertEqual(60_000, self.runtime({}, null))
        self.assertEqual(10_000, self.runtime(kept, null, kept))

    def test_null_takes_back_what_is_wrong(self):
        for wrong, null in (
                (_nfv(runtime_us=-1), _nfv(runtime_us=None)),
                (_nfv(runtme_us=1), _nfv(runtme_us=None)),
                (_nfv('VDU9', runtime_us=1), _nfv('VDU9', runtime_us=None))):
            self.assertEqual(1, len(self.examine(wrong)[1]))
            self.assertEqual(60_000, self.runtime(wrong, null))

    def test_null_for_a_key_of_nobody(self):
        self.assertEqual(
            ['additionalParams: VDU VDU1: cpu.rt_runtme_us=None: this key is '
             'not known here; did you mean cpu.rt_runtime_us?'],
            self.examine({}, _nfv(runtme_us=None))[1])

    def test_the_place_is_told(self):
        """The message names the strongest source that has a part in it."""
        much, rule = _nfv(runtime_us=200_000), (
            'VDU VDU1: cpu.rt_runtime_us=200000: it is more than the period '
            'of 100000; give at most the period.')
        self.assertEqual([f'{asked.KEPT}: {rule}'], self.examine(much)[1])
        self.assertEqual([f'{asked.REQUEST}: {rule}'],
                         self.examine({}, much)[1])
        self.assertEqual([f'{asked.GRANT}: {rule}'],
                         self.examine({}, {}, much)[1])
        self.assertEqual(
            ['additionalParams: VDU VDU1: cpu.rt_runtime_us=60000: it is '
             'more than the period of 50000; give at most the period.'],
            self.examine({}, _nfv(period_us=50_000))[1])

    def test_half_of_a_reservation(self):
        vdu, found = self.examine({}, _nfv(runtime_us=5),
                                  requirements={'x': 'y'})
        self.assertEqual(
            ['additionalParams: VDU VDU1: cpu.rt_period_us: the key is '
             'missing; give both cpu.rt_runtime_us and cpu.rt_period_us, or '
             'name a flavor that has the key.'], found)

    def test_where_nobody_reads(self):
        advice = (': this key is not read here; move it to nfv > VDU > the '
                  'VDU.')
        for parameters in ({_RUNTIME: 5}, {'nfv': {_RUNTIME: 5}},
                           {'VDU': {'VDU1': {_RUNTIME: 5}}},
                           {'nfv': {'VDU': {_RUNTIME: 5}}}):
            self.assertEqual([f'additionalParams: {_RUNTIME}=5{advice}'],
                             self.examine({}, parameters)[1])

    def test_wishes(self):
        parameters = {'nfv': {'VDU': {
            'VDU1': {_RUNTIME: 1, 'computeFlavourId': 'x', 'runtime_us': 2},
            'VDU2': None, 'VDU3-0': {_PERIOD: None}}}}
        self.assertEqual(
            [('VDU1', _RUNTIME, 1), ('VDU3-0', _PERIOD, None)],
            list(asked.Asked('', parameters).wishes()))
        for parameters in ({}, {'nfv': []}, {'nfv': {'VDU': 3}}):
            self.assertEqual([], list(asked.Asked('', parameters).wishes()))
