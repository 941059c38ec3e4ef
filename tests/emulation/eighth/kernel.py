# SPDX-License-Identifier: Apache-2.0

"""A kernel with that interface: it admits like F4, under another name."""

from tests.emulation.eighth import interface
from tests.emulation import groups
from tests.emulation import kernels
from tests.emulation import rt_max


class Kernel(rt_max.Kernel):
    """A kernel whose groups have the file of that interface."""

    def rt_files(self, group: groups.Group) -> tuple[str, ...]:
        return (interface.FILE,)

    def show_rt(self, group: groups.Group, name: str) -> str:
        return super().show_rt(group, rt_max.FILE)

    def write_rt(self, group: groups.Group, name: str, data: str, path: str
                 ) -> int | None:
        return super().write_rt(group, rt_max.FILE, data, path)


KERNEL = kernels.Emulated(Kernel, interface.Guarantee.name)
