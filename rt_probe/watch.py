# SPDX-License-Identifier: Apache-2.0

"""Takes readings and turns each one into a report."""

from collections.abc import Mapping
import dataclasses
import os
import time

from nova_rt.machine.host import ticks
from rt_probe import bursts
from rt_probe import closer
from rt_probe import errors
from rt_probe import evidence
from rt_probe import report
from rt_probe import sources
from rt_probe import speed
from rt_probe import spin
from rt_probe import supply

#: The period that is assumed where the period is not known; the report says
#: so.
DEFAULT_PERIOD_NS = 100_000_000
#: The time between two runs of the reference tasks.
_SPEED_NS = 60_000_000_000
_NOT_ITS_OWN = ('the counters show more CPU time than the limit of the group '
                'allows, so they do not count this group')


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The options of a measurement.

    :ivar interval_ns: the time between two readings
    :ivar processes: the processes of the VNF; without any, the probe measures
        the whole control group, or the whole machine
    :ivar machine: whether to measure the whole machine in any case
    :ivar burst: whether bursts are allowed while the VNF is idle
    :ivar max_load: the part of the reservation that bursts may use
    :ivar period_ns: the period of the reservation; None: the period of the
        limit that the probe sees
    :ivar calibration: CPU times of the reference tasks in us; may be empty
    """

    interval_ns: int = 500_000_000
    processes: tuple[int, ...] = ()
    machine: bool = False
    burst: bool = False
    max_load: float = 0.01
    period_ns: int | None = None
    calibration: Mapping[str, float] = dataclasses.field(
        default_factory=dict)


class Watch:
    """Takes readings and reports on them; nothing in this class sleeps.

    :ivar bursts: the bursts, for a signal handler that must end a running
        one
    """

    def __init__(self, options: Options, root: str = '') -> None:
        self._options = options
        self._root = root
        self._sources: sources.Sources | None = None
        self._before: sources.Sample | None = None
        self._since: sources.Sample | None = None
        self._window = supply.Window()
        self.bursts = bursts.Bursts(options.max_load)
        self._closer = closer.Closer(options.interval_ns)
        self._tick_ns = ticks.tick_us() * 1000
        self._speed: Mapping[str, float] = {}
        self._speed_next_ns = 0
        self._changed: float | None = None
        self._limit: float | None = None

    def start(self) -> str:
        """Takes the first reading.

        :returns: why that is not possible; '' if it is
        """
        self._before = self._since = None
        self._limit = None
        self._window.clear()
        self.bursts.clear()
        try:
            if self._sources is None:
                self._sources = sources.Sources(
                    self._options.processes, self._root,
                    self._options.machine)
            self._before = self._sources.sample()
        except OSError as error:
            self._sources = None
            return self._why(error)
        return ''

    def _why(self, error: OSError) -> str:
        if isinstance(error, ProcessLookupError):
            return error.strerror or 'a process is gone'
        return ('the control group is gone' if self._before
                else error.strerror or str(error))

    @property
    def period_ns(self) -> int | None:
        """The period of the reservation; None: unknown."""
        seen_ns = self._sources.period_ns if self._sources else None
        return self._options.period_ns or seen_ns

    @property
    def pause_ns(self) -> int:
        """The time to wait before the next reading."""
        return self._closer.pause_ns(self.period_ns or DEFAULT_PERIOD_NS)

    def take_reading(self, most_bursts: int = 1) -> report.Report:
        """Takes a reading and reports on it; starts again after an error.

        :param most_bursts: the most bursts to take for this report
        """
        self._changed = None
        if self._before is None:
            return self._bound(None, self.start() or 'this is the first '
                                                     'reading')
        before = self._before
        try:
            assert self._sources is not None  # noqa: S101
            after = self._sources.sample()
            needed = self._sources.needed(len(after.cpus))
        except OSError as error:
            reason = self._why(error)
            self._sources = None
            self.start()
            return self._bound(None, reason)
        reason = evidence.disturbance(before, after,
                                      self._options.interval_ns)
        if reason:
            self._sources = None
            self.start()
            return self._bound(None, reason)
        self._before = after
        step = self._step(before, after, needed)
        self._limit = step.limit
        self._closer.note(after.at_ns, evidence.waits(before, after),
                          bool(step.source))
        return self._told(step, most_bursts)

    def _step(self, before: sources.Sample, after: sources.Sample,
              needed: int) -> evidence.Step:
        """Judges a step together with the busy steps just before the step."""
        begun = self._closer.begun
        step = evidence.step(before, after, self.period_ns, needed,
                             self._since, begun)
        if self._since is not None and not step.source:
            self._since = None
            step = evidence.step(before, after, self.period_ns, needed,
                                 begun=begun)
        if step.source != sources.SCHEDSTAT:
            self._since = None
        elif self._since is None:
            self._since = before
        return step

    def _told(self, step: evidence.Step, most_bursts: int) -> report.Report:
        assert self._sources is not None  # noqa: S101
        if step.used is None:
            self._window.clear()
            return self._bound(None, self._sources.unaccounted)
        supplied = self._supply(step)
        if self._exceeds(supplied.estimate()):
            self._window.clear()
            return self._bound(None, _NOT_ITS_OWN)
        if step.source:
            return self._throttled(step.source, step.used, supplied)
        self._window.clear()
        reason = ('bursts are not allowed' if not self._options.burst
                  else self._burst(step.used, most_bursts))
        known = self.bursts.known
        if known is None or reason:
            why = step.doubt or ('the VNF wants less CPU time than is '
                                 'available')
            return self._bound(step.used,
                               f'{why}, and {reason or self.bursts.reason}',
                               step.certain)
        if self._exceeds(known.estimate):
            self.bursts.clear()
            return self._bound(step.used, _NOT_ITS_OWN)
        return self._report(
            report.BURST, known.estimate, step.used, 'burst',
            known.age_s(time.monotonic_ns()),
            '' if self.bursts.count == bursts.KEPT
            else f'the estimate comes from {self.bursts.count} of '
            f'{bursts.KEPT} bursts')

    def _supply(self, step: evidence.Step) -> supply.Supply:
        assert self._sources is not None  # noqa: S101
        return supply.Supply(
            step.used_ns, step.wall_ns, self.period_ns or DEFAULT_PERIOD_NS,
            # Both the idle time and the steal of a machine are rounded.
            step.cpus, self._tick_ns + 2 * self._sources.unit_ns,
            step.unwanted_ns)

    def _exceeds(self, estimate: supply.Estimate) -> bool:
        """Returns whether the limit makes this value impossible."""
        return self._limit is not None and estimate.lower > self._limit

    def _throttled(self, source: str, used: float, supplied: supply.Supply
                   ) -> report.Report:
        self._changed = self._window.add(supplied)
        return self._report(
            report.THROTTLED, self._window.estimate(), used, source, 0.0,
            '' if self.period_ns else 'the period is not known; the '
            'interval is computed with a period of 100 ms')

    def _burst(self, used: float, most: int) -> str:
        """Takes the bursts that are due.

        :returns: why no burst is possible; '' if bursts are possible
        """
        assert self._sources is not None  # noqa: S101
        group = self._sources.group
        if len(os.sched_getaffinity(0)) > 1:
            return 'a burst can only use up the budget of one CPU'
        if self.period_ns is None and (group is not None
                                       or self._options.processes):
            return ('no control group with a limit can be seen that a burst '
                    'could use up')
        order = spin.Order(self._sources.real_time, self.period_ns,
                           self._tick_ns + (
                               0 if group else self._sources.unit_ns),
                           group.used_ns if group else None,
                           None if group else self._sources.stolen_ns)
        try:
            for number in range(most):
                changed = None
                if number:
                    changed = self.bursts.take(order)
                elif self.bursts.due(used):
                    changed = self.bursts.take_due(order)
                self._changed = changed or self._changed
        except (OSError, errors.ProbeError) as error:
            return str(error)
        # The next step begins here, so that the CPU time of the bursts does
        # not count as used by the VNF.
        self._before = self._sources.sample()
        return ''

    def _bound(self, used: float | None, reason: str, certain: bool = True
               ) -> report.Report:
        """Reports that the available CPU time is not known.

        :param certain: whether what was used was also received
        """
        known = self.bursts.known
        told = self._report(
            report.BOUND, None, used, '',
            known.age_s(time.monotonic_ns()) if known else None, reason)
        return told if certain else told._replace(lower=None)

    def _report(self, method: str, estimate: supply.Estimate | None,
                used: float | None, source: str, age_s: float | None,
                reason: str) -> report.Report:
        period_ns = self.period_ns
        available, lower, upper = self._interval(estimate, used)
        return report.Report(
            time.time(), method, available, lower, upper, used,
            self._speeds(), age_s,
            period_ns // 1000 if period_ns else None, source, reason,
            self._changed,
            self._sources.absent if self._sources else {})

    def _interval(self, estimate: supply.Estimate | None, used: float | None
                  ) -> tuple[float | None, float | None, float | None]:
        """Returns the estimate of the available CPU time, and its bounds.

        The available CPU time never exceeds the limit.  A single window may
        receive more than the limit, because of the law of supply and of ticks.
        """
        known = self.bursts.known
        available, lower, most = estimate or (
            None, used, known.estimate.upper if known else None)
        limit = self._limit
        if limit is None:
            return available, lower, most
        if most is None:
            return (None, None if lower is None else min(lower, limit),
                    max(limit, used or 0.0))
        more = (2 * limit * (self.period_ns or DEFAULT_PERIOD_NS)
                + self._tick_ns) / self._options.interval_ns
        return (None if available is None else min(available, limit),
                None if lower is None else min(lower, limit),
                min(most, limit + more))

    def _speeds(self) -> Mapping[str, float]:
        now = time.monotonic_ns()
        if self._options.calibration and now >= self._speed_next_ns:
            self._speed_next_ns = now + _SPEED_NS
            self._speed = speed.ratios(speed.measure(),
                                       self._options.calibration)
        return self._speed
