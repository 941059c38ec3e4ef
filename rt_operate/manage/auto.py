# SPDX-License-Identifier: Apache-2.0

"""The servers that ``nova-rt advise --apply`` changes."""

from collections.abc import Iterator, Mapping, Sequence
import contextlib

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from rt_operate.manage import errors
from rt_operate.manage import hints
from rt_operate.manage import reserve
from rt_operate.manage import start


def configure(prog: str, files: Sequence[str]) -> None:
    """Prepares the databases of Nova for use.

    :param files: the configuration files of Nova; () for those that Nova reads
    """
    start.configure(prog, files, (), debug=False)


@contextlib.contextmanager
def _explained(uuid: str) -> Iterator[None]:
    """Turns errors of databases and services into CannotChangeReservation."""
    try:
        yield
    except exception.RTError:
        raise
    except errors.ERRORS as error:
        raise exception.CannotChangeReservation(
            uuid=uuid, reason=errors.sentence(error)) from error


class Server:
    """A server of Nova, as it is now.

    :raises CannotChangeHints: when there is no such server
    :raises CannotChangeReservation: when Nova's databases cannot be used
    """

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        with _explained(uuid):
            self._instance = hints.server(uuid)

    @property
    def extra_specs(self) -> Mapping[str, str]:
        """Returns the extra specs of the flavor, which give the limits."""
        specs: Mapping[str, str] = self._instance.flavor.extra_specs
        return specs

    def reserved(self, granted: reservation.Reservation | None
                 ) -> reservation.Reservation | None:
        """Returns the reservation of the server.

        :param granted: what the kernel grants, which may be divided
        """
        claim = claims.instance_claim(self._instance)
        if claim is not None and claim.in_kernel == granted:
            return claim.reservation
        return granted

    def change(self, runtime_us: int) -> None:
        """Gives the server another runtime while it runs.

        :raises CannotChangeReservation: when the reservation is not changed
        """
        with _explained(self._uuid):
            reserve.change(self._instance,
                           {reservation.RUNTIME_KEY: runtime_us})
