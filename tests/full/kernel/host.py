# SPDX-License-Identifier: Apache-2.0

"""This machine, as a nova-compute that has just started sees it."""

import dataclasses
from typing import Self

from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import tasks
from nova_rt.machine.kernel import tree
from nova_rt.machine import privsep
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import enforcer

#: ppm of each pCPU for guests.
CAP = 900_000
#: The default of nova-compute.  If two SCHED_FIFO tasks of a guest are busy,
#: the second task never runs, and its interrupted work in the kernel never
#: ends.
_POLICY = 'rr'


@dataclasses.dataclass(frozen=True)
class Host:
    """The interface of the kernel, and the enforcer in this process.

    This process knows nothing of earlier budgets.
    """

    interface: tree.TreeInterface
    enforcer: enforcer.GroupEnforcer

    @classmethod
    def find(cls, cap: int = CAP) -> Self:
        """Returns the enforcer of this host.

        :param cap: ppm of each pCPU for guests
        :raises LookupError: when the kernel has no interface with groups
        """
        privsep.cgroup_pctxt.set_client_mode(False)
        files = fs.RealFS()
        found = detect.detect(files)
        if not isinstance(found, tree.TreeInterface):
            raise LookupError('the kernel has no interface with groups')
        found.prepare(cap)
        return cls(found, enforcer.GroupEnforcer(
            found, tasks.Tasks(files), _POLICY, lambda wanted: 1))


def claim(runtime_us: int, period_us: int, cpu: int) -> claims.RTClaim:
    """Returns the reservation of a guest of one pCPU."""
    return claims.RTClaim(
        '0' * 36, 0, reservation.Reservation(runtime_us, period_us), (cpu,))
