# SPDX-License-Identifier: Apache-2.0

"""``nova-rt release`` on emulated kernels."""

import contextlib
import io
import json
import os
from unittest import mock

from nova_rt.machine.host import namespaces
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import tasks
from nova_rt.machine import privsep
from rt_monitor import domains
from rt_operate.commands import main
from rt_operate.doctor import options
from tests.emulation import tasks as emulated
from tests.unit.machine.kernel import base


class ReleaseTest(base.EveryKernelTest):
    """Guests end while nova-compute does not run."""

    def setUp(self) -> None:
        super().setUp()
        self.options = options.Options()
        self.user, self.trouble = 0, ''
        self.known: list[int] = []
        for target, name, new in (
                (tasks, '_belongs', emulated.belongs),
                (options, 'load', lambda files: self.options),
                (fs, 'RealFS', lambda: self.kernel),
                (os, 'geteuid', lambda: self.user),
                (namespaces, 'trouble', lambda host: self.trouble),
                (domains, 'keepers', lambda host: iter(self.known)),
                (privsep.cgroup_pctxt, 'set_client_mode',
                 lambda enabled: None)):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.guests = emulated.Guests(self.kernel)
        self.keepers = [self.guests.start(name, '0') for name in 'ab']
        self.groups = [self.guests.group(each) for each in self.keepers]
        self.top = '/' + self.groups[0].split('/')[1]
        self.interface.reserve({group: base.budget(10_000, 100_000)
                                for group in self.groups})

    def release(self, *options: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main(['release', *options])
        return status, out.getvalue(), err.getvalue()

    def held(self) -> set[str]:
        """The groups below the root that have a budget."""
        return {group for group in self.kernel.budgets()
                if group != '/' and self.interface.read(group)}

    def end(self, keeper: int) -> str:
        """Ends the tasks of a guest, but keeps its group."""
        group = self.guests.group(keeper)
        for thread in self.guests.running[keeper]:
            self.kernel.exit(thread)
        return group

    def test_room_of_guests_that_libvirt_ended(self) -> None:
        for keeper in self.keepers:
            self.guests.stop(keeper)
        self.assertEqual({self.top}, self.held())
        self.assertEqual((0, '', ''), self.release())
        self.assertEqual(set(), self.held())

    def test_for_programs(self) -> None:
        left = self.end(self.keepers[0])
        status, out, err = self.release('-f', 'json')
        self.assertEqual((0, ''), (status, err))
        self.assertEqual({'released': [left], 'kept': self.top},
                         json.loads(out))

    def test_groups_that_were_left(self) -> None:
        left = [self.end(keeper) for keeper in self.keepers]
        status, out, err = self.release()
        self.assertEqual((0, ''), (status, err))
        for group in left:
            self.assertIn(group, out)
        self.assertEqual(set(), self.held())

    def test_a_guest_that_runs_keeps_its_budget(self) -> None:
        self.end(self.keepers[0])
        before = self.interface.read(self.groups[1])
        status, out, _ = self.release()
        self.assertEqual(0, status)
        self.assertIn(f'{self.top}: running guests keep', out)
        self.assertEqual(before, self.interface.read(self.groups[1]))
        self.assertIsNone(self.interface.read(self.groups[0]))
        self.assert_tight(self.kernel, self.top)

    def test_a_domain_that_libvirt_says_runs(self) -> None:
        """The budget of the domain stays, even if no task can be seen."""
        self.known = [*self.keepers, 1 << 30]  # and one that has ended
        with (mock.patch.object(tasks, 'Tasks', emulated.EmulatedTasks),
              mock.patch.object(emulated.EmulatedTasks, 'threads',
                                return_value=[]),
              mock.patch.object(emulated.EmulatedTasks, '_is_populated',
                                return_value=False)):
            status, out, _ = self.release()
            self.assertEqual((0, f'{self.top}: running guests keep their '
                              f'budgets\n'), (status, out))
            for group in self.groups:
                self.assertIsNotNone(self.interface.read(group))
            del self.known[0]
            self.assertIn(self.groups[0], self.release()[1])

    def test_outside_of_the_host(self) -> None:
        """Nothing is read and no budget is taken."""
        self.end(self.keepers[0])
        before = self.kernel.budgets()
        self.trouble = 'why'
        self.assertEqual(
            (1, '', 'nova-rt: This process does not see the host: why.\n'),
            self.release())
        self.assertEqual(before, self.kernel.budgets())

    def test_without_rights(self) -> None:
        self.user = 1000
        self.assertEqual(
            (3, '', 'nova-rt: release needs root; run it as root\n'),
            self.release())

    def test_again(self) -> None:
        self.end(self.keepers[0])
        self.release()
        before = self.kernel.budgets()
        self.assertEqual(0, self.release()[0])
        self.assertEqual(before, self.kernel.budgets())

    def test_no_guest_ever(self) -> None:
        self.kernel = self.new_kernel()
        self.interface = self.interface_on(self.kernel)
        self.assertEqual((0, '', ''), self.release())
        self.assertEqual(set(), self.held())

    def test_the_configuration(self) -> None:
        """Only kernel_interface is read from nova.conf."""
        self.options = options.Options(kernel_interface='sched_deadline')
        self.assertEqual(0, self.release()[0])
        self.options = options.Options(kernel_interface='nosuch')
        status, out, err = self.release()
        self.assertEqual((1, ''), (status, out))
        self.assertIn('nova-rt: Invalid [nova_rt] kernel_interface = nosuch',
                      err)
        self.options = options.Options(trouble='no such file')
        status, _, err = self.release()
        self.assertEqual(0, status)
        self.assertIn('no such file', err)
