# SPDX-License-Identifier: Apache-2.0

"""``nova-rt advise --apply``: keeps targets by changes of reservations.

With ``--all`` this is the service ``nova-rt-keep``, which keeps the targets of
all servers of the host whose flavors have a target and limits.
"""

import argparse
import collections
from collections.abc import Iterable, Mapping
import dataclasses
import importlib
import itertools
import json
import pathlib
import time
from typing import Any

from nova_rt.rules import exception
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_operate import advice
from rt_operate import loop

_MINUTE_S = 60.0
#: The flavor of a server that does not follow its load is read again after so
#: many measurements.
_AGAIN = 12


@dataclasses.dataclass
class _Kept:
    """A server that follows its load.

    :ivar rules: the target and the limits of the loop
    :ivar changed: when its reservation changed
    :ivar told: the last reason that was told
    """

    server: Any
    rules: tuple[rt_load.Target, loop.Limits]
    loop: loop.Loop
    changed: collections.deque[float]
    told: str = ''


class Keeper:
    """Keeps the targets of servers; each step follows a measurement.

    :param target: for all servers; None takes the target of each flavor, and
        leaves servers alone whose flavors have no target
    """

    def __init__(self, args: argparse.Namespace,
                 target: rt_load.Target | None, kernel: rt_kernel.Kernel
                 ) -> None:
        self._args, self._target, self._kernel = args, target, kernel
        self._audit('')  # No change is made that could not be recorded.
        # Nova is needed only here.
        self._auto = importlib.import_module('rt_operate.manage.auto')
        self._auto.configure('nova-rt', args.config_file)
        self._kept: dict[str, _Kept] = {}
        #: after how many measurements the flavors of others are read again
        self._others: dict[str, int] = {}

    def step(self, loads: Mapping[str, advice.MeasuredLoad]) -> None:
        """Changes the reservations as their loads need.

        :raises RTError: when the only server of the command cannot follow its
            load
        """
        for gone in self._kept.keys() - loads.keys():
            del self._kept[gone]
        self._others = {uuid: left - 1 for uuid, left in self._others.items()
                        if uuid in loads and left > 1}
        for uuid in loads.keys() - self._others.keys():
            try:
                self._step(uuid, loads[uuid])
            except exception.RTError as error:
                if self._target is not None:
                    raise
                self._leave(uuid)
                self._tell(uuid, loop.Decision(None, ''), str(error))

    def _leave(self, uuid: str) -> None:
        self._kept.pop(uuid, None)
        self._others[uuid] = _AGAIN

    def _step(self, uuid: str, measured: advice.MeasuredLoad) -> None:
        server = self._auto.Server(uuid)
        specs = server.extra_specs
        if self._target is None and loop.TARGET_KEY not in specs:
            self._leave(uuid)
            return
        rules = self._target or loop.target_of(specs), loop.limits_of(specs)
        kept = self._kept.get(uuid)
        if kept is None or kept.rules != rules:
            kept = self._kept[uuid] = _Kept(
                server, rules, loop.Loop(*rules, self._kernel),
                collections.deque(maxlen=self._args.most_changes))
        kept.server = server
        decision = kept.loop.step(dataclasses.replace(
            measured, reservation=server.reserved(measured.reservation)))
        trouble = self._change(kept, decision)
        if (self._target is not None or decision.runtime_us is not None
                or decision.doubt != kept.told):
            self._tell(uuid, decision, trouble)
        kept.told = decision.doubt

    def _change(self, kept: _Kept, decision: loop.Decision) -> str:
        """Makes a change; returns why it was not made, or ''."""
        if decision.runtime_us is None:
            return ''
        now = time.monotonic()
        if (len(kept.changed) == kept.changed.maxlen
                and now - kept.changed[0] < _MINUTE_S):
            return (f'The change is not made: there were '
                    f'{len(kept.changed)} changes in the last minute '
                    f'(--most-changes).')
        kept.changed.append(now)
        if self._args.dry_run:
            return 'The change is not made (--dry-run).'
        try:
            kept.server.change(decision.runtime_us)
        except exception.RTError as error:
            return str(error)
        return ''

    def _audit(self, text: str) -> None:
        """Adds text to the audit log, if there is one.

        :raises CannotMeasure: when the file cannot be written
        """
        path = self._args.audit_log
        if not path:
            return
        try:
            with pathlib.Path(path).open('a') as audit:
                audit.write(text)
        except OSError as error:
            raise exception.CannotMeasure(
                what=f'--audit-log {path}',
                reason=f'the file cannot be written ({error.strerror}); name '
                f'another file') from error

    def _tell(self, uuid: str, decision: loop.Decision, trouble: str) -> None:
        """Prints what was done and why, and adds it to the audit log."""
        record = json.dumps({
            'time': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
            'server': uuid, 'runtime_us': decision.runtime_us,
            'reason': decision.reason, 'trouble': trouble})
        self._audit(f'{record}\n')
        if self._args.format == 'json':
            print(record, flush=True)
            return
        sentences = ' '.join(filter(None, (
            decision.reason and f'{decision.reason}.', trouble)))
        name = '' if self._target else f'{uuid}: '
        print(f'{time.strftime("%H:%M:%S")} {name}{sentences}', flush=True)


def run(args: argparse.Namespace, target: rt_load.Target | None,
        kernel: rt_kernel.Kernel,
        measurements: Iterable[Mapping[str, advice.MeasuredLoad]]) -> int:
    """Measures and changes, again and again; returns the exit status.

    There is one change at a time, and each change follows a new measurement.
    """
    keeper = Keeper(args, target, kernel)
    for loads in itertools.islice(measurements, args.times):
        keeper.step(loads)
    return 0
