# SPDX-License-Identifier: Apache-2.0

"""Tests what becomes of a reservation in the life of a real container."""

import os
import pathlib
import subprocess

from tests.cloud import base
from tests.cloud import lifecycle
from tests import proof
from tests import seeds

MACHINE = base.host.MACHINE
#: The tests of a day, unless all are asked for.
A_DAY = 4


def tasks(group: str) -> list[int]:
    """Returns the tasks of a container and the process that keeps it."""
    return base.groups.tasks(MACHINE / group)


class ContainerTestCase(lifecycle.LifecycleTests):

    def keeper(self, found: base.host.Server) -> int:
        return int(found.group.split('-')[1])

    def assert_policies(self, found: base.host.Server) -> None:
        keeper = self.keeper(found)
        self.assertEqual({os.SCHED_RR}, {
            os.sched_getscheduler(task) for task in tasks(found.group)
            if not pathlib.Path(f'/proc/{keeper}/task/{task}').exists()})

    @proof.proves(
        'Suspend of a real container',
        'libvirt refuses to suspend the container. The guest runs on with its '
        'budget.')
    def test_suspend(self):
        self.compute.suspend_server(self.server)
        self.reaches('ERROR')
        self.recovers()
        self.assert_runs(again=False)

    @proof.proves(
        'Rescue of a real container',
        'Nova cannot start the rescue system. The reservation is kept, and a'
        ' hard reboot starts the server.')
    def test_rescue(self):
        self.compute.rescue_server(self.server)
        self.reaches('ERROR')
        self.assert_off()
        self.recovers()
        self.compute.reboot_server(self.server, 'HARD')
        self.runs_anew()

    def recovers(self) -> None:
        """openstack server set --state active"""
        self.compute.reset_server_state(self.server, 'active')

    @proof.proves(
        'Reboot from inside a real container',
        'Afterwards, either no guest runs or the guest has its budget.')
    def test_reboot_from_inside(self):
        keeper = self.keeper(self.first)
        init = next(task for task in tasks(self.first.group)
                    if f'\nPPid:\t{keeper}\n' in pathlib.Path(
                        f'/proc/{task}/status').read_text())
        subprocess.run(['nsenter', '--target', str(init), '--pid', '--mount',
                        '--root', '/bin/busybox', 'reboot', '-f'],
                       check=False, timeout=base.PATIENCE)
        # Here libvirt ends the container, and Nova stops the server.
        self.eventually('off, or another guest with its budget',
                        self.ended_or_anew)
        if self.status() == 'ACTIVE':
            self.assert_runs()
        else:
            self.assert_off()

    def ended_or_anew(self) -> bool:
        found = self.on_host(self.server)
        if not found.group:
            return self.status() == 'SHUTOFF'
        return (found.group != self.first.group
                and found.kernel == lifecycle.BUDGET)


load_tests = seeds.load_of_the_day(__name__, A_DAY, 'NOVA_RT_LIFE')
