# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F3m: HCBS RFC with lists of CPUs."""

import errno

from tests.emulation import clock as virtual
from tests.emulation import groups
from tests.emulation import hcbs_rfc
from tests.emulation import numbers
from tests.emulation import scalars

RUNTIME = scalars.RUNTIME
PERIOD = scalars.PERIOD


class Kernel(hcbs_rfc.Kernel):
    """Both files take "<value> <cpulist>" pairs; CPUs not named get 0."""

    per_cpu = True

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None,
                 root: tuple[int, int] | None = None,
                 servers_ppm: int = hcbs_rfc.SERVERS_PPM,
                 uniform_scalar: bool = False) -> None:
        """Boots the kernel.

        :param uniform_scalar: show one number if all CPUs have it
        """
        super().__init__(cpus, clock, 5, root, servers_ppm)
        self._uniform_scalar = uniform_scalar

    def show_rt(self, group: groups.Group, name: str) -> str:
        budget = scalars.budget_of(group)
        values = budget.runtimes if name == RUNTIME else budget.periods
        if self._uniform_scalar and len(set(values)) == 1:
            return f'{values[0]}\n'
        return ''.join(f'{value} ' for value in values) + '\n'

    def write_rt(self, group: groups.Group, name: str, data: str, path: str
                 ) -> int | None:
        values = self._values(group, name, data, path)
        if group.parent is None and len(set(values)) > 1:
            raise numbers.refusal(errno.EINVAL, path)
        old = scalars.budget_of(group)
        return self.set_budget(
            group, old.with_runtimes(values) if name == RUNTIME
            else old.with_periods(values), path)

    def _values(self, group: groups.Group, name: str, data: str, path: str
                ) -> list[int]:
        """Returns one value for each CPU."""
        words = data.split()
        if len(words) == 1:
            return [self._value(group, name, data, path)] * self.cpus
        if not words or len(words) % 2:
            raise numbers.refusal(errno.EINVAL, path)
        values = [0] * self.cpus
        for word, cpus in zip(words[::2], words[1::2], strict=True):
            chosen = numbers.cpu_set(cpus, path)
            if not chosen or not chosen <= set(range(self.cpus)):
                raise numbers.refusal(errno.EINVAL, path)
            for cpu in chosen:
                values[cpu] = self._value(group, name, word, path)
        return values

    def _value(self, group: groups.Group, name: str, text: str, path: str
               ) -> int:
        if name == RUNTIME:
            return self.runtime_in(text, group, path)
        return self.period_in(text, path)
