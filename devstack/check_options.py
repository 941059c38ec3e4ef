# SPDX-License-Identifier: Apache-2.0

"""Would nova-rt take these options?  One sentence for each that it would not.

usage: check_options.py OPTION=VALUE...

For lib/nova-rt: a service would fail on them minutes later.  Exit status: 0
all are good, 1 some are not.
"""

from collections.abc import Iterator
from importlib import metadata
import sys

from nova_rt import conf as rt_conf
from nova_rt.doctor.checks import config as doctor_config
from nova_rt import exception
from nova_rt.interference import document
from nova_rt.kernel import deadline
from nova_rt.kernel import detect

PACKING = 'nova_rt.packing'
OPTIONS = {option.name: option for option in rt_conf.ALL_OPTS}


def main(arguments: list[str]) -> int:
    wrong = [text for argument in arguments
             for text in check(*argument.split('=', 1))]
    for text in wrong:
        print(text, file=sys.stderr)
    return int(bool(wrong))


def check(name: str, value: str) -> Iterator[str]:
    setting = f'NOVA_RT_{name.upper()}={value}'
    try:
        OPTIONS[name].type(value)
        if name == 'rt_cpus':
            doctor_config.parse(value)
        if name.startswith('interference_matrix'):
            document.load(value)
    except (ValueError, exception.InvalidMatrix) as error:
        yield f'{setting}: {error}'
    known = names(name)
    if known and value not in known:
        yield f'{setting}: there is {", ".join(sorted(known))}'


def names(option: str) -> set[str]:
    """Those an option takes that other packages may add to; none for any."""
    if option == 'packing_policy':
        return set(metadata.entry_points(group=PACKING).names)
    if option == 'kernel_interface':
        return {*metadata.entry_points(group=detect.GROUP).names,
                deadline.NAME}
    return set()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
