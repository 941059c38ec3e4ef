# SPDX-License-Identifier: Apache-2.0

"""When to look sooner than usual.

Pure.  A budget that has become too small is first felt as waiting, and a
VNF that still sleeps between says no more than that.  So the next readings
come soon, and few, so that one that waits now and then costs little.
"""

import dataclasses

#: How many readings come sooner, by what part of the interval, and how long
#: it takes until others may.
_COUNT, _PART, _REST_NS = 5, 5, 10_000_000_000


@dataclasses.dataclass(slots=True)
class Closer:
    """The pauses between readings.

    :ivar interval_ns: what is usual
    """

    interval_ns: int
    _waited: bool = True
    _left: int = 0
    _rest_until_ns: int = 0

    @property
    def begun(self) -> bool:
        """Whether what waits now may just have begun to."""
        return not self._waited or self._left > 0

    def pause_ns(self, period_ns: int) -> int:
        """Until the next reading: a period, as a budget ends once in it."""
        if not self._left:
            return self.interval_ns
        return min(self.interval_ns,
                   max(period_ns, self.interval_ns // _PART))

    def note(self, now_ns: int, waits: bool, known: bool) -> None:
        """Take what a reading says.

        :param waits: whether something waited, which is new if it did not
            before
        :param known: whether it is known how much there is
        """
        if known:
            self._left = 0
        elif self._left:
            self._left -= 1
        elif waits and not self._waited and now_ns >= self._rest_until_ns:
            self._left = _COUNT
            self._rest_until_ns = now_ns + _REST_NS
        self._waited = waits
