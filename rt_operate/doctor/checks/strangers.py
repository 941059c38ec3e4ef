# SPDX-License-Identifier: Apache-2.0

"""Guests of which nova-compute says that Nova does not have them here.

It marks them in libvirt, see ``nova_rt.services.virt.libvirt.strangers``.
"""

from collections.abc import Iterator

from nova_rt.machine.host import domains
from nova_rt.rules import labels
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_MARK = f'domain/metadata/{{{labels.UNKNOWN}}}unknown'


def guests(view: doctor_view.View) -> Iterator[findings.Finding]:
    name = 'strangers.guests'
    found = sorted(
        f'{root.findtext("domain/name", "")} '
        f'({root.findtext("domain/uuid", "")})'
        for root in domains.running(view.host)
        if root.find(_MARK) is not None)
    if found:
        yield findings.warning(
            name, f'Guests run with a CPU reservation and are not on this '
            f"host in Nova's database, by nova-compute, which offers no more "
            f'what they hold: {findings.some(found)}.',
            'See "Backup and restore" in the administrator guide: bring '
            'their servers back, or end them with virsh destroy; leave those '
            'of another cloud. The log of nova-compute says which of them '
            'the database has on another host.')
    else:
        yield findings.ok(
            name, 'nova-compute has marked no guest with a reservation as '
            "one that Nova's database does not have here.")


CHECKS: dict[str, doctor_view.Check] = {'strangers.guests': guests}
