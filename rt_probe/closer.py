# SPDX-License-Identifier: Apache-2.0

"""Decides when the probe takes readings sooner than usual.

This module is pure.  If a budget becomes too small, the first sign is a thread
that waits, and as long as the VNF also sleeps at times, this is the only sign.
The next few readings therefore come sooner.  The number of these readings is
small, so that a VNF whose threads wait at times costs little.
"""

import dataclasses

#: The number of readings that come sooner; the divisor of the interval that
#: gives their distance; the time until readings may come sooner again.
_COUNT, _PART, _REST_NS = 5, 5, 10_000_000_000


@dataclasses.dataclass(slots=True)
class Closer:
    """The pauses between readings.

    :ivar interval_ns: the usual pause
    """

    interval_ns: int
    _waited: bool = True
    _left: int = 0
    _rest_until_ns: int = 0

    @property
    def begun(self) -> bool:
        """True if a thread that waits now may just have begun to wait."""
        return not self._waited or self._left > 0

    def pause_ns(self, period_ns: int) -> int:
        """Returns the time until the next reading.

        A pause between close readings lasts at least a period, because a
        budget runs out once in each period.
        """
        if not self._left:
            return self.interval_ns
        return min(self.interval_ns,
                   max(period_ns, self.interval_ns // _PART))

    def note(self, now_ns: int, waits: bool, known: bool) -> None:
        """Takes note of a reading.

        :param waits: whether a thread waited.  If no thread waited at the
            previous reading, the next readings come sooner.
        :param known: whether the reading tells how much is available, so
            that no closer readings are needed
        """
        if known:
            self._left = 0
        elif self._left:
            self._left -= 1
        elif waits and not self._waited and now_ns >= self._rest_until_ns:
            self._left = _COUNT
            self._rest_until_ns = now_ns + _REST_NS
        self._waited = waits
