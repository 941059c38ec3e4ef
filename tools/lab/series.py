# SPDX-License-Identifier: Apache-2.0

"""The boots whose results are in the table of kernels."""

from collections.abc import Sequence
import dataclasses

from lab import jobs
from lab import kernels
from lab import machine

#: The name that stands for all kernels of Debian.
ALL = 'all'
# Shares are exact on one CPU with a deterministic clock that is not slower
# than by default; the places of threads can be seen on two CPUs only.
_BOOTS = (
    (machine.Machine(cpus=1, cgroup='v2', icount=True, kvm=True),
     ('doctor', 'pinned', 'tcg', 'kvm-plain')),
    (machine.Machine(cpus=2, cgroup='v2', kvm=True), ('doctor', 'kvm')))


@dataclasses.dataclass(frozen=True)
class Boot:
    """A kernel in a machine, and the scripts that bash runs there, by name.

    :ivar directory: where its output is kept, below the output of all boots
    """

    kernel: str
    machine: machine.Machine
    scripts: Sequence[tuple[str, str]]
    directory: str = ''


def boots() -> list[Boot]:
    """Returns the boots of each Debian kernel: with processes, TCG and KVM."""
    return [Boot(kernel, wanted, [(name, jobs.script(name))
                                  for name in names],
                 f'{kernel.replace(":", "-")}-{wanted.cpus}')
            for kernel in kernels.DEBIAN for wanted, names in _BOOTS]
