# SPDX-License-Identifier: Apache-2.0

"""demo.acts: which kinds of guests a host is shown, and in which order."""

import contextlib
import io
import pathlib
import tempfile
import unittest
from unittest import mock

from cloud import kvm

from demo import __main__ as command
from demo import acts
from demo import groups


class ChosenTest(unittest.TestCase):

    def test_virtual_machines_come_first(self):
        for lacking, guest in (('', 'kvm'), ('There is none.', 'qemu')):
            with mock.patch.object(kvm, 'lacking', return_value=lacking):
                self.assertEqual(
                    [acts.Act(guest, 'sched_deadline'), acts.Act('lxc', None)],
                    list(acts.chosen(None, None)))

    def test_one_kind_alone(self):
        self.assertEqual([acts.Act('lxc', None)],
                         list(acts.chosen('lxc', None)))

    def test_kvm_where_it_is_asked_for(self):
        act, = acts.chosen('kvm', None)
        self.assertEqual(acts.Act('kvm', 'sched_deadline'), act)
        with mock.patch.object(kvm, 'lacking', return_value='No /nowhere.'):
            self.assertIn('No /nowhere. Load the module', act.cannot_be)
        with mock.patch.object(kvm, 'lacking', return_value=''):
            self.assertEqual('', act.cannot_be)

    def test_another_interface(self):
        self.assertEqual([acts.Act('qemu', 'rt_max')],
                         list(acts.chosen('qemu', 'rt_max')))


class HostTest(unittest.TestCase):
    """The steps of a host depend on the files of its control groups."""

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name, value in (('CGROUPS', self.root), ('UNIFIED', True)):
            patch = mock.patch.object(groups, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        (self.root / 'system.slice').mkdir()

    def test_virtual_machines_need_no_budgets(self):
        self.assertEqual('', acts.Act('qemu', 'sched_deadline').cannot_be)

    def test_containers_need_budgets(self):
        self.assertIn('no budgets', acts.Act('lxc', None).cannot_be)

    def test_budgets_in_the_root_group(self):
        (self.root / 'cpu.rt.max').touch()
        self.assertEqual('', acts.Act('lxc', None).cannot_be)

    def test_budgets_below_the_root_group_only(self):
        (self.root / 'system.slice' / 'cpu.rt.max').touch()
        self.assertEqual('', acts.Act('lxc', None).cannot_be)

    def test_containers_alone_are_not_left_out_silently(self):
        with self.assertRaisesRegex(SystemExit, 'no budgets'):
            command.main(['--guest', 'lxc'])


class OptionsTest(unittest.TestCase):

    def refused(self, *arguments: str) -> str:
        with contextlib.redirect_stderr(io.StringIO()) as printed, \
                self.assertRaises(SystemExit):
            command.parse(arguments)
        return printed.getvalue()

    def test_an_interface_belongs_to_a_kind(self):
        self.assertIn('--interface rt_max needs --guest',
                      self.refused('--interface', 'rt_max'))

    def test_one_cloud_can_be_kept(self):
        self.assertIn('--keep needs --guest', self.refused('--keep'))
        self.assertTrue(command.parse(['--guest', 'qemu', '--keep']).keep)
