# SPDX-License-Identifier: Apache-2.0

"""What ``nova-rt-manage`` does, on a Nova that is configured already."""

import argparse
from collections.abc import Callable
import dataclasses
import time

import nova.conf

from nova_rt.manage.compare import differences
from nova_rt.manage import errors
from nova_rt.manage import heal as rt_heal
from nova_rt.manage import hints
from nova_rt.manage.read import load
from nova_rt.manage import report
from nova_rt.manage import snapshot

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
               for each in differences.compare(host)])


def check(args: argparse.Namespace) -> int:
    found = examine(load.Scope(args.host, args.kernel or None))
    print(report.as_json(found) if args.format == 'json'
          else report.text(found))
    return _status(found, found.differences)


def heal(args: argparse.Namespace) -> int:
    scope = load.Scope(args.host, kernel=False)
    found = examine(scope)
    ours = rt_heal.concerning(found.differences, args.instance)
    done = [each for each in ours if _heal(each, args.apply)]
    if done:
        found = examine(scope)
        ours = rt_heal.concerning(found.differences, args.instance)
    for each in ours:
        if each.repair is None:
            print(f'cannot heal: {each}')
    for text in report.sentences(found):
        print(text)
    print(_summary(done, ours, args.apply))
    return _status(found, ours)


def hint(args: argparse.Namespace) -> int:
    instance = hints.server(args.server)
    if args.clear or args.set:
        hints.change(instance, dict(args.set or ()))
    print(hints.sentence(instance))
    return CLEAN


def _heal(difference: snapshot.Difference, apply: bool) -> bool:
    """Whether something was changed."""
    if difference.repair is None:
        return False
    host = difference.host
    what = f'{rt_heal.describe(difference.repair)} ({difference.found})'
    if not apply:
        print(f'{host}: would {what}')
        return False
    loader = load.Loader(load.Scope(host, kernel=False),
                         CONF.host)
    failed: list[str] = []
    changed = False
    with errors.noted(failed, f'{host}: failed to {what}'):
        changed = rt_heal.apply(difference, loader)
        print(f'{host}: {"did" if changed else "no need any more to"} {what}')
    for text in failed:
        print(text)
    return changed


def _summary(done: list[snapshot.Difference], left: list[snapshot.Difference],
             apply: bool) -> str:
    if not (done or left):
        return 'Nothing to heal.'
    healable = len([each for each in left if each.repair])
    others = f'{len(left) - healable} cannot be healed here'
    if not apply:
        return f'{healable} to heal with --apply, {others}.'
    return f'{len(done)} healed, {healable} left to try again, {others}.'


def _status(found: report.Report, left: list[snapshot.Difference]) -> int:
    if found.view.unchecked:
        return UNCHECKED
    return DIFFERENT if left else CLEAN


#: By the name of the subcommand.
COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    'check': check, 'heal': heal, 'hint': hint}
