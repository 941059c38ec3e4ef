# SPDX-License-Identifier: Apache-2.0

"""Passes hosts that have room for a reservation on their pCPUs."""

from collections.abc import Iterable, Iterator
from typing import Any

import nova.conf
from nova import exception as nova_exception
from nova.scheduler import filters
from nova.scheduler import utils
from oslo_log import log as logging

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules.packing import planner
from nova_rt.rules import report
from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services import announce
from nova_rt.services.compute import numa
from nova_rt.services.compute import vcpus
from nova_rt.services import conf as rt_conf
from nova_rt.services import events
from nova_rt.services import meditation
from nova_rt.services.scheduler import candidates
from nova_rt.services.scheduler import host_state as rt_host_state
from nova_rt.services.scheduler import inplace
from nova_rt.services.scheduler import numa as numa_request
from nova_rt.services.scheduler import readers
from nova_rt.services.scheduler import refusal
from nova_rt.services.scheduler import request
from nova_rt.services.scheduler import request_filter
from nova_rt.services import selfcheck

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class RTShareFilter(filters.BaseHostFilter, filters.CandidateFilterMixin):
    """Fits a reservation on the pCPUs that each host has published.

    The paper's filter (section 5) compares sums, so that it passes hosts
    where no pCPU has room.  RTShareFilter calls the fit function of the
    claim.
    """

    # A server that is rebuilt on its host keeps its claim.
    RUN_ON_REBUILD = False

    def __init__(self) -> None:
        super().__init__()
        selfcheck.verify(selfcheck.TESTED_BY_SCHEDULER)
        rt_conf.register_opts(CONF)
        rt_host_state.install()
        request_filter.install()
        candidates.install()
        announce.log_version('RTShareFilter of nova-scheduler')
        meditation.register('nova-scheduler')

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any
                   ) -> Iterable[Any]:
        """Returns the hosts that pass; reads the request once for all."""
        hosts = readers.able(filter_obj_list, spec_obj)
        if not request.asks(spec_obj) or _is_rebuild(spec_obj):
            return hosts
        try:
            wanted = request.reservation_of(spec_obj)
            split = request.split(spec_obj) if wanted else None
        except exception.InvalidReservation as error:
            LOG.info('CPU reservation refused: %s', error)
            events.refused(events.SCHEDULER, report.REQUEST, str(error),
                           spec_obj.instance_uuid)
            return []
        if wanted is None or split is None:
            return hosts
        hosts = list(hosts)
        return inplace.here(hosts, spec_obj, wanted) or self._fitting(
            inplace.without_excluded(hosts, spec_obj), spec_obj, wanted, split)

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        """Checks one host; Nova calls filter_all instead."""
        return bool(list(self.filter_all([host_state], spec_obj)))

    def _fitting(self, hosts: list[Any], spec: Any,
                 wanted: reservation.Reservation, split: vcpus.Split
                 ) -> Iterator[Any]:
        topology, passed = request.topology_of(spec), 0
        for host in hosts:
            host_map = rt_host_state.map_of(host)
            if host_map is not None and split.needs <= host_map.takes and (
                    cpus.fits(host_map.state, split.reserved, wanted)) and (
                    topology is None or self._fits_in_cells(
                        host, spec, numa.Wish(
                            host_map.state, wanted, split.unreserved))):
                passed += 1
                yield host
        if not passed and topology is None:
            for host in _making_room(hosts, wanted, split):
                passed += 1
                yield host
        if hosts and not passed:
            self._refuse(hosts, spec, wanted, split)

    def _fits_in_cells(self, host: Any, spec: Any, wish: numa.Wish) -> bool:
        """Fits a reservation in the NUMA cells that Nova accepts.

        The method asks Nova only if a cell lacks room, or if
        NUMATopologyFilter has not checked the host.
        """
        if 'numa_topology' in host.limits and wish.fits_everywhere(
                host.numa_topology, spec.numa_topology):
            return True
        return bool(self.filter_candidates(
            host, lambda candidate: numa.choose(
                numa_request.host_question(host, spec, candidate['mappings']),
                wish)))

    def _refuse(self, hosts: list[Any], spec: Any,
                wanted: reservation.Reservation, split: vcpus.Split
                ) -> None:
        """Logs for the operator why no host passes, and refuses the request.

        :raises NoValidHost: when the request is for one server; the reason
            shows in the fault of the server, and therefore names neither hosts
            nor free amounts
        """
        detail = (
            f'{refusal.does_not_fit(wanted, split.reserved)}'
            f'{numa.IN_CELLS if hostmap.NUMA in split.needs else ""}: '
            f'{_room_by_host(hosts, wanted, split)}')
        LOG.info('CPU reservation refused: %s', detail)
        events.refused(events.SCHEDULER, report.NO_ROOM, detail,
                       spec.instance_uuid)
        if spec.num_instances == 1:
            # With several servers Nova has to clean up claims of the others
            # first, which an exception would prevent.
            raise nova_exception.NoValidHost(
                reason=refusal.reason(spec, wanted, split.reserved))


def _making_room(hosts: Iterable[Any], wanted: reservation.Reservation,
                 split: vcpus.Split) -> Iterator[Any]:
    """Yields the hosts that may make room by moves of vCPUs."""
    needs = split.needs | {hostmap.MOVES}
    for host in hosts:
        host_map = rt_host_state.map_of(host)
        if (host_map is not None and needs <= host_map.takes
                and planner.sum_admits(host_map.state, split.reserved,
                                       wanted)):
            yield host


def _is_rebuild(spec: Any) -> bool:
    # request_is_rebuild fails for a RequestSpec without scheduler_hints.
    return bool(request.hints(spec)) and utils.request_is_rebuild(spec)


def _room_by_host(hosts: list[Any], wanted: reservation.Reservation,
                  split: vcpus.Split) -> str:
    lines = [f'{host.host} {_room(rt_host_state.map_of(host), wanted, split)}'
             for host in hosts[:10]]
    if len(hosts) > len(lines):
        lines.append(words.count(len(hosts) - len(lines), 'more host'))
    return '; '.join(lines)


def _room(host_map: hostmap.HostMap | None, wanted: reservation.Reservation,
          split: vcpus.Split) -> str:
    if host_map is None:
        return f'publishes no map of version {hostmap.VERSION}'
    lacking = split.needs - host_map.takes
    if lacking:
        return (f'does not take {", ".join(sorted(lacking))} (an older '
                f'nova-rt, or a kernel that cannot do that)')
    return (f'has {_free(host_map.state)}'
            f'{_late(host_map.state, split.reserved, wanted)}')


def _free(state: cpus.CpuBandwidth) -> str:
    if not state.cpus:
        return 'no pCPU for reservations'
    best = max(map(state.free, state.cpus))
    return (f'{words.count(len(state.cpus), "pCPU")}, the emptiest with '
            f'{reservation.decimal(max(0, best))} free')


def _late(state: cpus.CpuBandwidth, count: int,
          wanted: reservation.Reservation) -> str:
    return f', but {cpus.LATE}' if cpus.is_late(state, count, wanted) else ''
