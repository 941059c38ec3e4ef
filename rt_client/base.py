# SPDX-License-Identifier: Apache-2.0

"""The base of the commands: their cloud, and the names of columns."""

import argparse
from typing import Any

from osc_lib.command import command
from osc_lib import exceptions

from nova_rt.rules import exception
from nova_rt.rules import reservation
from rt_client import cloud as rt_cloud

#: A row of a table.
Row = tuple[Any, ...]
Table = tuple[tuple[str, ...], list[Row]]


class Command(command.Command):
    """A command with a cloud."""

    @property
    def cloud(self) -> rt_cloud.Cloud:
        """Nova and Placement, as the user may use them."""
        manager: Any = self.app.client_manager
        connection: rt_cloud.Cloud = manager.rt
        return connection


class Lister(Command, command.Lister):
    """A command that shows a table."""


class ShowOne(Command, command.ShowOne):
    """A command that shows one object."""


def add_share(parser: argparse.ArgumentParser, required: bool) -> None:
    """Adds the options that :func:`from_share` takes."""
    parser.add_argument('--share', metavar='<share>', required=required,
                        help='Share of a pCPU for each vCPU, for example 0.4')
    parser.add_argument(
        '--period-us', metavar='<us>', type=int, default=100_000,
        help='Period of the reservation (default: %(default)s)')


def reserved_by(flavor: Any) -> reservation.Reservation | None:
    """Returns the reservation of a flavor; None if it has none.

    :raises CommandError: when its extra specs are not a reservation
    """
    try:
        return reservation.from_flavor_and_hints(flavor.extra_specs or {})
    except exception.InvalidReservation as error:
        raise exceptions.CommandError(
            f'Flavor {flavor.name}: {error}') from None


def from_share(share: str, period_us: int) -> reservation.Reservation:
    """Returns the reservation of a share, for example 0.4, in a period.

    :raises CommandError: when there is no such reservation
    """
    try:
        ppm = reservation.hint_share(share)
        runtime_us = -(-ppm * period_us // reservation.PPM)
        return reservation.combine('option', reservation.parse(
            'option', reservation.RUNTIME_KEY, runtime_us), reservation.parse(
                'option', reservation.PERIOD_KEY, period_us))
    except exception.InvalidReservation:
        raise exceptions.CommandError(
            f'--share {share} in a period of {period_us} us is not a '
            f'reservation: give a share above 0 and up to 1, such as 0.4, and '
            f'a period of up to {reservation.MAX_PERIOD_US} us.') from None
