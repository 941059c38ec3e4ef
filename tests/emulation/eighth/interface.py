# SPDX-License-Identifier: Apache-2.0

"""A guarantee for each group, whatever the groups above it hold."""

from collections.abc import Mapping, Sequence
import contextlib
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.rules import exception
from nova_rt.rules import reservation

FILE = 'cpu.guarantee'
NONE = 'max 0'


class Guarantee(base.KernelInterface):
    """See KernelInterface."""

    name = 'guarantee'
    label = 'F8'
    file = FILE
    writes: Mapping[str, str] = {FILE: r'(max|[0-9]+) [0-9]+'}
    replicated = True
    drains = True
    deadline_servers = True
    min_runtime_us = 2
    min_period_us = 100

    @classmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        return survey.in_group(FILE)

    def prepare(self, ppm: int) -> None:
        self._write('/', f'{ppm} {reservation.PPM}')

    def capacity(self, ours: str) -> base.Capacity:
        budget = self.group_state('/')
        return base.Capacity(max(budget.ppm), 0)

    def reserve(self, budgets: Mapping[str, base.Budget]) -> None:
        with contextlib.ExitStack() as undo:
            for group, budget in budgets.items():
                old = self._read(group)
                self._write(group, f'{max(budget.runtime_us.values())} '
                                   f'{budget.period_us}')
                undo.callback(self._write, group, old)
            undo.pop_all()

    def read(self, group: str) -> base.Budget | None:
        runtime, period = self._read(group).split()
        if runtime in ('max', '0'):
            return None
        return base.Budget({0: int(runtime)}, int(period))

    def release(self, groups: Sequence[str]) -> None:
        for group in groups:
            with contextlib.suppress(FileNotFoundError):
                self._write(group, NONE)

    def settle(self, group: str) -> None:
        """Does nothing: the groups above hold nothing for a group."""

    def _path(self, group: str) -> str:
        return posixpath.join(self._root, group.strip('/'), FILE)

    def _read(self, group: str) -> str:
        return self._fs.read(self._path(group))

    def _write(self, group: str, text: str) -> None:
        try:
            self._fs.write(self._path(group), text)
        except OSError as error:
            if cgroup.is_gone(error):
                raise
            raise exception.KernelError(
                interface=self.name, group=group,
                reason=f'there is no room for {text}: {error}') from error
