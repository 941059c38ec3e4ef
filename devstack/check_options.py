# SPDX-License-Identifier: Apache-2.0

"""Checks options of [nova_rt], and prints a sentence for each wrong one.

usage: check_options.py OPTION=VALUE... [flavors=FLAVOR]...

A FLAVOR is one word of NOVA_RT_FLAVORS.  lib/nova-rt runs this script early in
stack.sh, because a service would fail on a wrong option minutes later.  Exit
status: 0 all options are valid, 1 some are not.
"""

from collections.abc import Iterator
from importlib import metadata
import sys

from oslo_config import cfg

from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import detect
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services import conf as rt_conf
from rt_models.interference import document
from rt_operate.doctor.checks import config as doctor_config

PACKING = 'nova_rt.packing'
OPTIONS = {option.name: option for option in rt_conf.ALL_OPTS}


FLAVORS = 'flavors'


def main(arguments: list[str]) -> int:
    """Checks the arguments, and returns the exit status."""
    given = [argument.split('=', 1) for argument in arguments]
    options = [(name, value) for name, value in given if name != FLAVORS]
    wrong = [text for name, value in options for text in check(name, value)]
    if not wrong:
        rules = limits(dict(options))
        wrong = [text for name, value in given if name == FLAVORS
                 for text in check_flavor(value, rules)]
    for text in wrong:
        print(text, file=sys.stderr)
    return int(bool(wrong))


def check(name: str, value: str) -> Iterator[str]:
    """Yields a sentence for each rule that the value of an option breaks."""
    setting = f'NOVA_RT_{name.upper()}={value}'
    try:
        OPTIONS[name].type(value)
        if name in ('rt_cpus', 'emulator_cpus'):
            doctor_config.parse(value)
        if name.startswith('interference_matrix'):
            document.load(value)
    except (ValueError, exception.InvalidMatrix) as error:
        yield f'{setting}: {error}'
    choices = names(name)
    if choices and value not in choices:
        yield (f'{setting}: it is not a known name; use one of '
               f'{", ".join(sorted(choices))}')


def limits(options: dict[str, str]) -> reservation.Limits:
    """Returns the rules of a cloud with these options, which are valid."""
    conf = cfg.ConfigOpts()
    rt_conf.register_opts(conf)
    for name, value in options.items():
        conf.set_override(name, OPTIONS[name].type(value), rt_conf.GROUP)
    conf([], default_config_files=[], default_config_dirs=[])
    return rt_conf.limits(conf)


def check_flavor(flavor: str, rules: reservation.Limits) -> Iterator[str]:
    """Yields the sentence with which nova-api would refuse a reservation.

    :param flavor: NAME:VCPUS:RAM_MIB:DISK_GIB:RUNTIME_US:PERIOD_US
    """
    *_, runtime, period = flavor.split(':')
    prefix = reservation.FLAVOR_PREFIX
    try:
        reservation.from_flavor_and_hints(
            {prefix + reservation.RUNTIME_KEY: runtime,
             prefix + reservation.PERIOD_KEY: period}, None, rules)
    except exception.InvalidReservation as error:
        yield f'NOVA_RT_FLAVORS={flavor}: {error}'


def names(option: str) -> set[str]:
    """Returns the names that an option accepts, also from other packages.

    An empty set means that the type of the option alone decides.
    """
    if option == 'packing_policy':
        return set(metadata.entry_points(group=PACKING).names)
    if option == 'kernel_interface':
        return {*metadata.entry_points(group=detect.GROUP).names,
                deadline.NAME}
    return set()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
