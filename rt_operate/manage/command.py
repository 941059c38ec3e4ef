# SPDX-License-Identifier: Apache-2.0

"""What ``nova-rt-manage`` does, on a Nova that is configured already."""

import argparse
from collections.abc import Callable
import dataclasses
import time

import nova.conf

from nova_rt.services import conf as rt_conf
from rt_operate.manage.compare import differences
from rt_operate.manage.compare import flavors
from rt_operate.manage import errors
from rt_operate.manage import heal as rt_heal
from rt_operate.manage import hints
from rt_operate.manage.read import load
from rt_operate.manage import report
from rt_operate.manage import snapshot

CONF = nova.conf.CONF

CLEAN, DIFFERENT, UNCHECKED = range(3)

#: Between two looks: what Nova changes meanwhile is no difference.
PAUSE_SECONDS = 2.0


def examine(scope: load.Scope) -> report.Report:
    """Compare, and once more where something differs."""
    found = _look(scope)
    if not found.differences:
        return found
    time.sleep(PAUSE_SECONDS)
    again = _look(scope)
    first = set(found.differences)
    return dataclasses.replace(again, differences=[
        each for each in again.differences if each in first])


def _look(scope: load.Scope) -> report.Report:
    view = load.Loader(scope, CONF.host).view()
    return report.Report(
        view, [each for host in view.hosts
               for each in differences.compare(host)],
        list(flavors.suspects(view.flavors, rt_conf.limits(CONF))))


def check(args: argparse.Namespace) -> int:
    found = examine(load.Scope(args.host, args.kernel or None))
    print(report.as_json(found) if args.format == 'json'
          else report.text(found))
    return _status(found, found.differences)


def heal(args: argparse.Namespace) -> int:
    scope = load.Scope(args.host, kernel=False)
    found = examine(scope)
    ours = rt_heal.concerning(found.differences, args.instance)
    attempts = [_heal(each, each.repair, args.apply) for each in ours
                if each.repair]
    if any(each.changed for each in attempts):
        found = examine(scope)
        ours = rt_heal.concerning(found.differences, args.instance)
    healing = report.Healing(found, attempts, ours, args.apply)
    print(report.healing_as_json(healing) if args.format == 'json'
          else report.healing_text(healing))
    return _status(found, ours)


def hint(args: argparse.Namespace) -> int:
    instance = hints.server(args.server)
    if args.clear or args.set:
        hints.change(instance, dict(args.set or ()))
    print(hints.as_json(instance) if args.format == 'json'
          else hints.sentence(instance))
    return CLEAN


def _heal(difference: snapshot.Difference, repair: snapshot.Repair,
          apply: bool) -> report.Attempt:
    host = difference.host
    what = f'{rt_heal.describe(repair)} ({difference.found})'
    if not apply:
        return report.Attempt(difference, f'{host}: would {what}')
    loader = load.Loader(load.Scope(host, kernel=False),
                         CONF.host)
    failed: list[str] = []
    changed = False
    with errors.noted(failed, f'{host}: failed to {what}'):
        changed = rt_heal.apply(difference, loader)
    text = f'{host}: {"did" if changed else "no need any more to"} {what}'
    return report.Attempt(difference, '\n'.join(failed) or text, changed)


def _status(found: report.Report, left: list[snapshot.Difference]) -> int:
    if found.view.unchecked:
        return UNCHECKED
    return DIFFERENT if left else CLEAN


#: By the name of the subcommand.
COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    'check': check, 'heal': heal, 'hint': hint}
