# SPDX-License-Identifier: Apache-2.0

"""Tests each rule in each case, and the warnings."""

import itertools

import ddt
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import workload
from rt_models.pinning import advice
from rt_models.pinning import rules
from rt_models.pinning import topology

CPU, IO, ULTRA_IO = workload.AppClass
RESERVED, DEDICATED, SHARED, NESTED = rules.CpuPlacement
#: all that may be asked, apart from numbers
CASES = tuple(itertools.product(
    workload.AppClass, (1, 2, 3), (False, True), (False, True),
    (False, True)))


def ask(app_class, vcpus=8, **more):
    return advice.advise(advice.PinningQuestion(
        app_class, vcpus, (topology.plain(112),), **more))


def sharing(app_class, vcpus, cores=112):
    """The size of a container that shares the CPUs of a host."""
    question = advice.PinningQuestion(
        app_class, vcpus, (topology.plain(cores),))
    return advice._size(question, SHARED, question.hosts[0])


@ddt.ddt
class RulesTest(base.BaseTestCase):

    @ddt.data(*CASES)
    @ddt.unpack
    def test_one_small_containers_are_not_shared(
            self, app_class, vcpus, vm, reservations, dedicated):
        found = ask(app_class, vcpus, vm=vm, reservations=reservations,
                    dedicated=dedicated)
        named = rules.SMALL in found.reasons + found.warnings
        self.assertEqual(vcpus <= 2 and not vm, named)
        if found.placement is SHARED and named:
            self.assertIn(rules.SMALL, found.warnings)

    @ddt.data(*CASES)
    @ddt.unpack
    def test_two_and_three_cpu_bound(
            self, app_class, vcpus, vm, reservations, dedicated):
        found = ask(CPU, vcpus, vm=vm, reservations=reservations,
                    dedicated=dedicated)
        if vm:
            self.assertEqual((SHARED, (rules.VM_UNPINNED,)),
                             (found.placement, found.reasons))
        elif reservations or dedicated:
            self.assertIs(RESERVED if reservations else DEDICATED,
                          found.placement)
            self.assertIn(rules.PINNED_CONTAINER, found.reasons)
        else:
            self.assertEqual((SHARED, (rules.RANGES,)),
                             (found.placement, found.reasons))

    @ddt.data(*itertools.product((IO, ULTRA_IO), (1, 8), (False, True)))
    @ddt.unpack
    def test_four_io_bound(self, app_class, vcpus, vm):
        """A container with its own CPUs, else one within a VM."""
        found = ask(app_class, vcpus, vm=vm, reservations=False,
                    dedicated=False)
        self.assertIs(NESTED, found.placement)
        self.assertIn(rules.IO_NESTED, found.reasons)
        found = ask(app_class, vcpus, vm=vm)
        self.assertIs(RESERVED, found.placement)
        # Nothing about a container in a VM, which it is not.
        self.assertNotIn(rules.IO_NESTED, found.reasons)
        found = ask(app_class, vcpus, reservations=False)
        self.assertIs(DEDICATED, found.placement)
        self.assertIn(rules.PINNED_IO, found.reasons)
        self.assertNotIn(rules.IO_NESTED, found.reasons)

    @ddt.data((CPU, 8, 16), (IO, 16, 32), (ULTRA_IO, 32, 64))
    @ddt.unpack
    def test_five_ranges(self, app_class, low, high):
        for vcpus, advised in (
                (low - 1, f'give the server {low} vCPUs, '
                          'or use smaller hosts'),
                (low, ''), (high, ''), (high + 1, '')):
            size = sharing(app_class, vcpus)
            self.assertEqual((advised, vcpus / 112),
                             (size.advice, size.chr))

    def test_what_is_advised_is_in_the_range(self):
        for app_class, cores in itertools.product(workload.AppClass,
                                                  range(1, 300)):
            size = sharing(app_class, 1, cores)
            if size.advice.startswith('give'):
                vcpus = int(size.advice.split()[3])
                self.assertEqual('', sharing(app_class, vcpus, cores).advice)


