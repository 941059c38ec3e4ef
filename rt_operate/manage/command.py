# SPDX-License-Identifier: Apache-2.0

"""The subcommands of ``nova-rt-manage``, which need a configured Nova."""

import argparse
from collections.abc import Callable
import dataclasses
import time
from typing import Any

import nova.conf

from nova_rt.cli import formats
from nova_rt.rules import reservation
from nova_rt.services import conf as rt_conf
from rt_operate.manage.compare import differences
from rt_operate.manage.compare import flavors
from rt_operate.manage.compare import notes
from rt_operate.manage import defrag as rt_defrag
from rt_operate.manage import errors
from rt_operate.manage import heal as rt_heal
from rt_operate.manage import hints
from rt_operate.manage import moves
from rt_operate.manage.read import load
from rt_operate.manage import report
from rt_operate.manage import reserve as rt_reserve
from rt_operate.manage import snapshot

CONF = nova.conf.CONF

CLEAN, DIFFERENT, UNCHECKED = range(3)

#: The time between two reads.  A difference that is gone by then was a
#: change that Nova made meanwhile.
PAUSE_SECONDS = 2.0


def examine(scope: load.Scope) -> report.Report:
    """Compares, and if something differs, compares a second time.

    :returns: a report of the differences that both comparisons show
    """
    first = _compare(scope)
    if not first.differences:
        return first
    time.sleep(PAUSE_SECONDS)
    second = _compare(scope)
    before = set(first.differences)
    return dataclasses.replace(second, differences=[
        difference for difference in second.differences
        if difference in before])


def _compare(scope: load.Scope) -> report.Report:
    view = load.Loader(scope, CONF.host).view()
    return report.Report(
        view, [*(difference for host in view.hosts
                 for difference in differences.compare(host)),
               *map(notes.difference, view.begun)],
        list(flavors.suspects(view.flavors, rt_conf.limits(CONF))))


def check(args: argparse.Namespace) -> int:
    """Runs ``nova-rt-manage check`` and returns its exit status."""
    result = examine(load.Scope(args.host, args.kernel or None))
    formats.show(args, lambda: report.text(result),
                 lambda: report.as_json(result),
                 lambda: report.as_table(result))
    return _status(result, result.differences)


def heal(args: argparse.Namespace) -> int:
    """Runs ``nova-rt-manage heal`` and returns its exit status."""
    scope = load.Scope(args.host, kernel=False)
    result = examine(scope)
    chosen = rt_heal.concerning(result.differences, args.instance)
    attempts = [_heal(difference, difference.repair, args.apply)
                for difference in chosen if difference.repair]
    if any(attempt.changed for attempt in attempts):
        result = examine(scope)
        chosen = rt_heal.concerning(result.differences, args.instance)
    healing = report.Healing(result, attempts, chosen, args.apply)
    formats.show(args, lambda: report.healing_text(healing),
                 lambda: report.healing_as_json(healing),
                 lambda: report.healing_as_table(healing))
    return _status(result, chosen)


def hint(args: argparse.Namespace) -> int:
    """Runs ``nova-rt-manage hint`` and returns its exit status."""
    instance = hints.server(args.server)
    if args.clear or args.set:
        hints.change(instance, dict(args.set or ()))
    _show(args, instance)
    return CLEAN


def reserve(args: argparse.Namespace) -> int:
    """Runs ``nova-rt-manage reserve`` and returns its exit status."""
    instance = hints.server(args.server)
    rt_reserve.change(instance, {
        key: value for key, value in zip(
            reservation.KEYS, (args.runtime_us, args.period_us), strict=True)
        if value is not None})
    _show(args, instance)
    return CLEAN


def _show(args: argparse.Namespace, instance: Any) -> None:
    formats.show(args, lambda: hints.sentence(instance),
                 lambda: hints.as_json(instance))


def defrag(args: argparse.Namespace) -> int:
    """Runs ``nova-rt-manage defrag`` and returns its exit status."""
    host = rt_defrag.read(args.host)
    if args.for_share is None:
        outcome = rt_defrag.largest(host, args.vcpus, args.period_us,
                                    args.max_moves)
    else:
        outcome = rt_defrag.plan(host, rt_defrag.Request(
            args.vcpus, rt_defrag.share(rt_conf.ppm(args.for_share),
                                        args.period_us), args.max_moves))
    if args.apply:
        outcome = rt_defrag.apply(outcome, lambda move: (
            None if args.format != formats.TEXT else
            print(f'moved {moves.line(move, outcome)}', flush=True)))
    formats.show(args, lambda: moves.text(outcome, args.apply),
                 lambda: moves.as_json(outcome, args.apply),
                 lambda: moves.as_table(outcome))
    if outcome.fits:
        return CLEAN
    return DIFFERENT if outcome.plan.moves and not args.apply else UNCHECKED


def _heal(difference: snapshot.Difference,
          repair: snapshot.Repair | snapshot.Removal, apply: bool
          ) -> report.Attempt:
    host = difference.place
    action = f'{rt_heal.describe(repair)} ({difference.found})'
    if not apply:
        return report.Attempt(difference, f'{host}: would {action}')
    loader = load.Loader(load.Scope(difference.host, kernel=False),
                         CONF.host)
    failed: list[str] = []
    changed = False
    with errors.noted(failed, f'{host}: failed to {action}'):
        changed = rt_heal.apply(difference, loader)
    text = f'{host}: {"did" if changed else "no longer needed to"} {action}'
    return report.Attempt(difference, '\n'.join(failed) or text, changed)


def _status(result: report.Report, left: list[snapshot.Difference]) -> int:
    if result.view.unchecked:
        return UNCHECKED
    return DIFFERENT if left else CLEAN


#: The functions that run the subcommands, by the name of the subcommand.
COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    'check': check, 'defrag': defrag, 'heal': heal, 'hint': hint,
    'reserve': reserve}
