# SPDX-License-Identifier: Apache-2.0

"""``openstack rt map``: a page with all pCPUs and the servers on them."""

import argparse
import base64
from collections.abc import Iterable, Sequence
import datetime
from importlib import resources
import json
from typing import Any
import uuid

from osc_lib import exceptions

from rt_client import base
from rt_client import cloud as rt_cloud
from rt_client import trouble

_TEMPLATE = 'map.html'


class Map(base.Command):
    """Write a page that shows all hosts, their pCPUs and their servers"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('-o', '--output', metavar='<file>', required=True,
                            help='File to write; the page needs no other file')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        text = render(self.cloud.hosts(),
                      list(self.cloud.servers(all_projects='1')),
                      self.cloud.services(),
                      datetime.datetime.now(datetime.UTC))
        try:
            with open(parsed_args.output, 'w', encoding='utf-8') as page:
                page.write(text)
        except OSError as error:
            raise exceptions.CommandError(
                f'Cannot write {parsed_args.output}: {error.strerror}.'
            ) from None


def render(hosts: Iterable[rt_cloud.Host],
           servers: Sequence[rt_cloud.Server],
           services: dict[str, tuple[str, str]],
           now: datetime.datetime) -> str:
    """Returns the page.

    :param services: state and status of nova-compute by host
    """
    projects, shares = _Numbers(), _Numbers()
    data = {'made': now.strftime('%Y-%m-%d %H:%M UTC'),
            'servers': [[each.name, _short(each.id),
                         projects.number(each.project_id),
                         shares.number((each.reservation.runtime_us,
                                        each.reservation.period_us))]
                        for each in servers],
            'projects': projects.values, 'shares': shares.values,
            'hosts': list(_hosts(hosts, servers, services))}
    # In a script "</script>" would end the script, in any string.
    text = json.dumps(data, separators=(',', ':')).replace('<', '\\u003c')
    template = resources.files('rt_client').joinpath(_TEMPLATE)
    return template.read_text(encoding='utf-8').replace('@DATA@', text)


class _Numbers:
    """Gives equal values one number, so that the page has each value once."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Returns the number of a value."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[Any]:
        """All values, in the order of their numbers."""
        return list(self._numbers)


def _short(server: str) -> str:
    """Returns a uuid as base64, which has 22 characters instead of 36."""
    return base64.b64encode(uuid.UUID(server).bytes).decode().rstrip('=')


def _hosts(hosts: Iterable[rt_cloud.Host],
           servers: Sequence[rt_cloud.Server],
           services: dict[str, tuple[str, str]]) -> Iterable[list[Any]]:
    """Yields a list of six values for each host.

    The list has the name, the cap, the trouble, the ids of the pCPUs, the
    numbers of the servers on each pCPU, and the ppm of each pCPU that belong
    to no server, by the position of the pCPU in the list.
    """
    numbers_on: dict[tuple[str, int], list[int]] = {}
    for number, server in enumerate(servers):
        for claim in server.claims:
            for cpu in claim.pcpus:
                numbers_on.setdefault((claim.provider, cpu), []).append(number)
    for host in hosts:
        wrong = '; '.join(trouble.sentences(host.published,
                                            services.get(host.name)))
        if host.published is None:
            yield [host.name, 0, wrong, [], [], {}]
            continue
        state = host.published.state
        on = [numbers_on.get((host.provider, cpu), []) for cpu in state.cpus]
        rest = [state.cap - state.free(cpu) - sum(
            servers[each].reservation.bandwidth for each in numbers)
            for cpu, numbers in zip(state.cpus, on, strict=True)]
        yield [host.name, state.cap, wrong, state.cpus, on,
               {at: ppm for at, ppm in enumerate(rest) if ppm > 0}]
