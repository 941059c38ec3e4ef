# SPDX-License-Identifier: Apache-2.0

import types

from osc_lib import exceptions

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from rt_client import fit
from rt_client import wish
from tests.unit.rt_client import base


def room(vcpus=64, used=0, **more):
    return {'resources': {'VCPU': {'capacity': vcpus, 'used': used}, **more}}


class FitTest(base.TestCase):

    hosts = (base.host('a', [0, 0, 900_000]), base.host('b', [0, 0]),
             base.host('c', [900_000, 0]), base.host('d', []))

    def setUp(self):
        super().setUp()
        self.summaries = {f'uuid-of-{name}': room() for name in 'abc'}
        self.placement.answers['/allocation_candidates'] = (
            200, {'provider_summaries': self.summaries})

    def test_how_many(self):
        self.assertEqual([
            ['a', '2', 'the pCPUs have no more room'],
            ['b', '2', 'the pCPUs have no more room']],
            self.rows(fit.Fit, '--share', '0.4', '--vcpus', '2'))
        self.assertEqual(1, len(self.compute.asked))
        self.assertEqual(1, len(self.placement.asked))

    def test_why_not(self):
        self.assertEqual(
            [['c', '0', 'fewer than 2 pCPUs have room; the emptiest has '
              '0.950 free'],
             ['d', '0', 'the host offers no reservations']],
            self.rows(fit.Fit, '--share', '0.4', '--vcpus', '2', '--all')[2:])

    def test_where_no_host_has_room_each_says_why(self):
        rows = self.rows(fit.Fit, '--share', '0.4', '--vcpus', '4')
        self.assertEqual(
            ['a', '0', 'the server reserves for 4 vCPUs, the host has 3 '
             'pCPUs for reservations'], rows[0])
        self.assertEqual(4, len(rows))

    def test_above_the_cap(self):
        self.assertEqual('the share is above the cap of 0.950',
                         self.rows(fit.Fit, '--share', '1')[0][2])

    def test_a_kernel_that_charges_every_pcpu(self):
        """All servers share one sum, even if some pCPUs are empty."""
        held = reservation.Reservation(60_000, 100_000)
        state = cpus.CpuBandwidth.empty(
            (0, 1, 2), 950_000, replicated=True).fold([((0,), held)])
        self.assertEqual(
            ['this kernel charges each server on every pCPU, so that servers '
             'may reserve 0.950 of a CPU in all, and 0.600 is taken'],
            list(wish.refusals(hostmap.HostMap(state, 'worst_fit'),
                               wish.Wish(1, held))))

    def test_placement_has_less(self):
        self.summaries['uuid-of-a'] = room(vcpus=4, used=2)
        del self.summaries['uuid-of-b']
        self.assertEqual([
            ['a', '1', 'Placement has no more VCPU'],
            ['b', '0', 'Placement does not offer the host']],
            self.rows(fit.Fit, '--share', '0.4', '--vcpus', '2', '--all')[:2])

    def flavor(self, vcpus=2, **specs):
        self.compute.named['f'] = types.SimpleNamespace(
            name='f', vcpus=vcpus, ram=64, disk=1, ephemeral=0,
            extra_specs={f'hw:cpu.rt_{key}': value
                         for key, value in specs.items()})

    def test_a_flavor_has_memory(self):
        self.flavor(runtime_us='40000', period_us='100000')
        self.summaries['uuid-of-a'] = room(
            MEMORY_MB={'capacity': 100, 'used': 30})
        self.assertEqual(['a', '1', 'Placement has no more MEMORY_MB'],
                         self.rows(fit.Fit, '--flavor', 'f')[1])
        self.assertIn('MEMORY_MB%3A64%2CDISK_GB%3A1%2C'
                      'CUSTOM_RT_BANDWIDTH%3A800000%2C'
                      'CUSTOM_RT_SHARE%3A400000', self.placement.asked[0])

    def test_options_replace_what_the_flavor_says(self):
        self.flavor(runtime_us='40000', period_us='100000')
        self.assertEqual(
            [['a', '2'], ['b', '2'], ['c', '1']],
            [row[:2] for row in self.rows(
                fit.Fit, '--flavor', 'f', '--share', '0.5', '--vcpus', '1')])

    def test_a_flavor_that_hosts_do_not_take(self):
        self.flavor(runtime_us='40000', period_us='100000', mask='^0',
                    smt='core')
        self.assertEqual(
            ['a', '0', 'the host takes no flavor with hw:cpu.rt_smt=core; '
             'the host takes no flavor with hw:cpu.rt_mask'],
            self.rows(fit.Fit, '--flavor', 'f')[0])

    def test_a_flavor_with_a_topology(self):
        self.flavor(runtime_us='40000', period_us='100000')
        specs = self.compute.named['f'].extra_specs
        for key, value in (('hw:numa_nodes', '1'),
                           ('hw:mem_page_size', 'large')):
            specs[key] = value
            self.assertEqual(
                ['a', '0', 'the host takes no flavor with NUMA cells or a '
                 'page size'], self.rows(fit.Fit, '--flavor', 'f')[0])
            del specs[key]

    def test_bad_flavors(self):
        for specs, sentence in (
                ({}, 'Flavor f has no reservation; give --share.'),
                ({'runtime_us': '5'}, 'Flavor f: Invalid flavor extra spec '
                 'hw:cpu.rt_runtime_us=5'),
                ({'runtime_us': '5', 'period_us': '9', 'mask': 'x'},
                 "Flavor f: Invalid flavor extra spec hw:cpu.rt_mask='x'")):
            self.flavor(**specs)
            with self.assertRaises(exceptions.CommandError) as found:
                self.rows(fit.Fit, '--flavor', 'f')
            self.assertIn(sentence, str(found.exception))

    def test_bad_values(self):
        for words, sentence in (
                (('--share', '2'), '--share 2 in a period of 100000 us is '
                 'not a reservation'),
                (('--share', '0'), '--share 0 in a period'),
                (('--vcpus', '2'), 'Give --share or --flavor.'),
                (('--share', '0.1', '--vcpus', '-1'),
                 '--vcpus -1 is not a number of vCPUs: give 1 or more.'),
                (('--share', '0.1', '--period-us', '0'),
                 '--share 0.1 in a period of 0 us is not a reservation'),
                (('--flavor', 'no'), 'There is no flavor no.')):
            with self.assertRaises(exceptions.CommandError) as found:
                self.rows(fit.Fit, *words)
            self.assertIn(sentence, str(found.exception))


