# SPDX-License-Identifier: Apache-2.0

"""tools/readme.py: the table of kernels in README.rst."""

import unittest

import readme

from lab import table

_PAGE = ('a\n\n.. The table of kernels, by tools/readme.py from '
         'kernels.csv.\nold\n.. The end of the table of kernels.\n\nb\n')


def row(kernel='debian:13', clock='host', guests='KVM', within='0.0100',
        proven='KVM', interface='sched_deadline', outcome='passed',
        sells='0.90 of each'):
    return table.Row(kernel, '6.12.1-x', 'v2', '2', clock, guests, interface,
                     sells, '-', '-', within, '-', proven, outcome)


class LinesTest(unittest.TestCase):

    def test_boots_of_a_kernel_are_one_line(self):
        self.assertEqual(
            [('Debian 13, 6.12', 'v2', 'SCHED_DEADLINE', 'no',
              '0.90 of each', 'guarantee, cap', '0.0003', 'lab, KVM')],
            list(readme.lines([
                row(clock='deterministic', within='0.0002', proven='lab'),
                row(clock='deterministic', within='0.0003', proven='-'),
                row()])))

    def test_a_kernel_on_which_a_test_failed_is_marked(self):
        for guests in ('KVM', '-'):
            line, = readme.lines([
                row(), row(guests=guests, outcome='failed', within='-')])
            self.assertEqual('0.0100*', line[-2])

    def test_what_was_not_tried_is_left_out(self):
        self.assertEqual([], list(readme.lines([row(guests='-')])))

    def test_the_clock_of_the_host_where_there_is_no_better(self):
        line, = readme.lines([row(clock='deterministic', within='-'), row()])
        self.assertEqual('0.0100', line[-2])

    def test_others_come_after_debian_without_details(self):
        names = [line[0] for line in readme.lines([
            row('HCBS (some) on Linux 7.2', interface='rt_max'), row()])]
        self.assertEqual(['Debian 13, 6.12', 'HCBS on Linux 7.2'], names)

    def test_a_kernel_that_gives_nothing(self):
        line, = readme.lines([row(interface='none')])
        self.assertEqual(('no', 'no', '0.90 of each', 'none'), line[2:6])

    def test_cgroups_are_named_together_where_nothing_differs(self):
        rows = [row(), row()._replace(cgroup='v1')]
        self.assertEqual(['v1, v2'], [line[1] for line in readme.lines(rows)])
        worse = row(within='0.0200')._replace(cgroup='v1')
        self.assertEqual(['v1', 'v2'], [
            line[1] for line in readme.lines([row(), worse])])

    def test_builds_with_type_information_are_no_kernel_of_their_own(self):
        line, = readme.lines([row('HCBS', interface='rt_max'), row(
            'HCBS, with BTF', within='0.0200', interface='rt_max')])
        self.assertEqual(('HCBS', '0.0200'), (line[0], line[-2]))

    def test_what_it_sells_is_the_least(self):
        line, = readme.lines([row(sells='-'), row(), row(
            sells='0.85 of each')])
        self.assertEqual('0.85 of each', line[4])


class PageTest(unittest.TestCase):

    def test_all_but_the_table_stays(self):
        found = readme.page(_PAGE, [row()])
        self.assertTrue(found.startswith('a\n'))
        self.assertTrue(found.endswith('.\n\nb\n'))
        self.assertNotIn('old', found)
        self.assertEqual(found, readme.page(found, [row()]))

    def test_no_place(self):
        with self.assertRaisesRegex(ValueError, 'has no place'):
            readme.page('a\n', [])
