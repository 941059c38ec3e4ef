# SPDX-License-Identifier: Apache-2.0

"""The report of nova-compute for the monitor."""

import pathlib

import nova.conf

from nova_rt.rules import report
from tests.emulation import rt_group_sched as emulation
from tests.functional import operations

CONF = nova.conf.CONF


class ReportTest(operations.TestCase):
    """One host, whose report is the file of all."""

    HOSTS = ('host1',)

    def report(self) -> report.Report:
        return report.load(pathlib.Path(CONF.nova_rt.report_file).read_text())

    def test_the_life_of_a_server(self) -> None:
        empty = self.report()
        self.assertEqual(950_000, empty.offered)
        self.assertEqual((0, 0), (empty.claimed, empty.servers))
        server = self.reserved(share=600)
        made = self.report()
        self.assertEqual((600_000, 1), (made.claimed, made.servers))
        self.assertGreaterEqual(made.at, empty.at)

        self.kernel().write(
            f'{emulation.CPU_MOUNT}{self.group(server)}/{emulation.RUNTIME}',
            '20000')
        self.audit()
        self.audit()
        self.assertEqual(1, self.report().corrected)

        self._delete_server(server)
        self.assertEqual((0, 0), (self.report().claimed,
                                  self.report().servers))

    def test_a_host_that_is_switched_off(self) -> None:
        self.flags(hcbs_scheduler_available=False, group='nova_rt')
        self.audit()
        found = self.report()
        self.assertEqual(0, found.offered)
        self.assertIn('hcbs_scheduler_available', found.reason)
