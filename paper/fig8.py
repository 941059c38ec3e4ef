# SPDX-License-Identifier: Apache-2.0

"""Fig. 8: isolation from a noisy neighbour, fair scheduler or reservation.
"""

from collections.abc import Iterator, Sequence
import contextlib

from nova_rt.rules import reservation as rt_reservation
from paper import bench
from paper import isolation
from paper import measure
from paper import points
from paper import published
from paper import records
from paper import rtwalk
from paper import samples
from paper import scheduling
from paper import workload as rt_workload

#: The paper's reservation: 1.4 ms every 2 ms.
RESERVATION = rt_reservation.Reservation(1400, published.PERIOD_US)
#: The pace of SIPp: 257 equal requests every 100 ms, 60 % of a CPU.
INTERVAL_US = 100_000 / 257
WORKLOAD = rt_workload.Workload(
    rt_workload.Distribution(INTERVAL_US, fixed=True),
    rt_workload.Distribution(0.6 * INTERVAL_US, fixed=True))
_ENDPOINT = rtwalk.Endpoint()


class RTWalk:
    """See isolation.Server."""

    def __init__(self, settings: bench.Settings) -> None:
        self._settings = settings
        self.records: list[records.Record] = []

    @contextlib.contextmanager
    def running(self, scheduler: str) -> Iterator[Sequence[str]]:
        with (scheduling.fair(_ENDPOINT) if scheduler == 'fair' else
              self._settings.place(_ENDPOINT, RESERVATION)) as client:
            yield client

    def measure(self, client: Sequence[str], title: str
                ) -> list[samples.Floats]:
        settings = self._settings
        runs = measure.measure(
            _ENDPOINT, client, points.Point(title, WORKLOAD),
            settings.effort, settings.seed_base, settings.directory)
        self.records.extend(run.record for run in runs)
        return measure.counted(runs)


def run(settings: bench.Settings) -> str:
    """Measures the four cases; returns a table."""
    server = RTWalk(settings)
    cases = isolation.run(server)
    records.write(settings.directory / 'fig8.csv', server.records)
    isolation.plot(cases, settings.directory / 'fig8.png')
    return isolation.table(cases)