class TopologyTest(base.TestCase):
    """A host that takes all flavors has room for three vCPUs of 0.4 each."""

    hosts = (base.host('a', [0, 300_000, 900_000],
                       takes=frozenset(('mask', 'numa'))),)

    def fit(self, summary, **specs):
        self.placement.answers['/allocation_candidates'] = (
            200, {'provider_summaries': {'uuid-of-a': summary}})
        self.compute.named['f'] = types.SimpleNamespace(
            name='f', vcpus=2, ram=64, disk=1, ephemeral=0, extra_specs={
                'hw:cpu.rt_runtime_us': '40000',
                'hw:cpu.rt_period_us': '100000', **{
                    f'hw:{key}': value for key, value in specs.items()}})
        return self.rows(fit.Fit, '--flavor', 'f')

    def test_the_answer_says_what_it_does_not_count(self):
        self.assertEqual(
            [['a', '1', 'the pCPUs have no more room; NUMA cells, huge pages '
              'and devices are not counted here, so that fewer servers may '
              'fit']], self.fit(room(), numa_nodes='1'))

    def test_mixed(self):
        """The reservation is for one vCPU; the other one has a pCPU."""
        mixed = {'cpu_policy': 'mixed', 'cpu_dedicated_mask': '^1'}
        self.assertEqual(['a', '3'], self.fit(room(), **mixed)[0][:2])
        self.assertIn('VCPU%3A1%2CPCPU%3A1%2C', self.placement.asked[-1])
        self.assertIn('CUSTOM_RT_SHARE%3A400000', self.placement.asked[-1])
        few = room(PCPU={'capacity': 4, 'used': 0})
        isolated = mixed | {'emulator_threads_policy': 'isolate'}
        row, = self.fit(few, **isolated)
        self.assertEqual(['a', '2'], row[:2])
        self.assertIn('Placement has no more PCPU; NUMA cells', row[2])

    def test_a_bad_mask(self):
        with self.assertRaises(exceptions.CommandError) as found:
            self.fit(room(), cpu_policy='mixed', cpu_dedicated_mask='9')
        self.assertIn("hw:cpu_dedicated_mask='9'", str(found.exception))
