# SPDX-License-Identifier: Apache-2.0

"""Prints a plan of moves, and what became of it, for people and programs."""

from collections.abc import Iterator
import dataclasses
import json

from nova_rt.cli import formats
from nova_rt.rules.packing import arrangement
from nova_rt.rules import reservation
from rt_operate.manage import defrag


def line(move: arrangement.Move, outcome: defrag.Outcome) -> str:
    """Returns a line about one move."""
    wanted = outcome.host.claims[move.claim].wanted
    return (f'server {move.claim}: pCPU {move.source} -> pCPU {move.target} '
            f'({reservation.decimal(wanted.bandwidth)})')


def text(outcome: defrag.Outcome, applied: bool) -> str:
    """Returns the plan, one move a line; the last line counts the moves.

    :param applied: whether the moves were printed as they were made
    """
    moves = () if applied else outcome.plan.moves or ()
    return '\n'.join([*(f'would move {line(move, outcome)}' for move in moves),
                      *_sentences(outcome, applied)])


def _sentences(outcome: defrag.Outcome, applied: bool) -> Iterator[str]:
    asked, plan = outcome.request, outcome.plan
    asked_text = (f'{asked.wanted} on {_some(asked.vcpus, "vCPU")}')
    if plan.moves is None:
        yield (f'{asked_text} does not fit on {outcome.host.name}, and '
               f'{_no_plan(outcome)}.')
    elif not plan.moves:
        yield f'{asked_text} fits on {outcome.host.name} without a move.'
    elif not applied:
        yield (f'{asked_text} fits on {outcome.host.name} after '
               f'{_some(len(plan.moves), "move")}; {_proof(outcome)}. '
               'Run again with --apply to make the moves.')
    elif outcome.trouble:
        yield (f'{len(outcome.made)} of {_some(len(plan.moves), "move")} '
               f'made; the next move was refused: {outcome.trouble}. Run '
               'again: the command makes a new plan.')
    else:
        yield (f'{_some(len(outcome.made), "move")} made; {asked_text} fits '
               f'on {outcome.host.name} now.')


def _no_plan(outcome: defrag.Outcome) -> str:
    """Returns what was proven about plans where none was found."""
    asked, most = outcome.request, outcome.request.max_moves
    if not outcome.sum_admits:
        return ('moves cannot help, because all pCPUs together have less '
                f'free bandwidth than {_some(asked.vcpus, "vCPU")} need')
    if outcome.plan.at_least > most:
        return f'no plan of at most {_some(most, "move")} makes room'
    return (f'no plan of at most {_some(most, "move")} was found; '
            f'at least {_some(outcome.plan.at_least, "move")} would be needed')


def _proof(outcome: defrag.Outcome) -> str:
    if outcome.plan.is_shortest:
        return 'no plan has fewer moves'
    return f'no plan has fewer than {_some(outcome.plan.at_least, "move")}'


def as_json(outcome: defrag.Outcome, applied: bool) -> str:
    """Returns the plan and what became of it as JSON."""
    plan = outcome.plan
    return json.dumps({
        'host': outcome.host.name, 'vcpus': outcome.request.vcpus,
        'reservation': dataclasses.asdict(outcome.request.wanted),
        'applied': applied, 'fits': outcome.fits,
        'moves': None if plan.moves is None else [
            {'server': move.claim, 'from': move.source, 'to': move.target,
             'made': move in outcome.made} for move in plan.moves],
        'at_least': plan.at_least, 'shortest': plan.is_shortest,
        'trouble': outcome.trouble}, indent=2)


def as_table(outcome: defrag.Outcome) -> formats.Table:
    """Returns the moves of the plan and whether each one was made."""
    return formats.Table(
        ('Server', 'From pCPU', 'To pCPU', 'Share (CPUs)', 'Made'),
        [(move.claim, move.source, move.target, reservation.decimal(
            outcome.host.claims[move.claim].wanted.bandwidth),
          str(move in outcome.made)) for move in outcome.plan.moves or ()])


def _some(count: int, noun: str) -> str:
    return f'{count} {noun}{"s" * (count != 1)}'
