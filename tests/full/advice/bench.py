# SPDX-License-Identifier: Apache-2.0

"""A server with a budget on RT_GROUP_SCHED, and a busy neighbour beside it."""

from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
import os
import pathlib
import subprocess
import time

from benchmarks import stand_ins
from benchmarks import traffic
from nova_rt.rules import reservation as rt_reservation
from paper.probe import stage as rt_stage
from rt_models.model import kernel
from rt_monitor import servers
from rt_monitor import snapshot
from rt_operate import advice as rt_advice
from rt_operate.commands import advise
from tests.full.advice import foreign
from tests.full.probe import places
from tests.full.signals import packages
from tests.full.signals import sick
from tests.full.signals import stage as signals_stage

KERNEL = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 4_000)
START = rt_reservation.Reservation(12_000, 20_000)
#: The part of the CPU that the server and its neighbour have together.
ROOM = 0.9
_UUID = 'watched'
_GROUPS = pathlib.Path('/sys/fs/cgroup/cpu')
#: A runtime that fits into every period.
_LEAST_US = 1_000
#: The least share of the neighbour.
_LEAST = 0.05
#: Other programs of the machine may hold budgets for this time.
_WAIT_S = 900


@dataclasses.dataclass(frozen=True)
class Bench:
    """A server in a group, a neighbour beside it, and its clients."""

    name: str
    client: foreign.Client
    seconds: float

    def look(self, has: rt_reservation.Reservation, rate_hz: float
             ) -> rt_advice.MeasuredLoad:
        """Returns what the monitor sees of the server with a reservation."""
        _reserve({self.name: has.share,
                  f'{self.name}-other': max(_LEAST, min(
                      ROOM, KERNEL.largest_share(has.period_us)) - has.share)},
                 has.period_us)
        watched = servers.Watched(
            _UUID, {servers.WHOLE: os.stat(_GROUPS / self.name).st_ino}, 1,
            'web', reservation=servers.Granted(has.runtime_us, has.period_us,
                                               of_group=True))
        with (contextlib.closing(snapshot.Monitor()) as monitor,
              self._asking(rate_hz)):
            # New threads and processes inherit the policy, but not all did.
            sick.make_real_time(_GROUPS / self.name)
            time.sleep(1)
            monitor.watch([watched])
            time.sleep(0.5)
            looks, before = [], monitor.read()
            for _ in range(round(self.seconds / advise.PART_S)):
                time.sleep(advise.PART_S)
                now = monitor.read()
                looks.append(now.since(before))
                before = now
        return advise.measured_load(looks, _UUID)

    @contextlib.contextmanager
    def _asking(self, rate_hz: float) -> Iterator[None]:
        """Runs a client that would go on for much longer."""
        count = max(100, int(rate_hz * (10 * self.seconds + 60)))
        child = subprocess.Popen(
            self.client(rate_hz, count), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
            if child.poll() is not None:
                raise RuntimeError('the client has ended')
        finally:
            child.terminate()
            child.wait()


@contextlib.contextmanager
def stage(folder: pathlib.Path, name: str, needed: list[str]
          ) -> Iterator[signals_stage.Stage]:
    """Yields a stage whose server runs beside a busy neighbour.

    :param needed: the Debian packages of the server
    """
    os.chmod(folder, 0o755)  # noqa: S103
    other, unused = f'{name}-other', snapshot.Monitor()
    with (contextlib.closing(unused), places.groups(name, other),
          rt_stage.task(cpus={traffic.SERVER_CPU}) as busy):
        _reserve({name: START.share, other: ROOM - START.share},
                 START.period_us)
        places.put(other, busy.pid)
        sick.make_real_time(_GROUPS / other)
        yield signals_stage.Stage(
            folder, packages.Packages(folder, needed),
            {'server': _GROUPS / name, 'middle': _GROUPS, 'client': _GROUPS},
            unused, stand_ins.compiled(traffic.SOURCE, str(folder)))


def _reserve(shares: Mapping[str, float], period_us: int) -> None:
    """Gives groups shares of a period, whatever budgets they had."""
    end = time.monotonic() + _WAIT_S
    while True:
        try:
            for name in shares:
                (_GROUPS / name / 'cpu.rt_runtime_us').write_text(
                    str(_LEAST_US))
            for name, share in shares.items():
                group = _GROUPS / name
                (group / 'cpu.rt_period_us').write_text(str(period_us))
                (group / 'cpu.rt_runtime_us').write_text(
                    str(round(share * period_us)))
            return
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(1)
