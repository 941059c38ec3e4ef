# SPDX-License-Identifier: Apache-2.0

"""The metrics of nova-compute, from the report that nova-compute writes."""

from collections.abc import Callable, Iterator
import pathlib

from nova_rt.rules import report
from rt_monitor import exposition

#: Where nova-compute writes the report unless it is told otherwise.
DEFAULT = '/var/lib/nova/nova-rt.json'
_PPM = 1_000_000
_NAME = 'nova_rt_compute_'
_MOST = 65_536

#: (name, kind, help, a function that returns the number)
_NUMBERS: tuple[tuple[str, str, str, Callable[[report.Report], float]],
                ...] = (
    ('offered_share', 'gauge', 'pCPUs that all reservations together may '
     'have; 0 if the host takes none.', lambda host: host.offered / _PPM),
    ('claimed_share', 'gauge', 'pCPUs that servers have claimed.',
     lambda host: host.claimed / _PPM),
    ('strangers_share', 'gauge', 'pCPUs that are held by guests that Nova '
     'does not have on this host.', lambda host: host.strangers / _PPM),
    ('servers', 'gauge', 'Servers with a claim.',
     lambda host: host.servers),
    ('strangers', 'gauge', 'Guests with a budget that Nova does not have on '
     'this host.', lambda host: host.stranger_guests),
    ('unserved_servers', 'gauge', 'Servers that run without their '
     'reservation.', lambda host: host.unserved),
    ('findings', 'gauge', 'Differences between claims, Placement and guests '
     'that the last audit found.', lambda host: host.findings),
    ('corrected_total', 'counter', 'Budgets in the kernel that audits '
     'corrected.', lambda host: host.corrected),
    ('missed_total', 'counter', 'Servers that did not start, because the '
     'kernel did not hold their reservation.', lambda host: host.missed),
    ('report_timestamp_seconds', 'gauge', 'When nova-compute wrote the '
     'report, in seconds since the epoch.', lambda host: host.at),
)


def families(path: str) -> Iterator[exposition.Family]:
    """Yields the metrics of nova-compute; without a report, only one metric.

    :param path: the file of the report; '' for no metrics
    """
    if not path:
        return
    source = exposition.Family(
        f'{_NAME}report', 'gauge', 'Always 1; the labels say whether the '
        'report of nova-compute can be read, and why not.')
    try:
        with pathlib.Path(path).open() as opened:
            host_report = report.load(opened.read(_MOST))
    except (OSError, ValueError) as error:
        source.add(1, {'state': 'off', 'reason': exposition.clean(
            getattr(error, 'strerror', None) or str(error))})
        yield source
        return
    source.add(1, {'state': 'on', 'reason': ''})
    yield source
    yield from _report_families(host_report)


def _report_families(host_report: report.Report
                     ) -> Iterator[exposition.Family]:
    info = exposition.Family(
        f'{_NAME}info', 'gauge', 'Always 1; the labels have the version, the '
        'kernel interface, and why the host offers nothing.')
    info.add(1, {'version': exposition.clean(host_report.version),
                 'interface': exposition.clean(host_report.interface),
                 'reason': exposition.clean(host_report.reason)})
    yield info
    for name, kind, about, number in _NUMBERS:
        family = exposition.Family(f'{_NAME}{name}', kind, about)
        family.add(number(host_report), {})
        yield family
    refused = exposition.Family(
        f'{_NAME}refused_total', 'counter', 'Claims that nova-compute '
        'refused, by reason.')
    for reason in report.REASONS:
        refused.add(host_report.refused.get(reason, 0), {'reason': reason})
    yield refused
