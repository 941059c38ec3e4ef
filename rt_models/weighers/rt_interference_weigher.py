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
from rt_models.weighers import matrices

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class RTInterferenceWeigher(weights.BaseHostWeigher):
    """Weighs by the change of the predicted throughput of a host.

    Nova stretches weights over the hosts of a request, so that a hundredth
    would decide alone; the fixed ends keep a hundredth what it is.
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
            LOG.error('RTInterferenceWeigher weighs nothing: %s', error)

    def weight_multiplier(self, host_state: Any) -> float:
        """[nova_rt] interference_weight_multiplier or an aggregate's."""
        return float(utils.get_weight_multiplier(
            host_state, 'interference_weight_multiplier',
            CONF.nova_rt.interference_weight_multiplier))

    def weigh_objects(self, weighed_obj_list: list[Any],
                      weight_properties: Any) -> list[float]:
        """The weights; a host that does not tell gets the mean of others."""
        placed = neighbours.placed(weight_properties) if self._model else None
        if self._model is None or placed is None:
            return [0.0] * len(weighed_obj_list)
        found = self._weights(self._model, *placed, weight_properties.flavor,
                              [each.obj for each in weighed_obj_list])
        told = [each for each in found if each is not None]
        if len(told) == len(found):
            return told
        neutral = statistics.fmean(told) if told else 0.0
        return [neutral if each is None else each for each in found]

    def _weights(self, model: forecast.Model,
                 server: rt_neighbours.Server, taken: int, flavor: Any,
                 hosts: list[Any]) -> list[float | None]:
        vcpus, memory_mb = flavor.vcpus, flavor.memory_mb
        beside = list(map(rt_host_state.neighbours_of, hosts))
        mix = forecast.mix_of(beside, server)

        scores: dict[tuple[int, bool], forecast.Score] = {}
        found: list[float | None] = []
        for host, there in zip(hosts, beside, strict=True):
            if there is None:
                found.append(None)
                continue
            # Many hosts are alike, and then this is the same object.
            key = id(there), rt_host_state.has_room(host, vcpus, memory_mb)
            score = scores.get(key)
            if score is None:
                growth = model.growth(there, server)
                score = scores[key] = growth.score(growth.ahead(mix, key[1]))
            found.append(forecast.weight(score.at(
                *rt_host_state.time_left(host, taken))))
        return found

    def _weigh_object(self, host_state: Any, weight_properties: Any
                      ) -> float:
        return self.weigh_objects([weights.WeighedHost(host_state, 0.0)],
                                  weight_properties)[0]
