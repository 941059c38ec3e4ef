# SPDX-License-Identifier: Apache-2.0

"""How the result of a comparison is shown: to people and to programs."""

import dataclasses
import json

from rt_operate.manage.read import load
from rt_operate.manage import snapshot


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What was seen, and what of it differs.

    :ivar suspects: flavors to look at, which are no differences
    """

    view: load.View
    differences: list[snapshot.Difference]
    suspects: list[snapshot.Suspect] = dataclasses.field(
        default_factory=list)

    @property
    def servers(self) -> set[str]:
        """Those with a reservation."""
        return {holding.server for host in self.view.hosts
                for holding in host.holdings
                if holding.claims or holding.wanted or holding.unreadable}

    @property
    def moving(self) -> set[str]:
        """Those with a reservation that were left out."""
        return self.servers & {
            holding.server for host in self.view.hosts
            for holding in host.holdings if holding.moving}

    @property
    def kernels(self) -> list[str]:
        """The hosts whose kernel was looked at."""
        return [host.name for host in self.view.hosts if host.kernel]


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """What was, or would be, done about a difference.

    :ivar text: a sentence, of whoever refused too
    """

    difference: snapshot.Difference
    text: str
    changed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Healing:
    """What was done, and what is left.

    :ivar found: how it looks afterwards
    :ivar left: of that, what concerns what was asked for
    :ivar apply: whether anything was to be done
    """

    found: Report
    attempts: list[Attempt]
    left: list[snapshot.Difference]
    apply: bool

    @property
    def healed(self) -> list[snapshot.Difference]:
        return [each.difference for each in self.attempts if each.changed]


def text(found: Report) -> str:
    """A line for each difference, and a last one that counts."""
    return '\n'.join([*map(str, found.differences),
                      *map(str, found.suspects), *sentences(found),
                      _counts(found)])


def healing_text(healing: Healing) -> str:
    """A line for each attempt and what is left; a last one that counts."""
    return '\n'.join([
        *(each.text for each in healing.attempts),
        *(f'cannot heal: {each}' for each in healing.left
          if each.repair is None),
        *sentences(healing.found), _summary(healing)])


def _summary(healing: Healing) -> str:
    healed, left = healing.healed, healing.left
    if not (healed or left):
        return 'Nothing to heal.'
    healable = len([each for each in left if each.repair])
    others = f'{len(left) - healable} cannot be healed here'
    if not healing.apply:
        return f'{healable} to heal with --apply, {others}.'
    return f'{len(healed)} healed, {healable} left to try again, {others}.'


def healing_as_json(healing: Healing) -> str:
    return json.dumps({
        'applied': healing.apply,
        'attempts': [{**_plain(each.difference), 'changed': each.changed,
                      'text': each.text} for each in healing.attempts],
        'left': [_plain(each) for each in healing.left],
        'unchecked': healing.found.view.unchecked,
        'notes': healing.found.view.notes,
    }, indent=2)


def sentences(found: Report) -> list[str]:
    """What was not looked at."""
    return [*(f'could not check {each}' for each in found.view.unchecked),
            *(f'note: {each}' for each in found.view.notes)]


def _counts(found: Report) -> str:
    kernels = ', '.join(found.kernels) or 'no host'
    parts = [_some(len(found.view.hosts), 'host'),
             _some(len(found.servers), 'server') + ' with a reservation',
             _some(len(found.differences), 'difference'),
             f'kernel of {kernels} compared']
    if found.suspects:
        parts.append(_some(len(found.suspects), 'flavor') + ' to look at')
    if found.moving:
        parts.append(_some(len(found.moving), 'server')
                     + ' left out: Nova is at work on it')
    return ', '.join(parts) + '.'


def _some(count: int, noun: str) -> str:
    return f'{count} {noun}{"" if count == 1 else "s"}'


def as_json(found: Report) -> str:
    return json.dumps({
        'hosts': [host.name for host in found.view.hosts],
        'servers': len(found.servers),
        'moving': sorted(found.moving),
        'kernels': found.kernels,
        'unchecked': found.view.unchecked,
        'notes': found.view.notes,
        'differences': [_plain(each) for each in found.differences],
        'flavors': [dataclasses.asdict(each) for each in found.suspects],
    }, indent=2)


def _plain(difference: snapshot.Difference) -> dict[str, object]:
    values = {field.name: getattr(difference, field.name)
              for field in dataclasses.fields(difference)
              if field.name != 'repair'}
    return values | {'healable': difference.repair is not None}
