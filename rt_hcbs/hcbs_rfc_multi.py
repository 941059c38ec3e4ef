# SPDX-License-Identifier: Apache-2.0

"""F3m: the multi-CPU branches of the HCBS patches, cgroup v2 only.

The two files of F3 accept a value for each CPU, so that only the claimed CPUs
of a server are charged.
"""

import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.machine.kernel import two_files
from nova_rt.rules import cpulist
from rt_hcbs import hcbs_rfc


class ListRuntime:
    """The file of the runtimes, written as ``VALUE CPULIST VALUE CPULIST``.

    A CPU that is not listed gets a runtime of 0.
    """

    def __init__(self, fs: cgroup.CgroupFS, group: str,
                 cpus: tuple[int, ...]) -> None:
        self._fs = fs
        self._cpus = cpus
        self.path = posixpath.join(group, two_files.RUNTIME)

    def get(self) -> base.Lanes:
        values = tuple(map(int, self._fs.read(self.path).split()))
        if len(values) not in (1, len(self._cpus)):
            raise ValueError(f'{self.path} has {len(values)} values for '
                             f'{len(self._cpus)} CPUs')
        return values * len(self._cpus) if len(values) == 1 else values

    def set(self, value: base.Lanes) -> None:
        self._fs.write(self.path, self._text(value))

    def _text(self, value: base.Lanes) -> str:
        if len(set(value)) == 1:
            return str(value[0])  # The root group accepts no list.
        lists = {
            runtime: [cpu for cpu, own
                      in zip(self._cpus, value, strict=True)
                      if own == runtime] for runtime in value if runtime}
        return ' '.join(f'{runtime} {cpulist.format_ids(ids)}'
                        for runtime, ids in sorted(lists.items()))


class ListPeriod(two_files.Period):
    """The file of the period, which may show a value for each CPU."""

    def get(self) -> int:
        values = set(map(int, self._fs.read(self.path).split()))
        if not values:
            raise ValueError(f'{self.path} is empty')
        if len(values) > 1:
            raise OSError(f'{self.path} has several periods, which somebody '
                          f'else must have set; write one number to it')
        return values.pop()


class HcbsRfcMulti(hcbs_rfc.HcbsRfc):
    """The kernel interface F3m (``hcbs_rfc_multi``); see KernelInterface."""

    name = 'hcbs_rfc_multi'
    label = 'F3m'
    replicated = False

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        return hcbs_rfc.is_rfc(survey) and (
            hcbs_rfc.accepts_cpu_lists(survey) is rt_survey.Outcome.ACCEPTED)

    def _runtime(self, path: str) -> rt_journal.Cell:
        return ListRuntime(self._fs, path, self._cpus)

    def _period(self, path: str) -> rt_journal.Cell:
        return ListPeriod(self._fs, path)
