# SPDX-License-Identifier: Apache-2.0

"""The boots that the table of kernels is made of."""

from collections.abc import Sequence
import dataclasses

from lab import jobs
from lab import kernels
from lab import machine

#: In place of a kernel: all of Debian's.
ALL = 'all'
# Shares are exact on one CPU with a clock of its own, if it is not slower than
# by default; which thread is where is seen on two.
_BOOTS = (
    (machine.Machine(cpus=1, cgroup='v2', icount=True, kvm=True),
     ('doctor', 'pinned', 'tcg', 'kvm-plain')),
    (machine.Machine(cpus=2, cgroup='v2', kvm=True), ('doctor', 'kvm')))


@dataclasses.dataclass(frozen=True)
class Boot:
    """A kernel in a machine, and what bash runs there, by name.

    :ivar directory: where its output is kept, below that of all
    """

    kernel: str
    machine: machine.Machine
    scripts: Sequence[tuple[str, str]]
    directory: str = ''


def boots() -> list[Boot]:
    """Each kernel of Debian, with processes, TCG and KVM."""
    return [Boot(kernel, wanted, [(name, jobs.script(name))
                                  for name in names],
                 f'{kernel.replace(":", "-")}-{wanted.cpus}')
            for kernel in kernels.DEBIAN for wanted, names in _BOOTS]
