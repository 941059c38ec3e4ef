# SPDX-License-Identifier: Apache-2.0

"""The calls that are made to both kernels, by interface.

The values are small, so that the host keeps running with them.
"""

import os
import random
from typing import Any

GROUPS = ('/a', '/a/b', '/a/b/c', '/d', '/d/e')
#: The groups with groups below them.
INNER = ('', '/a', '/a/b', '/d')

RUNTIME, PERIOD = 'cpu.rt_runtime_us', 'cpu.rt_period_us'
MULTI, MAX = 'cpu.rt_multi_runtime_us', 'cpu.rt.max'

#: The files that are written and compared.
FILES = {
    'rt_group_sched': (RUNTIME, PERIOD), 'hcbs': (RUNTIME, PERIOD),
    'hcbs_multi': (RUNTIME, PERIOD, MULTI), 'hcbs_rfc': (RUNTIME, PERIOD),
    'hcbs_rfc_multi': (RUNTIME, PERIOD), 'rt_max': (MAX,),
    'rt_max_cpuset': (MAX,),
}
_TWO = ((PERIOD, '1000000'), (RUNTIME, '2000'))
#: The first budget of the group above all of these groups.
ROOM: dict[str, tuple[tuple[str, str], ...]] = {
    name: _TWO if MAX not in files else ((MAX, '2000 1000000'),)
    for name, files in FILES.items()}

_RUNTIMES = (0, 1, 2, 5, 10, 50, 100, 250, 500, 999, 1_000, 1_001, 1_500,
             1_999, 2_000, 2_001, 2_002, 4_000, 950_001, 1_000_000)
_PERIODS = (0, 99, 100, 500, 1_000, 2_000, 10_000, 99_991, 100_000, 250_000,
            1_000_000, 2_000_000, 4_194_304)
_TEXTS = ('0x10', '010', '08', '0', '+5', '--5', ' 5', '5 ', '5 5', 'abc',
          '', '-2', '1.5', '1e3', '5,', '9223372036854775808',
          '-9223372036854775809', '18446744073709551616', 'max', 'max 0')
_POLICIES = ((os.SCHED_OTHER, 0), (os.SCHED_RR, 1), (os.SCHED_FIFO, 1),
             (os.SCHED_BATCH, 0), (os.SCHED_RR, 0), (os.SCHED_OTHER, 1),
             (os.SCHED_FIFO, 100))


def one(pair: Any, chosen: random.Random) -> None:
    """Makes a random call to both kernels of *pair*.

    :raises Disagreement: they differ
    """
    group = chosen.choice(GROUPS)
    thread = chosen.choice(list(pair.children))
    kind = chosen.choices(
        ('number', 'text', 'mkdir', 'rmdir', 'move', 'policy', 'restart'),
        (48, 8, 10, 4, 14, 14, 1))[0]
    if kind == 'number':
        pair.write(*_number(pair.name, chosen), group)
    elif kind == 'text':
        pair.write(chosen.choice(FILES[pair.name]), chosen.choice(_TEXTS),
                   group)
    elif kind == 'mkdir':
        pair.mkdir(group)
    elif kind == 'rmdir':
        pair.rmdir(group)
    elif kind == 'move':
        pair.move(thread, group)
    elif kind == 'policy':
        pair.policy(thread, *chosen.choice(_POLICIES))
    else:
        pair.end(thread)
        pair.start()


def _number(interface: str, chosen: random.Random) -> tuple[str, str]:
    name = chosen.choice(FILES[interface])
    runtime, period = chosen.choice(_RUNTIMES), chosen.choice(_PERIODS)
    if name == MAX:
        first = chosen.choice((str(runtime), str(runtime), 'max'))
        return name, f'{first} {period}'
    return name, str(period if name == PERIOD else runtime)
