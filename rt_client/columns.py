# SPDX-License-Identifier: Apache-2.0

"""Shows values: as text for people, as numbers for programs."""

from cliff import columns

from nova_rt.rules import cpulist
from nova_rt.rules import reservation


class Share(columns.FormattableColumn[int]):
    """An amount in ppm, shown as pCPUs; a table sorts by the ppm."""

    def human_readable(self) -> str:
        return reservation.decimal(self._value)

    def machine_readable(self) -> int | float:  # type: ignore[override]
        return self._value / reservation.PPM


class Ids(columns.FormattableColumn[list[int]]):
    """Ids of pCPUs, shown as in ``2-3,8``."""

    def human_readable(self) -> str:
        return cpulist.format_ids(sorted(self._value))


class Lines(columns.FormattableColumn[list[str]]):
    """Sentences, one on each line."""

    def human_readable(self) -> str:
        return '\n'.join(self._value)
