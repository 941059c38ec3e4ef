# SPDX-License-Identifier: Apache-2.0

"""Chooses pCPUs: the packing policies and the defragmentation planner.

Policies are entry points of the group ``nova_rt.packing``, so that an operator
can add a policy.
"""

import functools
import importlib.metadata

from nova_rt.rules import cpus

GROUP = 'nova_rt.packing'


@functools.lru_cache
def load(name: str) -> cpus.Policy:
    """Returns the policy of this name.

    :raises LookupError: when no policy has this name
    """
    for entry in importlib.metadata.entry_points(group=GROUP, name=name):
        policy: cpus.Policy = entry.load()
        return policy
    raise LookupError(f'no entry point of group {GROUP} has this name')
