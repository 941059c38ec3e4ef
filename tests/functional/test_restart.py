# SPDX-License-Identifier: Apache-2.0

"""nova-compute starts again while servers run and budgets have changed."""

import os
from typing import Any

from tests.emulation import rt_group_sched as emulation
from tests.functional import base


class RestartTest(base.TestCase):
    """Tests what the kernel holds is brought in step with the claims."""

    def setUp(self) -> None:
        super().setUp()
        self.start_host()
        self.raised = self.boot(self.rt_flavor(30_000, 100_000))
        self.lowered = self.boot(self.rt_flavor(60_000, 200_000))
        self.removed = self.boot(self.rt_flavor(20_000, 100_000))
        self.orphan = self.boot(self.rt_flavor(None, None))

    def write(self, group: str, runtime: int) -> None:
        self.kernel().write(
            f'{emulation.CPU_MOUNT}{group}/{emulation.RUNTIME}',
            str(runtime))

    def tamper(self) -> None:
        """All room is taken: to raise one, others must be lowered first."""
        kernel = self.kernel()
        removed = self.group(self.removed)
        for task in kernel.tasks.values():
            if task.groups['cpu'] == removed:
                kernel.set_policy(task.thread, os.SCHED_OTHER)
        self.write(removed, 0)
        self.write(self.group(self.lowered), 20_000)
        self.write('/machine', 950_000)
        self.write(self.group(self.raised), 55_000)
        self.write(self.group(self.orphan), 300_000)
        for thread in self.guests.hosts['host1'].running[
                self.keeper(self.orphan)][1:]:
            kernel.set_policy(thread, os.SCHED_RR, 1)

    def assert_corrected(self) -> None:
        self.assertEqual((30_000, 100_000), self.budget(self.raised))
        self.assertEqual((60_000, 200_000), self.budget(self.lowered))
        self.assertEqual((20_000, 100_000), self.budget(self.removed))
        self.assertEqual({}, self.granted(self.orphan))
        self.assert_tight()
        kernel = self.kernel()
        for server, policy in ((self.removed, os.SCHED_RR),
                               (self.orphan, os.SCHED_OTHER)):
            threads = self.guests.hosts['host1'].running[self.keeper(server)]
            self.assertEqual(
                {policy}, {kernel.tasks[thread].policy
                           for thread in threads[1:]})

    def order(self) -> list[str]:
        """Returns the groups with written runtimes, in order, each once."""
        names = {self.group(getattr(self, name)): name for name
                 in ('raised', 'lowered', 'removed', 'orphan')}
        found = []
        for path, _ in self.kernel().written:
            group = path.removeprefix(emulation.CPU_MOUNT).rpartition('/')[0]
            if group in names and names[group] not in found:
                found.append(names[group])
        return found

    def correct(self, action: Any) -> None:
        self.tamper()
        self.kernel().written.clear()
        action()
        self.assert_corrected()
        self.assertEqual({'raised', 'orphan'}, set(self.order()[:2]))
        self.assertEqual({'lowered', 'removed'}, set(self.order()[2:]))

    def test_one_audit(self) -> None:
        self.correct(self.audit)
        self.kernel().written.clear()
        self.audit()
        self.assertEqual([], self.kernel().written)

    def test_restart(self) -> None:
        claims = sorted(self.computes['host1'].manager.rt.rt_claims(),
                        key=str)
        self.correct(lambda: self.restart_compute_service('host1'))
        # Nova's own check of resources at the start has nothing to say.
        self.assertNotIn('Error updating resources',
                         self.stdlog.logger.output)
        self.assertEqual(claims, sorted(
            self.computes['host1'].manager.rt.rt_claims(), key=str))
        self.assertEqual(800_000, self.host_map().state.charged)
        for server in (self.raised, self.lowered, self.removed, self.orphan):
            self._delete_server(server)
        self.assert_nothing_left()

    def test_a_guest_that_cannot_be_corrected_stops_no_other(self) -> None:
        self.tamper()
        bad = self.group(self.lowered)

        def intercept(path: str, text: str) -> None:
            if bad in path:
                raise PermissionError(1, 'refused', path)

        self.kernel().intercept = intercept
        self.audit()
        self.assertEqual((30_000, 100_000), self.budget(self.raised))
        self.assertEqual((20_000, 100_000), self.budget(self.removed))
        self.assertEqual((20_000, 200_000), self.budget(self.lowered))
        text = f'in the kernel: server {self.lowered["id"]}'
        self.assertEqual(1, self.stdlog.logger.output.count(text))
        self.audit()
        self.assertEqual(1, self.stdlog.logger.output.count(text))
        self.kernel().intercept = None
        self.audit()
        self.assert_corrected()
