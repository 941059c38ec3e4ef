# SPDX-License-Identifier: Apache-2.0

"""All emulated kernels by name, to run one test on each."""

from collections.abc import Callable
import functools
from typing import NamedTuple

from tests.emulation import clock
from tests.emulation import hcbs
from tests.emulation import hcbs_multi
from tests.emulation import hcbs_rfc
from tests.emulation import hcbs_rfc_multi
from tests.emulation import kernel
from tests.emulation import rt_group_sched
from tests.emulation import rt_max
from tests.emulation import rt_max_cpuset


class Emulated(NamedTuple):
    """A kernel and the entry point that must detect it.

    :ivar make: makes the kernel; called with the number of CPUs and a clock
    """

    make: Callable[[int, clock.Clock | None], kernel.Kernel]
    interface: str

    def __call__(self, cpus: int = 4, clock: clock.Clock | None = None
                 ) -> kernel.Kernel:
        return self.make(cpus, clock)


KERNELS = {
    'F1': Emulated(rt_group_sched.Kernel, 'rt_group_sched'),
    'F2': Emulated(hcbs.Kernel, 'hcbs'),
    'F2-v2': Emulated(functools.partial(hcbs.Kernel, version=2), 'hcbs'),
    'F2m': Emulated(hcbs_multi.Kernel, 'hcbs_multi'),
    'F2m-v2': Emulated(functools.partial(hcbs_multi.Kernel, version=2),
                       'hcbs_multi'),
    'F3': Emulated(hcbs_rfc.Kernel, 'hcbs_rfc'),
    'F3m': Emulated(hcbs_rfc_multi.Kernel, 'hcbs_rfc_multi'),
    'F4': Emulated(rt_max.Kernel, 'rt_max'),
    'F5': Emulated(rt_max_cpuset.Kernel, 'rt_max_cpuset'),
    'F5-rootless': Emulated(functools.partial(
        rt_max_cpuset.Kernel, rootless=True), 'rt_max_cpuset'),
}
