# SPDX-License-Identifier: Apache-2.0

"""Passes the hosts on whose pCPUs the reservation of a server fits."""

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
from nova_rt.rules import reservation
from nova_rt.services import conf as rt_conf
from nova_rt.services.scheduler import host_state as rt_host_state
from nova_rt.services.scheduler import request
from nova_rt.services.scheduler import request_filter
from nova_rt.services import selfcheck

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)


class RTShareFilter(filters.BaseHostFilter):
    """The per-pCPU fit, on what each host last published.

    The paper's filter (section 5) compares sums; it passes hosts where no
    pCPU has room.  This one calls the fit function of the claim.
    """

    # The server keeps its claim when it is rebuilt where it is.
    RUN_ON_REBUILD = False

    def __init__(self) -> None:
        super().__init__()
        selfcheck.verify(selfcheck.TESTED_BY_SCHEDULER)
        rt_conf.register_opts(CONF)
        rt_host_state.install()
        request_filter.install()

    def filter_all(self, filter_obj_list: Iterable[Any], spec_obj: Any
                   ) -> Iterable[Any]:
        """The hosts that pass, as BaseFilter.filter_all.

        The request is read once for all hosts.
        """
        if not request.asks(spec_obj) or _is_rebuild(spec_obj):
            return filter_obj_list
        try:
            wanted = request.reservation_of(spec_obj)
        except exception.InvalidReservation as error:
            LOG.info('CPU reservation refused: %s', error)
            return []
        if wanted is None:
            return filter_obj_list
        return self._fitting(list(filter_obj_list), spec_obj, wanted)

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        """One host; Nova calls filter_all."""
        return bool(list(self.filter_all([host_state], spec_obj)))

    def _fitting(self, hosts: list[Any], spec: Any,
                 wanted: reservation.Reservation) -> Iterator[Any]:
        vcpus = spec.flavor.vcpus
        passed = 0
        for host in hosts:
            known = rt_host_state.map_of(host)
            if known is not None and cpus.fits(
                    known.state, vcpus, wanted):
                passed += 1
                yield host
        if hosts and not passed:
            self._refuse(hosts, spec, wanted)

    def _refuse(self, hosts: list[Any], spec: Any,
                wanted: reservation.Reservation) -> None:
        """Say why: to the operator all of it, to the user what he asked for.

        :raises NoValidHost: with a reason that shows in the fault of the
            server, so it tells nothing of hosts and of what is free
        """
        vcpus = spec.flavor.vcpus
        said = f'{wanted} does not fit on {vcpus} pCPU(s)'
        LOG.info('CPU reservation refused: %s of any host: %s', said,
                 _found(hosts, vcpus, wanted))
        if spec.num_instances == 1:
            # In a multi-create Nova has claims to clean up first.
            raise nova_exception.NoValidHost(
                reason=f'{said} of any host; choose a flavor with a smaller '
                f'share (runtime / period) or fewer vCPUs')


def _is_rebuild(spec: Any) -> bool:
    # Nova's own question fails where no hint was ever set.
    return bool(request.hints(spec)) and utils.request_is_rebuild(spec)


def _found(hosts: list[Any], vcpus: int, wanted: reservation.Reservation
           ) -> str:
    lines = []
    for host in hosts[:10]:
        known = rt_host_state.map_of(host)
        lines.append(
            f'{host.host} has {_free(known.state)}'
            f'{_late(known.state, vcpus, wanted)}' if known else
            f'{host.host} publishes no map of version {hostmap.VERSION}')
    if len(hosts) > len(lines):
        lines.append(f'{len(hosts) - len(lines)} more hosts')
    return '; '.join(lines)


def _free(state: cpus.CpuBandwidth) -> str:
    if not state.cpus:
        return 'no pCPU for reservations'
    best = max(map(state.free, state.cpus))
    return (f'{len(state.cpus)} pCPUs, the emptiest with '
            f'{reservation.decimal(max(0, best))} free')


def _late(state: cpus.CpuBandwidth, vcpus: int,
          wanted: reservation.Reservation) -> str:
    return f', but {cpus.LATE}' if cpus.is_late(state, vcpus, wanted) else ''
