# SPDX-License-Identifier: Apache-2.0

"""Virtual machines by SCHED_DEADLINE on their pCPUs, on real parts.

Any kernel will do: what a stock one is taken for is chosen here by name.
"""

from collections.abc import Callable
import os
import pathlib
import re
import signal
import unittest

from tests.cloud import base
from tests import proof

CPUSET = base.groups.tree('cpuset') / 'machine'
BUDGET = {'runtime_us': 45_000, 'period_us': 100_000}
BY_DEADLINE = {'guest': ['SCHED_DEADLINE'], 'host': ['SCHED_OTHER']}
TOLERANCE = 0.005
SECONDS = 10
_WHOLE = unittest.skipUnless('NOVA_RT_STOCK' in os.environ,
                             'takes minutes: set NOVA_RT_STOCK')


class DeadlineTestCase(base.CloudTestCase):

    GUEST = 'qemu'
    BUDGETS = False
    # Servers go where others are, as long as there is room.
    SETTINGS = ('nova_rt.kernel_interface=sched_deadline',
                'nova_rt.packing_policy=best_fit')

    def reserved(self, runtime: int = 45_000) -> base.host.Server:
        """A server that is busy, as the host has it."""
        self.server = self.boot(self.flavor(runtime, 100_000))
        self.eventually('its line on the console', lambda: re.search(
            base.guests.KINDS['qemu'].console, self.console(self.server)))
        return self.on_host(self.server)

    def assert_pinned(self, found: base.host.Server) -> None:
        """Each vCPU has its budget, and its pCPU."""
        self.assertEqual(BY_DEADLINE, base.host.policies(found))
        assert found.claim is not None
        for vcpu, cpu in enumerate(found.claim.cpus):
            group = CPUSET / found.group / f'vcpu{vcpu}'
            self.assertEqual(
                str(cpu), (group / 'cpuset.cpus').read_text().strip())
            for task in base.groups.tasks(group):
                self.assertEqual({cpu}, os.sched_getaffinity(task))

    @proof.proves('Two virtual machines of 0.45 on one pCPU by '
                  'SCHED_DEADLINE, beside a third without a reservation',
                  'each gets its share, to 0.005 of a pCPU')
    def test_two_on_one_pcpu(self):
        pair = [self.reserved(), self.reserved()]
        self.assertEqual(1, len({each.claim.cpus for each in pair}))
        noise = self.cloud.compute.create_flavor(
            name=self.getUniqueString(), ram=96, vcpus=2, disk=0)
        self.addCleanup(self.cloud.compute.delete_flavor, noise)
        self.boot(noise.id)
        shares = base.measure.shares(pair, SECONDS)
        for each in pair:
            self.assert_pinned(each)
            self.assertAlmostEqual(0.45, shares[each.name], delta=TOLERANCE)
        self.assert_in_step()

    @_WHOLE
    def test_no_room(self):
        """Refused, and nothing of it is left."""
        held = [self.boot(self.flavor(45_000, 100_000, vcpus=2))
                for _ in range(os.cpu_count() or 1)]
        self.boot(self.flavor(5_000, 100_000), wanted='ERROR')
        for server in held:
            self.assert_pinned(self.on_host(server))
        self.assert_nothing_remains()

    @_WHOLE
    def test_life(self):
        """It runs with its reservation, on its pCPU, or not at all."""
        self.reserved()
        for step in (self.stop, self.reboots, self.pause, self.suspend,
                     self.rescue, self.rebuild, self.snapshot, self.shelve,
                     self.resize, self.crash, self.restart, self.kill):
            step()
            self.assert_runs(step.__name__)
        self.assert_nothing_remains()

    def assert_runs(self, when: str) -> None:
        self.reaches('ACTIVE')
        found = self.on_host(self.server)
        self.assertEqual(BUDGET, found.kernel, when)
        self.assert_pinned(found)
        self.assert_in_step()

    def reaches(self, status: str) -> None:
        self.eventually(f'status {status}', lambda: self.is_at_rest(status))

    def is_at_rest(self, status: str) -> bool:
        found = self.cloud.compute.get_server(self.server)
        return found.status == status and not found.task_state

    def off(self, begin: Callable[..., object], status: str,
            end: Callable[..., object]) -> None:
        """It has no guest in between, and nothing in the kernel."""
        begin(self.server)
        self.reaches(status)
        self.eventually('no budget', lambda: not base.host.budgets())
        self.assert_in_step()
        end(self.server)

    # The steps.

    def stop(self) -> None:
        compute = self.cloud.compute
        self.off(compute.stop_server, 'SHUTOFF', compute.start_server)

    def reboots(self) -> None:
        self.hard_reboot(self.server)
        self.reaches('ACTIVE')
        self.reboot(self.server, 'SOFT')

    def pause(self) -> None:
        compute = self.cloud.compute
        compute.pause_server(self.server)
        self.reaches('PAUSED')
        self.assertEqual(BUDGET, self.on_host(self.server).kernel)
        compute.unpause_server(self.server)

    def suspend(self) -> None:
        compute = self.cloud.compute
        self.off(compute.suspend_server, 'SUSPENDED', compute.resume_server)

    def rescue(self) -> None:
        compute = self.cloud.compute
        compute.rescue_server(self.server)
        self.reaches('RESCUE')
        self.assertEqual(BUDGET, self.on_host(self.server).kernel)
        compute.unrescue_server(self.server)

    def rebuild(self) -> None:
        image = self.cloud.image.find_image(
            base.guests.KINDS[self.GUEST].image)
        before = self.on_host(self.server).group
        self.cloud.compute.rebuild_server(self.server, image=image.id)
        self.eventually('a new guest', lambda: self.on_host(
            self.server).group not in ('', before))

    def snapshot(self) -> None:
        image = self.cloud.compute.create_server_image(
            self.server, self.getUniqueString())
        self.addCleanup(self.cloud.image.delete_image, image)
        self.eventually('stored', lambda: self.cloud.image.get_image(
            image).status == 'active')

    def shelve(self) -> None:
        compute = self.cloud.compute
        self.off(compute.shelve_server, 'SHELVED_OFFLOADED',
                 compute.unshelve_server)

    def resize(self) -> None:
        compute = self.cloud.compute
        compute.resize_server(self.server, self.flavor(20_000, 100_000))
        self.reaches('VERIFY_RESIZE')
        self.assertEqual(BUDGET | {'runtime_us': 20_000},
                         self.on_host(self.server).kernel)
        compute.revert_server_resize(self.server)

    def crash(self) -> None:
        emulator = (CPUSET / self.on_host(self.server).group / 'emulator')
        os.kill(base.groups.tasks(emulator)[0], signal.SIGKILL)
        self.reaches('SHUTOFF')
        self.eventually('no budget', lambda: not base.host.budgets())
        self.cloud.compute.start_server(self.server)

    def restart(self) -> None:
        base.cloud('restart')

    def kill(self) -> None:
        pid = (self.settings.run / 'nova.pid').read_text().split()[0]
        os.kill(int(pid), signal.SIGKILL)
        # What the kernel holds is nobody else's business.
        self.assertTrue(pathlib.Path(CPUSET, self.on_host(
            self.server).group).exists())
        base.cloud('up', '--guest', self.GUEST)
