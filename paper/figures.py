# SPDX-License-Identifier: Apache-2.0

"""The figures and tables of the papers, by paper and by name."""

from collections.abc import Iterator, Sequence
import dataclasses
import pathlib

from nova_rt.rules import exception

_STORED = pathlib.Path(__file__).parents[1] / 'doc/source/experiments'
#: Makes the figure from the stored data instead of measuring.
DATA = '--data'
LIST = 'figures'


class NoFigure(exception.RTError):
    """This project repeats no figure of this name."""

    msg_fmt = ('%(paper)s %(figure)s is not a figure that this project '
               'repeats: "run.sh figures" lists them.')


class NoData(exception.RTError):
    """The figure can be measured, but its data are not stored."""

    msg_fmt = ('No data of %(paper)s %(figure)s are stored: measure the '
               'figure by "run.sh %(paper)s %(figure)s", without --data.')


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A figure that can be made again.

    :ivar command: the words of the command that measures it
    :ivar stored: the words of the command that makes it from *file* without
        measuring
    :ivar file: the stored data; '' if none are stored
    :ivar makes: the tables and pictures that the pages have of it
    """

    paper: str
    name: str
    about: str
    command: tuple[str, ...]
    stored: tuple[str, ...] = ()
    file: str = ''
    makes: tuple[str, ...] = ()


_NOTHING = ('--seconds', '0')
#: RT_GROUP_SCHED at ticks of 4 ms keeps these shares from 40 ms on.
_SCALE = ('--scale', '20')
_GROUPS = ('--server', 'group', *_SCALE)


def _own(name: str) -> tuple[str, str]:
    """Returns the option for a directory of its own.

    Without the option, a figure would overwrite the figure of the same command
    on another kernel.
    """
    return '--output', str(pathlib.Path(__file__).parent / 'build' / name)


FIGURES = (
    Figure('000', 'table4', 'rt-probe against the truth; row pod is Table IV',
           ('probe',), ('probe', *_NOTHING), 'probe.csv',
           ('probe', 'latency')),
    Figure('001', 'beside', 'vanilla, pinned and reserved beside neighbours',
           ('pinning',), ('pinning', *_NOTHING), 'pinning.csv',
           ('pinning',)),
    Figure('002', '3', 'pairs of functions, here with reservations',
           ('interference',), ('interference', *_NOTHING), 'reserved.yaml',
           ('pairs',)),
    Figure('003', 'saturation', 'Eq. 5 for a chain with reservations',
           ('chain', '--reserved'), ('chain', '--runs', '0'), 'chain.csv',
           ('chain',)),
    Figure('003', 'quota', 'the same with quotas, beside busy processes',
           ('chain', '--busy', '4'), ('chain', '--runs', '0'), 'chain.csv',
           ('chain',)),
    Figure('004', 'table3', 'the errors of the models',
           ('table3',), ('table3', *_NOTHING), 'table3.csv',
           ('table3.inc', 'table3.png')),
    Figure('004', 'table3-groups', 'the same on a kernel with group budgets',
           ('table3', *_GROUPS, *_own('table3-groups')),
           ('table3', *_SCALE, *_own('table3-groups'), *_NOTHING),
           'table3-groups.csv',
           ('table3-groups.inc',)),
    Figure('004', '6-groups', 'Fig. 6 on a kernel with group budgets',
           ('fig6', *_GROUPS, *_own('fig6-groups')),
           ('fig6', *_SCALE, *_own('fig6-groups'), *_NOTHING),
           'table3-groups.csv',
           ('fig6-groups.inc', 'fig6-groups.png')),
    Figure('004', '7-groups', 'Fig. 7 on a kernel with group budgets',
           ('fig7', '--server', 'group', '--scale', '10',
            *_own('fig7-groups')),
           ('fig7', '--scale', '10', *_own('fig7-groups'), *_NOTHING),
           'fig7-groups.csv',
           ('fig7-groups.inc', 'fig7-groups.png')),
    Figure('004', '6', 'response times, network negligible',
           ('fig6',), ('fig6', *_NOTHING), 'table3.csv',
           ('fig6.inc', 'fig6.png')),
    Figure('004', '7', 'response times, limited bandwidth',
           ('fig7',), ('fig7', *_NOTHING), 'fig7.csv',
           ('fig7.inc', 'fig7.png')),
    Figure('004', '8', 'two reservations on one CPU',
           ('fig8',), ('fig8', '--runs', '0'), 'fig8.csv',
           ('fig8-ratios', 'fig8-times', 'fig8.png')),
    Figure('004', 'kamailio', 'Fig. 8 with Kamailio, MariaDB and rt-app',
           ('fig8-sip',), ('fig8-sip', '--runs', '0'), 'fig8-sip.csv',
           ('fig8-sip-ratios', 'fig8-sip-times', 'fig8-sip.png')),
    Figure('004', 'containers', 'Fig. 8 in containers of Nova',
           ('containers',)),
)


def words(arguments: Sequence[str]) -> list[str]:
    """Returns the words of a command; "PAPER FIGURE" becomes its command.

    :raises NoFigure: when there is no such figure
    :raises NoData: when no data of the figure are stored
    """
    if len(arguments) < 2 or not arguments[0].isdigit():
        return list(arguments)
    paper, name, *rest = arguments
    found = [one for one in FIGURES if (one.paper, one.name) == (paper, name)]
    if not found:
        raise NoFigure(paper=paper, figure=name)
    one = found[0]
    if rest != [DATA]:
        return [*one.command, *rest]
    if not one.file:
        raise NoData(paper=paper, figure=name)
    return [*one.stored, DATA, str(_STORED / one.file)]


def text() -> str:
    """Returns a line for each figure."""
    return '\n'.join(_lines())


def _lines() -> Iterator[str]:
    for one in FIGURES:
        yield (f'{one.paper} {one.name:<13} {one.about}'
               + ('' if one.file else ' (no data are stored)'))