class AdviceTest(base.BaseTestCase):

    def test_never_pinned_to_shared_cpus(self):
        for app_class, vcpus, vm, reservations, dedicated in CASES:
            found = ask(app_class, vcpus, vm=vm, reservations=reservations,
                        dedicated=dedicated)
            if found.placement in (SHARED, RESERVED):
                self.assertIn(rules.NOT_SHARED,
                              found.reasons + found.warnings)

    def test_no_quota_on_dedicated_cpus(self):
        self.assertIn(rules.NO_QUOTA, ask(CPU, reservations=False).warnings)

    def test_headroom_for_the_hypervisor(self):
        self.assertIn(rules.HEADROOM, ask(CPU, vm=True).warnings)
        self.assertIn(rules.HEADROOM, ask(
            IO, reservations=False, dedicated=False).warnings)
        self.assertNotIn(rules.HEADROOM, ask(IO).warnings)

    def test_each_rule_has_a_source_and_a_case(self):
        used = set()
        for app_class, vcpus, vm, reservations, dedicated in CASES:
            found = ask(app_class, vcpus, vm=vm, reservations=reservations,
                        dedicated=dedicated)
            used |= {*found.reasons, *found.warnings}
        self.assertEqual(set(rules.ALL), used)
        for rule in rules.ALL:
            self.assertTrue(rule.source)

    def test_extra_specs(self):
        question = advice.PinningQuestion(IO, 2, (topology.plain(8),))
        self.assertEqual(
            {'hw:cpu.app_class': 'io', 'hw:cpu.rt_runtime_us': '95000',
             'hw:cpu.rt_period_us': '100000'},
            advice.extra_specs(question, RESERVED))
        self.assertEqual(
            {'hw:cpu.app_class': 'io', 'hw:cpu_policy': 'dedicated'},
            advice.extra_specs(question, DEDICATED))
        self.assertEqual({'hw:cpu.app_class': 'io'},
                         advice.extra_specs(question, SHARED))

    def test_sizes_in_order(self):
        found = advice.advise(advice.PinningQuestion(CPU, 4, tuple(
            map(topology.plain, (64, 16, 64)))))
        self.assertEqual([16, 64], [size.host.pcpus for size in found.sizes])

    def test_no_such_numbers(self):
        hosts = topology.plain(8), topology.plain(4)
        for vcpus in (0, -1, 9):
            self.assertRaises(exception.InvalidPinning, advice.PinningQuestion,
                              CPU, vcpus, hosts)
        for cores in (0, 100_001):
            self.assertRaises(exception.InvalidPinning, topology.plain,
                              cores)

    def test_host_that_is_too_small(self):
        found = advice.advise(advice.PinningQuestion(CPU, 8, (
            topology.plain(4), topology.plain(8))))
        self.assertEqual([False, True], [size.fits for size in found.sizes])
        self.assertIn('cannot take the server', found.sizes[0].notes[0])

    def test_core_ratio_is_for_containers_that_share(self):
        for case in CASES:
            app_class, vcpus, vm, reservations, dedicated = case
            found = ask(app_class, vcpus, vm=vm, reservations=reservations,
                        dedicated=dedicated)
            size, = found.sizes
            self.assertEqual(found.placement is SHARED and not vm,
                             size.chr is not None, case)

    def notes(self, vcpus, *kinds, smt=1):
        """Returns the notes for 2 sockets of 2 caches of 4 cores each."""
        cpus = tuple(topology.CPU(
            number, number // (8 * smt), number // smt,
            number // (4 * smt), kinds[number // smt % 4] if kinds else 0)
            for number in range(16 * smt))
        found = advice.advise(advice.PinningQuestion(
            CPU, vcpus, (topology.Host('x', cpus),)))
        return ' '.join(found.sizes[0].notes)

    def test_notes(self):
        self.assertEqual('', self.notes(4))
        self.assertIn('4 pCPUs share a last-level cache', self.notes(5))
        self.assertIn('hw:numa_nodes=2', self.notes(9))
        self.assertIn('hardware thread', self.notes(2, smt=2))
        self.assertIn('differ in speed', self.notes(2, 1, 1, 2, 2))
        self.assertIn('Only 8 pCPUs', self.notes(9, 1, 1, 2, 2))
