# SPDX-License-Identifier: Apache-2.0

"""Checks that a kernel has room for reservations, before anything runs."""

from collections.abc import Sequence

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine import privsep
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation

#: The group of the reservations that experiments make themselves.
GROUP = '/nova-rt-experiments'
#: What the root group hands out, on kernels where it starts with nothing.
_ROOT_PPM = 950_000


class NoRoom(exception.RTError):
    """The kernel has no room for the reservations of an experiment."""

    msg_fmt = ('The reservations need %(needed)s of a CPU, and the kernel has '
               'only %(left)s left%(others)s.')


def interface() -> base.KernelInterface | None:
    """Returns the kernel's interface for groups, ready for reservations."""
    # This process is root already, so it needs no privsep daemon.
    privsep.cgroup_pctxt.set_client_mode(False)
    found = detect.detect(fs.RealFS())
    if found is not None:
        found.prepare(_ROOT_PPM)
    return found


def require(*reservations: rt_reservation.Reservation) -> None:
    """Checks that all these reservations fit on a pCPU now.

    :raises NoRoom: when they do not fit
    :raises KernelError: when the kernel has no interface for groups
    """
    kernel = interface()
    if kernel is None:
        raise exception.KernelError(
            interface='any', group=GROUP,
            reason='this kernel has no interface for control groups')
    check(kernel.capacity(GROUP), reservations)


def check(capacity: base.Capacity,
          reservations: Sequence[rt_reservation.Reservation]) -> None:
    """Compares the bandwidth of the reservations with what is left.

    :raises NoRoom: when the reservations do not fit
    """
    needed = sum(one.bandwidth for one in reservations)
    if needed > capacity.ppm:
        others = ' and '.join(capacity.others)
        raise NoRoom(
            needed=_share(needed), left=_share(capacity.ppm), others=(
                f' beside the reservations of {others}; run the command '
                'again when these have ended' if others else ''))


def _share(ppm: int) -> str:
    return f'{ppm / rt_reservation.PPM:.3f}'
