# SPDX-License-Identifier: Apache-2.0

"""A stand-in for the flavor commands of the openstack client.

usage: client.py STATE NOVA_CONF create|set|show|delete|list ARGUMENT...

STATE is a file with the properties of each flavor.  The stand-in refuses by
the same code what nova-api refuses.  test_client.py compares the stand-in with
the real client.
"""

import json
import pathlib
import sys

from oslo_config import cfg

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services import conf as rt_conf

REFUSED = 'Failed to set flavor properties: BadRequestException: 400: '
#: Options that are followed by a value that does not matter here.
OPTIONS = ('--os-region-name', '--vcpus', '--ram', '--disk', '-f', '-c')


class Flavors:
    """The flavors of a cloud, by name."""

    def __init__(self, state: pathlib.Path, limits: reservation.Limits
                 ) -> None:
        self.state, self.limits = state, limits
        self.all = json.loads(state.read_text()) if state.exists() else {}

    def save(self) -> None:
        self.state.write_text(json.dumps(self.all))

    def add(self, name: str, properties: dict[str, str]) -> None:
        """:raises InvalidReservation: nova-api refuses all of them"""
        found = self.all[name] | properties
        if len(reservation.flavor_values(found)) == len(reservation.KEYS):
            reservation.from_flavor_and_hints(found, None, self.limits)
        self.all[name] = found

    def create(self, name: str, properties: dict[str, str]) -> int:
        self.all[name] = {}
        try:
            self.add(name, properties)
        except exception.InvalidReservation as error:
            # The flavor stays, and the exit status does not show the error.
            print(f'{REFUSED}{error}', file=sys.stderr)
        return 0

    def set(self, name: str, properties: dict[str, str]) -> int:
        try:
            self.add(name, properties)
        except exception.InvalidReservation as error:
            print(f'{REFUSED}{error}', file=sys.stderr)
            print('Command Failed: One or more of the operations failed',
                  file=sys.stderr)
            return 1
        return 0

    def show(self, name: str, properties: dict[str, str]) -> int:
        print(json.dumps({'properties': self.all[name]}, indent=2))
        return 0

    def delete(self, name: str, properties: dict[str, str]) -> int:
        del self.all[name]
        return 0

    def list(self, name: str, properties: dict[str, str]) -> int:
        print('\n'.join(self.all))
        return 0


def limits(nova_conf: str) -> reservation.Limits:
    conf = cfg.ConfigOpts()
    rt_conf.register_opts(conf)
    conf([], default_config_files=[nova_conf], default_config_dirs=[])
    return rt_conf.limits(conf)


def arguments(words: list[str]) -> tuple[str, dict[str, str]]:
    """The name and the properties."""
    name, properties = '', {}
    rest = iter(words)
    for word in rest:
        if word == '--property':
            key, _, value = next(rest).partition('=')
            properties[key] = value
        elif word in OPTIONS:
            next(rest)
        elif not word.startswith('-'):
            name = word
    return name, properties


def main(state: str, nova_conf: str, command: str, *words: str) -> int:
    flavors = Flavors(pathlib.Path(state), limits(nova_conf))
    status = getattr(flavors, command)(*arguments(list(words)))
    flavors.save()
    return status


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
