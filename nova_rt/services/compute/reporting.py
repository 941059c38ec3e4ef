# SPDX-License-Identifier: Apache-2.0

"""Reports the reservations of this host to nova-rt-monitor."""

import contextlib
import os
import time

from oslo_log import log as logging

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import report

LOG = logging.getLogger(__name__)


def make(published: hostmap.HostMap, claimed: int, servers: int,
         findings: int, tally: report.Tally) -> report.Report:
    """Returns the report of a host.

    :param published: what the host publishes now
    :param claimed: the ppm that servers have claimed
    :param servers: how many servers have a claim
    :param findings: how many differences the last audit reported
    """
    state = published.state
    return report.Report(
        time.time(), published.release, published.interface, published.reason,
        0 if published.reason else state.cap if state.replicated
        else state.total, claimed, max(0, taken(state) - claimed), servers,
        len(published.strangers), tally.unserved, findings,
        dict(tally.refused), tally.corrected, tally.missed)


def taken(state: cpus.CpuBandwidth) -> int:
    """Returns the ppm that claims take; on a replicated host, of each pCPU."""
    return state.charged if state.replicated else state.total_used


def write(host_report: report.Report, path: str) -> None:
    """Replaces the file of the report; a failure is only logged."""
    new = f'{path}.new'
    try:
        with open(new, 'w') as target:
            target.write(report.dump(host_report))
        os.chmod(new, 0o644)
        os.replace(new, path)
    except OSError as error:
        LOG.warning('nova-rt-monitor has no metrics of nova-compute: %s; set '
                    '[nova_rt] report_file to a file that nova-compute can '
                    'write, or to nothing.', str(error))
        with contextlib.suppress(OSError):
            os.unlink(new)
