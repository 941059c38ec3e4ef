# SPDX-License-Identifier: Apache-2.0

"""Makes passes of nova-scheduler into jobs: HostStates, filters, weighers."""

from collections.abc import Callable, Sequence
import logging
from typing import Any

from nova import config
from nova import objects
from nova.scheduler.filters import compute_capabilities_filter
from nova.scheduler.filters import compute_filter
from nova.scheduler.filters import image_props_filter
from nova.scheduler import host_manager
from nova.scheduler import weights
from nova.scheduler.weights import cpu as cpu_weigher
from nova.scheduler.weights import disk
from nova.scheduler.weights import ram

import hosts
from nova_rt.services.scheduler import host_state as rt_host_state
import rounds


def set_up() -> None:
    """Prepares Nova's objects."""
    logging.disable(logging.CRITICAL)
    config.parse_args(['benchmark'], default_config_files=[],
                      configure_db=False, init_rpc=False)
    objects.register_all()


def job(nodes: Callable[[], list[Any]], request: Callable[[], Any],
        ours: bool, filters: Sequence[Any] = (), weighers: Sequence[Any] = ()
        ) -> rounds.Job:
    """Returns a job with the work of the scheduler for one request.

    :param nodes: returns the compute nodes for each pass
    :param ours: with our HostState, and the filters and weighers given
    """
    state = rt_host_state.RTHostState if ours else host_manager.HostState
    chain = [compute_filter.ComputeFilter(),
             compute_capabilities_filter.ComputeCapabilitiesFilter(),
             image_props_filter.ImagePropertiesFilter()]
    ranking = [cpu_weigher.CPUWeigher(), ram.RAMWeigher(), disk.DiskWeigher()]
    if ours:
        chain += filters
        ranking += weighers
    handler = weights.HostWeightHandler()

    def run(fresh: list[Any]) -> int:
        spec = request()
        states = [hosts.host_state(state, node) for node in fresh]
        for filter_ in chain:
            states = list(filter_.filter_all(states, spec))
        ranked = handler.get_weighed_objects(ranking, states, spec)
        ranked[0].obj.consume_from_request(spec)
        return len(ranked)
    return rounds.Job(nodes, run)
