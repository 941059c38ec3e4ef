# SPDX-License-Identifier: Apache-2.0

"""Checks for guests that Nova does not have on this host.

nova-compute marks these guests in libvirt, see
``nova_rt.services.virt.libvirt.strangers``.
"""

from collections.abc import Iterator

from nova_rt.machine.host import domains
from nova_rt.rules import labels
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_MARK = f'domain/metadata/{{{labels.UNKNOWN}}}unknown'


def guests(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks for guests with the mark of a stranger."""
    name = 'strangers.guests'
    marked = sorted(
        f'{root.findtext("domain/name", "")} '
        f'({root.findtext("domain/uuid", "")})'
        for root in domains.running(view.host)
        if root.find(_MARK) is not None)
    if marked:
        yield findings.warning(
            name, f'nova-compute says that these guests run with a CPU '
            f"reservation, but are not on this host in Nova's database; this "
            f'host does not offer the bandwidth that they hold: '
            f'{findings.first_few(marked)}.',
            'See "Backup and restore" in the administrator guide: restore the '
            'servers of these guests, or end the guests with virsh destroy; '
            'do not touch guests of another cloud. The log of nova-compute '
            'names the guests whose server is on another host according to '
            'the database.')
    else:
        yield findings.ok(
            name, 'nova-compute reports no guest with a reservation that '
            "Nova's database lacks on this host.")


CHECKS: dict[str, doctor_view.Check] = {'strangers.guests': guests}
