# SPDX-License-Identifier: Apache-2.0

"""The values of the monitor beside the truth about a server."""

from collections.abc import Sequence
import dataclasses
import math

from benchmarks import traffic
from rt_monitor import tap
from rt_monitor import transactions

PARTS = (0.5, 0.99)


@dataclasses.dataclass(frozen=True)
class Truth:
    """The truth, from a load generator or a server's own log.

    :ivar received, sent: bytes, seen from the server; None: not known
    :ivar noted_ns: the times that the client noted, ascending
    """

    requests: int
    received: int | None = None
    sent: int | None = None
    noted_ns: Sequence[int] = ()

    def __str__(self) -> str:
        words = [f'{self.requests} requests']
        if self.received is not None:
            words.append(f'{self.received} B in')
        if self.sent is not None:
            words.append(f'{self.sent} B out')
        words += [f'p{part * 100:g} '
                  f'{_quantile(self.noted_ns, part) / 1000:.1f} us'
                  for part in PARTS if self.noted_ns]
        return ', '.join(words)


def _quantile(noted_ns: Sequence[int], part: float) -> int:
    return noted_ns[math.ceil(part * len(noted_ns)) - 1]


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table.

    :ivar server, client: the readings of the monitor at both ends
    """

    name: str
    traffic: str
    truth: Truth
    server: transactions.Edge
    client: transactions.Edge

    @property
    def is_unclear(self) -> bool:
        """Tells whether the monitor says that the requests are unclear."""
        return bool(self.server.unclear)

    @property
    def told(self) -> str:
        if self.is_unclear:
            return (f'unclear: {self.server.unclear} exchanges, '
                    f'{self.server.took.count} requests')
        words = [f'{self.server.took.count} requests']
        if self.truth.received is not None:
            words.append(f'{self.server.received} B in')
        if self.truth.sent is not None:
            words.append(f'{self.server.sent} B out')
        words += [
            f'p{part * 100:g} '
            f'{self.client.took.quantile_ns(part) / 1000:.1f} us'
            for part in PARTS if self.truth.noted_ns]
        return ', '.join(words)

    @property
    def verdict(self) -> str:
        if self.is_unclear:
            return 'unclear'
        return 'wrong' if [*self.differences()] else 'right'

    @property
    def has_right_counts(self) -> bool:
        """Returns whether all values but the times are true."""
        return dataclasses.replace(self, truth=dataclasses.replace(
            self.truth, noted_ns=())).verdict != 'wrong'

    def differences(self) -> list[str]:
        """Returns the values that are not true."""
        truth, found = self.truth, []
        pairs = [('requests', truth.requests, self.server.took.count),
                 ('bytes in', truth.received, self.server.received),
                 ('bytes out', truth.sent, self.server.sent)]
        for name, wanted, told in pairs:
            if wanted is not None and wanted != told:
                found.append(f'{name}: {told} for {wanted}')
        for part in PARTS if truth.noted_ns else ():
            noted = _quantile(truth.noted_ns, part)
            told_ns = self.client.took.quantile_ns(part)
            if not traffic.within(noted, told_ns, traffic.PART):
                found.append(f'p{part * 100:g}: {told_ns / 1000:.1f} for '
                             f'{noted / 1000:.1f} us')
            served_ns = self.server.took.quantile_ns(part)
            if served_ns > noted and not traffic.within(
                    noted, served_ns, traffic.PART):
                found.append(f'p{part * 100:g} of the server: '
                             f'{served_ns / 1000:.1f}, more than '
                             f'{noted / 1000:.1f} us of the client')
        return found


@dataclasses.dataclass(frozen=True)
class Passed:
    """The datagrams that a client says it exchanged with a server.

    :ivar received, sent: datagrams, seen from the server
    :ivar received_bytes, sent_bytes: None: not known
    """

    received: int
    sent: int
    received_bytes: int | None = None
    sent_bytes: int | None = None

    def __str__(self) -> str:
        words = [f'{self.received} datagrams in', f'{self.sent} out']
        if self.received_bytes is not None:
            words += [f'{self.received_bytes} B in',
                      f'{self.sent_bytes} B out']
        return ', '.join(words)


@dataclasses.dataclass(frozen=True)
class Counted:
    """A line of the table, of a server over UDP."""

    name: str
    traffic: str
    truth: Passed
    found: tap.Datagrams

    @property
    def told(self) -> str:
        return str(self._passed)

    @property
    def _passed(self) -> Passed:
        """Returns the monitor's values, as far as the truth is known."""
        found = Passed(self.found.received, self.found.sent)
        if self.truth.received_bytes is None:
            return found
        return dataclasses.replace(
            found, received_bytes=self.found.received_bytes,
            sent_bytes=self.found.sent_bytes)

    @property
    def is_unclear(self) -> bool:
        """Returns False: for datagrams this monitor can always tell."""
        return False

    @property
    def has_right_counts(self) -> bool:
        """Returns whether all values are true; there are no times."""
        return not self.differences()

    @property
    def verdict(self) -> str:
        return 'wrong' if self.differences() else 'right'

    def differences(self) -> list[str]:
        """Returns the values that are not true."""
        return [f'{self._passed} for {self.truth}'
                ] if self._passed != self.truth else []
