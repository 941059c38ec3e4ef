# SPDX-License-Identifier: Apache-2.0

"""Places network functions beside those that they disturb least."""

import statistics
from typing import Any

import nova.conf
from nova.scheduler import utils
from nova.scheduler import weights
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import neighbours as rt_neighbours
from nova_rt.services import conf as rt_conf
from nova_rt.services.scheduler import host_state as rt_host_state
from nova_rt.services.scheduler import neighbours
from rt_models.interference import forecast
from rt_weighers import matrices

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class RTInterferenceWeigher(weights.BaseHostWeigher):
    """Weighs hosts by the predicted change of their throughput.

    Without *minval* and *maxval*, Nova scales the weights of the hosts of a
    request to the range from 0 to 1, so that a difference of 0.01 could count
    as much as a difference of 1. With both values fixed, a difference of 0.01
    stays 0.01.
    """

    minval = 0
    maxval = 1

    def __init__(self) -> None:
        super().__init__()
        rt_conf.register_opts(CONF)
        rt_host_state.install()
        self._model: forecast.Model | None = None
        try:
            self._model = matrices.model(CONF)
        except exception.RTError as error:
            LOG.error('RTInterferenceWeigher does not weigh hosts: %s', error)
            return
        if not CONF.nova_rt.interference_matrix_reserved:
            LOG.info('RTInterferenceWeigher places servers with a reservation '
                     'as if they did not disturb each other, because '
                     '[nova_rt] interference_matrix_reserved is not set.  No '
                     'matrix covers the throughput that servers lose at a '
                     'network device.')

    def weight_multiplier(self, host_state: Any) -> float:
        """Returns interference_weight_multiplier.

        The multiplier of an aggregate overrides the multiplier in [nova_rt].
        """
        return float(utils.get_weight_multiplier(
            host_state, 'interference_weight_multiplier',
            CONF.nova_rt.interference_weight_multiplier))

    def weigh_objects(self, weighed_obj_list: list[Any],
                      weight_properties: Any) -> list[float]:
        """Returns a weight for each host.

        A host that does not publish its neighbours gets the mean weight of
        the others.
        """
        placed = neighbours.placed(weight_properties) if self._model else None
        if self._model is None or placed is None:
            return [0.0] * len(weighed_obj_list)
        by_host = self._weights(
            self._model, *placed, weight_properties.flavor,
            [host.obj for host in weighed_obj_list])
        known = [weight for weight in by_host if weight is not None]
        if len(known) == len(by_host):
            return known
        neutral = statistics.fmean(known) if known else 0.0
        return [neutral if weight is None else weight for weight in by_host]

    def _weights(self, model: forecast.Model,
                 server: rt_neighbours.Typed, taken: int, flavor: Any,
                 hosts: list[Any]) -> list[float | None]:
        vcpus, memory_mb = flavor.vcpus, flavor.memory_mb
        beside = list(map(rt_host_state.neighbours_of, hosts))
        mix = forecast.mix_of(beside, server)

        scores: dict[tuple[int, bool], forecast.Score] = {}
        by_host: list[float | None] = []
        for host, running in zip(hosts, beside, strict=True):
            if running is None:
                by_host.append(None)
                continue
            # Hosts with equal neighbours share one object.
            key = id(running), rt_host_state.has_room(host, vcpus, memory_mb)
            score = scores.get(key)
            if score is None:
                growth = model.growth(running, server)
                score = scores[key] = growth.score(growth.ahead(mix, key[1]))
            by_host.append(forecast.weight(score.at(
                *rt_host_state.time_left(host, taken))))
        return by_host

    def _weigh_object(self, host_state: Any, weight_properties: Any
                      ) -> float:
        return self.weigh_objects([weights.WeighedHost(host_state, 0.0)],
                                  weight_properties)[0]
