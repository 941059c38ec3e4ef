# SPDX-License-Identifier: Apache-2.0

"""Where random tests begin: at the same place in each run, unless told.

NOVA_RT_SEED is a single seed, NOVA_RT_SEQUENCES a number of new ones.
"""

import os
import random


def seeds(count: int) -> list[int]:
    """Those of *count* sequences, or of what the environment asks for."""
    one, new = (os.environ.get(name) for name in ('NOVA_RT_SEED',
                                                  'NOVA_RT_SEQUENCES'))
    if one:
        return [int(one)]
    if new:
        return random.SystemRandom().sample(range(1 << 32), int(new))
    return list(range(count))


def seed() -> int:
    """That of a test that has only one."""
    return seeds(1)[0]
