# SPDX-License-Identifier: Apache-2.0

"""Prints the result of a comparison for people and for programs."""

import dataclasses
import json

from nova_rt.cli import formats
from nova_rt.rules import words
from nova_rt import version
from rt_operate.manage.read import load
from rt_operate.manage import snapshot


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """The result of a comparison.

    :ivar suspects: flavors that a person should look at; they do not count
        as differences
    """

    view: load.CloudView
    differences: list[snapshot.Difference]
    suspects: list[snapshot.Suspect] = dataclasses.field(
        default_factory=list)

    @property
    def servers(self) -> set[str]:
        """The servers with a reservation."""
        return {holding.server for host in self.view.hosts
                for holding in host.holdings
                if holding.claims or holding.wanted or holding.unreadable}

    @property
    def moving(self) -> set[str]:
        """The servers with a reservation that were left out."""
        return self.servers & {
            holding.server for host in self.view.hosts
            for holding in host.holdings if holding.moving}

    @property
    def kernels(self) -> list[str]:
        """The hosts whose kernel was read."""
        return [host.name for host in self.view.hosts if host.kernel]


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """A repair of a difference that was done, would be done, or failed.

    :ivar text: a sentence on the repair, or on its failure
    """

    difference: snapshot.Difference
    text: str
    changed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Healing:
    """The repairs that were done, and the differences that are left.

    :ivar found: the result of the comparison afterwards
    :ivar left: the differences in *found* that heal was asked to repair
    :ivar apply: whether heal was asked to make changes
    """

    found: Report
    attempts: list[Attempt]
    left: list[snapshot.Difference]
    apply: bool

    @property
    def healed(self) -> list[snapshot.Difference]:
        """The differences that were repaired."""
        return [attempt.difference for attempt in self.attempts
                if attempt.changed]


def text(result: Report) -> str:
    """Returns a line for each difference; the last line counts them."""
    return '\n'.join([*map(str, result.differences),
                      *map(str, result.suspects), *sentences(result),
                      _counts(result)])


def healing_text(healing: Healing) -> str:
    """Returns a line for each repair and for each difference that is left.

    The last line counts them.
    """
    return '\n'.join([
        *(attempt.text for attempt in healing.attempts),
        *(f'cannot heal: {difference}' for difference in healing.left
          if difference.repair is None),
        *sentences(healing.found), _summary(healing)])


def _summary(healing: Healing) -> str:
    healed, left = healing.healed, healing.left
    if not (healed or left):
        return 'Nothing to heal.'
    healable = len([difference for difference in left if difference.repair])
    unhealable = f'{len(left) - healable} cannot be healed by this command'
    if not healing.apply:
        return f'{healable} to heal with --apply, {unhealable}.'
    return f'{len(healed)} healed, {healable} left to try again, {unhealable}.'


def healing_as_json(healing: Healing) -> str:
    """Returns the result of ``heal`` as JSON."""
    return json.dumps({
        'applied': healing.apply,
        'attempts': [{**_plain(attempt.difference),
                      'changed': attempt.changed, 'text': attempt.text}
                     for attempt in healing.attempts],
        'left': [_plain(difference) for difference in healing.left],
        'unchecked': healing.found.view.unchecked,
        'notes': healing.found.view.notes,
    }, indent=2)


def sentences(result: Report) -> list[str]:
    """Returns sentences about the parts that were not compared."""
    return [*(f'could not check {part}' for part in result.view.unchecked),
            *(f'note: {note}' for note in result.view.notes)]


def _counts(result: Report) -> str:
    kernels = ', '.join(result.kernels) or 'no host'
    parts = [words.count(len(result.view.hosts), 'host'),
             f'{words.count(len(result.servers), "server")} with a '
             f'reservation',
             words.count(len(result.differences), 'difference'),
             f'kernel of {kernels} compared']
    if result.suspects:
        parts.append(
            f'{words.count(len(result.suspects), "flavor")} to look at')
    if result.moving:
        them = words.noun(len(result.moving), 'it', 'them')
        parts.append(f'{words.count(len(result.moving), "server")} left out '
                     f'because Nova is working on {them}')
    return ', '.join(parts) + '.'


def as_json(result: Report) -> str:
    """Returns the result of ``check`` as JSON."""
    return json.dumps({
        'version': version.get(),
        'hosts': [host.name for host in result.view.hosts],
        'releases': {host.name: host.published.release
                     for host in result.view.hosts if host.published},
        'servers': len(result.servers),
        'moving': sorted(result.moving),
        'kernels': result.kernels,
        'unchecked': result.view.unchecked,
        'notes': result.view.notes,
        'differences': [_plain(difference)
                        for difference in result.differences],
        'flavors': [dataclasses.asdict(suspect)
                    for suspect in result.suspects],
    }, indent=2)


_COLUMNS = ('Kind', 'Host', 'Server', 'Found', 'Wanted', 'Remedy')


def as_table(result: Report) -> formats.Table:
    """Returns a row for each difference, and for each unchecked part."""
    return formats.Table(_COLUMNS, [
        *map(_row, result.differences),
        *(('unchecked', '', '', part, '', '')
          for part in result.view.unchecked)])


def healing_as_table(healing: Healing) -> formats.Table:
    """Returns a row for each repair and for each difference that is left."""
    repaired = {id(attempt.difference) for attempt in healing.attempts}
    return formats.Table((*_COLUMNS, 'State'), [
        *((*_row(attempt.difference), 'healed' if attempt.changed
           else 'failed' if healing.apply else 'healable')
          for attempt in healing.attempts),
        *((*_row(difference), 'not healable') for difference in healing.left
          if difference.repair is None and id(difference) not in repaired)])


def _row(difference: snapshot.Difference) -> tuple[str, ...]:
    return (difference.kind, difference.host, difference.server,
            difference.found, difference.wanted, difference.remedy)


def _plain(difference: snapshot.Difference) -> dict[str, object]:
    values = {field.name: getattr(difference, field.name)
              for field in dataclasses.fields(difference)
              if field.name != 'repair'}
    return values | {'healable': difference.repair is not None}
