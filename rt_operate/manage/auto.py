# SPDX-License-Identifier: Apache-2.0

"""The server that a loop of ``nova-rt advise --apply`` changes."""

from collections.abc import Sequence

from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from rt_operate import loop
from rt_operate.manage import hints
from rt_operate.manage import reserve
from rt_operate.manage import start


class Server:
    """A server of Nova, whose reservation changes between limits.

    :param files: the configuration files of Nova; () for those that Nova reads
    :raises CannotChangeHints: when there is no such server
    """

    def __init__(self, prog: str, uuid: str, files: Sequence[str]) -> None:
        start.configure(prog, files, (), debug=False)
        self._uuid = uuid
        self.limits = self._read_limits()

    def _read_limits(self) -> loop.Limits:
        """Returns the limits that the flavor gives.

        :raises InvalidReservation: when the flavor gives none, or bad ones
        """
        return loop.limits_of(hints.server(self._uuid).flavor.extra_specs)

    def reserved(self, granted: reservation.Reservation | None
                 ) -> reservation.Reservation | None:
        """Returns the reservation of the server.

        :param granted: what the kernel grants, which may be divided
        """
        claim = claims.instance_claim(hints.server(self._uuid))
        if claim is not None and claim.in_kernel == granted:
            return claim.reservation
        return granted

    def change(self, runtime_us: int) -> None:
        """Gives the server another runtime while it runs.

        :raises CannotChangeReservation: when the reservation is not changed
        """
        reserve.change(hints.server(self._uuid),
                       {reservation.RUNTIME_KEY: runtime_us})
