# SPDX-License-Identifier: Apache-2.0

"""Prints a plan of moves, and what became of it, for people and programs."""

from collections.abc import Iterator
import dataclasses
import json

from nova_rt.cli import formats
from nova_rt.rules.packing import arrangement
from nova_rt.rules import reservation
from rt_operate.manage import defrag


def line(move: arrangement.Move, found: defrag.Outcome) -> str:
    """Returns a line about one move."""
    wanted = found.host.claims[move.claim].wanted
    return (f'server {move.claim}: pCPU {move.source} -> pCPU {move.target} '
            f'({reservation.decimal(wanted.bandwidth)})')


def text(found: defrag.Outcome, applied: bool) -> str:
    """Returns the plan, one move a line; the last line counts the moves.

    :param applied: whether the moves were printed as they were made
    """
    moves = () if applied else found.plan.moves or ()
    return '\n'.join([*(f'would move {line(move, found)}' for move in moves),
                      *_sentences(found, applied)])


def _sentences(found: defrag.Outcome, applied: bool) -> Iterator[str]:
    asked, plan = found.request, found.plan
    what = (f'{asked.wanted} on {_some(asked.vcpus, "vCPU")}')
    if plan.moves is None:
        yield (f'{what} does not fit on {found.host.name}, and '
               f'{_no_plan(found)}.')
    elif not plan.moves:
        yield f'{what} fits on {found.host.name} without a move.'
    elif not applied:
        yield (f'{what} fits on {found.host.name} after '
               f'{_some(len(plan.moves), "move")}; {_proof(found)}. '
               'Run again with --apply to make the moves.')
    elif found.trouble:
        yield (f'{len(found.made)} of {_some(len(plan.moves), "move")} made; '
               f'the next move was refused: {found.trouble}. Run again: the '
               'command plans anew.')
    else:
        yield (f'{_some(len(found.made), "move")} made; {what} fits on '
               f'{found.host.name} now.')


def _no_plan(found: defrag.Outcome) -> str:
    """Returns what was proven about plans where none was found."""
    asked, most = found.request, found.request.max_moves
    if not found.sum_admits:
        return ('no number of moves helps, because less is free on all pCPUs '
                f'together than {_some(asked.vcpus, "vCPU")} need')
    if found.plan.at_least > most:
        return f'no plan of at most {_some(most, "move")} makes room'
    return (f'no plan of at most {_some(most, "move")} was found; '
            f'{_some(found.plan.at_least, "move")} at least would be needed')


def _proof(found: defrag.Outcome) -> str:
    if found.plan.is_shortest:
        return 'no plan has fewer moves'
    return f'no plan has fewer than {_some(found.plan.at_least, "move")}'


def as_json(found: defrag.Outcome, applied: bool) -> str:
    """Returns the plan and what became of it as JSON."""
    plan = found.plan
    return json.dumps({
        'host': found.host.name, 'vcpus': found.request.vcpus,
        'reservation': dataclasses.asdict(found.request.wanted),
        'applied': applied, 'fits': found.fits,
        'moves': None if plan.moves is None else [
            {'server': move.claim, 'from': move.source, 'to': move.target,
             'made': move in found.made} for move in plan.moves],
        'at_least': plan.at_least, 'shortest': plan.is_shortest,
        'trouble': found.trouble}, indent=2)


def as_table(found: defrag.Outcome) -> formats.Table:
    """Returns the moves of the plan and whether each one was made."""
    return formats.Table(
        ('Server', 'From pCPU', 'To pCPU', 'Share (CPUs)', 'Made'),
        [(move.claim, move.source, move.target, reservation.decimal(
            found.host.claims[move.claim].wanted.bandwidth),
          str(move in found.made)) for move in found.plan.moves or ()])


def _some(count: int, noun: str) -> str:
    return f'{count} {noun}{"s" * (count != 1)}'
