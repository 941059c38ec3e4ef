# SPDX-License-Identifier: Apache-2.0

"""Tests what a host offers, from options and kernel."""

import fixtures

from nova_rt.machine.kernel import base as kernel_base
from nova_rt.rules import cpus
from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from nova_rt.services.compute import capacity
from nova_rt.services.compute import policy
from nova_rt import version
from tests.unit import base

CAP = round(defaults.CPU_CAP * reservation.PPM)


class Kernel:
    """The part of a kernel interface that the capacity needs."""

    name = 'fake'

    def __init__(self, ppm=1_000_000, tick_us=0, replicated=False,
                 error=None, fixed=False, min_period_us=1,
                 min_runtime_us=1, interrupts=False, pins=True, others=(),
                 takes_soft=False, holds_cpus=False):
        self.replicated = replicated
        self.pins = pins
        self.takes_soft = takes_soft
        self.holds_cpus = holds_cpus
        self._capacity = error or kernel_base.Capacity(
            ppm, tick_us, fixed, min_period_us, min_runtime_us, interrupts,
            others)

    def capacity(self):
        if isinstance(self._capacity, Exception):
            raise self._capacity
        return self._capacity


class MeasureTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.config('libvirt', virt_type='lxc')
        self.cores = self.useFixture(fixtures.MockPatchObject(
            capacity.siblings, 'cores', side_effect=tuple)).mock

    def measure(self, kernel=None, shared=(2, 0, 1), trouble=''):
        return capacity.measure(base.CONF, kernel, shared, trouble)

    def refused(self, words, **options):
        self.config(**options)
        error = self.assertRaises(exception.InvalidConfiguration,
                                  self.measure, Kernel())
        for word in words:
            self.assertIn(word, str(error))

    def test_a_kernel_that_may_be_given_no_short_runtime(self):
        found = self.measure(Kernel(min_runtime_us=4_000))
        short = reservation.Reservation(3_999, 100_000)
        self.assertFalse(cpus.fits(found.empty, 1, short))
        self.assertIn('cannot keep a runtime below 4000 us',
                      found.refusal(found.empty, 1, short))
        self.assertTrue(cpus.fits(
            found.empty, 1, reservation.Reservation(4_000, 100_000)))

    def test_masks_need_vcpus_that_the_kernel_can_tell_apart(self):
        self.config('libvirt', virt_type='kvm')
        self.assertIn('mask', self.measure(Kernel()).takes)
        self.assertIn('mask', self.measure(Kernel()).published(
            cpus.CpuBandwidth.empty((0,), 1),
            policy.Policy('worst_fit')).takes)
        everywhere = self.measure(Kernel(replicated=True))
        self.assertNotIn('mask', everywhere.takes)
        self.assertIn('this host cannot tell vCPUs apart: its kernel charges '
                      'a reservation on every pCPU, or its servers are '
                      'containers; use hosts with',
                      everywhere.lack(frozenset(['mask'])))
        self.config('libvirt', virt_type='lxc')
        self.assertNotIn('mask', self.measure(Kernel()).takes)

    def test_siblings(self):
        self.cores.side_effect = lambda ids: tuple(cpu // 2 for cpu in ids)
        plain = self.measure(Kernel())
        self.assertNotIn('core', plain.takes)
        self.assertIn('hw:cpu.rt_smt=core', plain.lack(frozenset(['core'])))
        self.assertEqual(2_850_000, plain.empty.total)
        self.config(smt='core')
        counted = self.measure(Kernel())
        self.assertIn('core', counted.takes)
        self.assertEqual((1_900_000, (0, 0, 1)), (
            counted.empty.total, counted.empty.cores))
        self.assertIn('the threads of a core counted as one', str(counted))
        self.config(smt='prefer')
        self.assertEqual(cpus.Smt.PREFER, self.measure(Kernel()).empty.smt)

    def test_numa_cells_need_pinned_vcpus(self):
        self.config('libvirt', virt_type='kvm')
        self.assertIn('numa', self.measure(Kernel()).takes)
        anywhere = self.measure(Kernel(pins=False))
        self.assertNotIn('numa', anywhere.takes)
        self.assertIn('this host keeps no vCPU on the pCPU of its claim',
                      anywhere.lack(frozenset(['numa'])))

    def test_soft_reservations(self):
        found = self.measure(Kernel(takes_soft=True))
        self.assertIn('soft', found.takes)
        self.assertIn('for hard and soft reservations', str(found))
        without = self.measure(Kernel())
        self.assertNotIn('soft', without.takes)
        self.assertIn('hw:cpu.rt_reservation=soft',
                      without.lack(frozenset(['soft'])))

    def test_kernel_without_room(self):
        self.assertTrue(self.measure(Kernel(ppm=0)).reason.endswith(
            'bandwidth that the kernel gives to control groups'))

    def test_groups_that_hold_bandwidth_are_named(self):
        others = ('/a.slice', '/b.slice')
        self.assertTrue(self.measure(Kernel(ppm=0, others=others)).reason
                        .endswith('to control groups: /a.slice, /b.slice'))
        self.assertEqual(
            '450000 ppm of each of the pCPUs 0-2, for hard reservations only, '
            'in addition to other groups with bandwidth: /a.slice, /b.slice',
            str(self.measure(Kernel(ppm=450_000, others=others))))

    def test_rt_cpus_that_select_nothing(self):
        self.config(rt_cpus='^0')
        self.assertIn('rt_cpus', self.measure(Kernel()).reason)

    def test_all_shared_pcpus_up_to_the_cap(self):
        found = self.measure(Kernel())
        self.assertTrue(found.available)
        self.assertEqual(cpus.CpuBandwidth.empty((0, 1, 2), CAP),
                         found.empty)
        self.assertEqual((0, 1, 2), found.empty.cpus)

    def fixed(self, **options):
        self.config(**options)
        return self.measure(Kernel(tick_us=4000, fixed=True,
                                   min_period_us=10_000)).empty.rule

    def test_edf_needs_no_rule(self):
        self.assertIsNone(self.measure(Kernel(tick_us=4000)).empty.rule)

    def test_fixed_priorities(self):
        self.assertEqual(
            schedulability.FixedPriorities(48, 4000, 10_000),
            self.fixed())
        self.assertEqual(11, self.fixed(guest_priority=20,
                                        guest_priority_max=30).levels)

    def test_divided_only_for_fixed_priorities(self):
        found = self.measure(Kernel(tick_us=4000, fixed=True))
        self.assertEqual(0, found.empty.min_divided_us)
        self.config(min_divided_runtime_us=100)
        for fixed, least_us in ((False, 0), (True, 100)):
            found = self.measure(Kernel(tick_us=4000, fixed=fixed))
            self.assertEqual(least_us, found.empty.min_divided_us)

    def test_guests_that_choose_their_priority(self):
        self.assertEqual(1, self.fixed(guest_policy='none').levels)

    def test_priorities_upside_down(self):
        self.config(guest_priority=58)
        error = self.assertRaises(exception.InvalidConfiguration, self.fixed)
        self.assertIn('guest_priority_max = 57', str(error))
        self.assertIn('at least guest_priority, which is 58', str(error))

    def test_refusal(self):
        found = self.measure(Kernel(tick_us=4000, fixed=True,
                                    min_period_us=10_000))

        def refusal(vcpus, *args, on=found.empty):
            return found.refusal(on, vcpus, reservation.Reservation(*args))

        self.assertIn('cannot keep a period below 10000 us',
                      refusal(1, 900, 1000))
        many = refusal(len(found.empty.cpus) + 1, 900, 10_000)
        self.assertIn('fewer than 4 pCPUs have room', many)
        self.assertNotIn('fixed priorities', many)
        held = found.empty.fold([
            (found.empty.cpus, reservation.Reservation(9_000, 20_000))])
        self.assertIn('(share 0.400): its kernel runs '
                      'servers by fixed priorities',
                      refusal(1, 4_000, 10_000, on=held))

    def test_refusal_says_what_is_sold(self):
        wanted = reservation.Reservation(60_000, 100_000)
        each, in_all = (self.measure(Kernel(replicated=replicated))
                        for replicated in (False, True))
        self.assertEqual(
            f'no pCPU has room for {wanted}: reservations may use 0.950 of '
            f'each pCPU', each.refusal(each.empty.fold(
                [((0, 1, 2), wanted)]), 1, wanted))
        self.assertEqual(
            f'no pCPU has room for {wanted}: this kernel charges each server '
            f'on every pCPU, so that servers may reserve 0.950 of a CPU in '
            f'all, and 0.600 is taken',
            in_all.refusal(in_all.empty.fold([((0,), wanted)]), 1, wanted))

    def test_some_pcpus(self):
        self.config(rt_cpus='0-2,^1')
        self.assertEqual((0, 2), self.measure(Kernel()).empty.cpus)

    def test_pcpus_that_are_not_shared(self):
        self.refused(['rt_cpus = 1-4', 'CPUs 3-4 are', 'cpu_shared_set'],
                     rt_cpus='1-4')

    def test_no_list_of_pcpus(self):
        self.refused(['rt_cpus = two', '2-15,^8'], rt_cpus='two')

    def test_policy(self):
        self.refused(['packing_policy = magic', 'entry point'],
                     packing_policy='magic')

    def test_lower_of_option_and_kernel(self):
        self.assertEqual(900_000, self.measure(Kernel(900_000)).empty.cap)
        self.config(cpu_cap=0.5)
        self.assertEqual(500_000, self.measure(Kernel(900_000)).empty.cap)

    def test_ticks_are_mentioned(self):
        self.assertIn('ticks of 4000 us',
                      str(self.measure(Kernel(tick_us=4000))))

    def test_interrupts_are_mentioned(self):
        self.assertIn('before threads that handle interrupts',
                      str(self.measure(Kernel(interrupts=True))))

    def test_replicated(self):
        found = self.measure(Kernel(replicated=True))
        self.assertTrue(found.empty.replicated)
        self.assertEqual(f'{CAP} ppm in all, on the pCPUs 0-2, '
                         'for hard reservations only', str(found))

    def test_why_it_takes_none(self):
        cases = (
            ('kernel offers no interface', None, {}),
            ('hcbs_scheduler_available is false', Kernel(),
             {'hcbs_scheduler_available': False}),
            ('virt_type = parallels', Kernel(),
             {'virt_type': 'parallels'}))
        for words, kernel, options in cases:
            group = 'libvirt' if 'virt_type' in options else 'nova_rt'
            self.config(group, **options)
            found = self.measure(kernel)
            self.assertFalse(found.available)
            self.assertIn(words, found.reason)
            self.assertEqual(f'none on this host: {found.reason}',
                             str(found))
            self.config(hcbs_scheduler_available=True)

    def test_guests_with_tasks_of_their_own(self):
        for virt_type in ('kvm', 'lxc', 'qemu'):
            self.config('libvirt', virt_type=virt_type)
            self.assertTrue(self.measure(Kernel()).available)

    def test_the_kernel_cannot_be_used(self):
        """The reason of the kernel is given in one sentence."""
        found = self.measure(None, trouble='it looks like two')
        self.assertEqual('it looks like two', found.reason)
        error = exception.KernelError(interface='fake', group='/',
                                      reason='no permission (EPERM)')
        found = self.measure(Kernel(error=error))
        self.assertFalse(found.available)
        self.assertEqual(f'{found.reason}.', str(error))  # the log adds it
        self.assertEqual(0, found.empty.cap)

    def test_no_pcpu(self):
        found = self.measure(Kernel(), shared=())
        self.assertIn('no pCPU', found.reason)

    def test_servers_count_where_no_new_ones_are_taken(self):
        self.config(hcbs_scheduler_available=False)
        found = self.measure(Kernel())
        self.assertEqual((0, 1, 2), found.empty.cpus)

    def test_published(self):
        found = self.measure(Kernel())
        state = found.empty.claim((1,), base.share(5))
        packed = policy.Policy('best_fit')
        published = found.published(state, packed)
        self.assertEqual((state, 'best_fit', version.get()), (
            published.state, published.policy, published.release))
        self.assertEqual(version.get(), found.nothing(packed).release)
        published = found.published(state, policy.Policy('x', reason='why'))
        self.assertEqual(((), 'why'), (
            published.state.cpus, published.reason))

    def test_published_where_none_are_taken(self):
        found = self.measure(None)
        state = found.published(found.empty.claim((1,), base.share(5)),
                                policy.Policy('worst_fit')).state
        self.assertEqual((0, 0), (state.total, state.total_used))
        self.assertFalse(cpus.fits(state, 1, base.share(1)))

    def test_takes_servers_for_which_it_makes_room(self):
        """Only if the host may move vCPUs, and its kernel can do so."""
        for mode, holds_cpus, taken in (
                ('apply', False, True), ('apply', True, False),
                ('plan', False, False), ('off', False, False)):
            self.config(defrag_on_reject=mode)
            found = self.measure(Kernel(holds_cpus=holds_cpus))
            self.assertEqual(taken, hostmap.MOVES in found.takes)
