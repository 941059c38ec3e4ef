# SPDX-License-Identifier: Apache-2.0

"""Checks for guests without the reservation that they should have.

nova-compute marks these guests in libvirt (``services.virt.libvirt.marks``).
"""

from collections.abc import Iterator

from nova_rt.machine.host import domains
from nova_rt.rules import labels
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID = 'audit.unserved'
_MARK = f'domain/metadata/{{{labels.UNSERVED}}}unserved'


def guests(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Yields one finding that names the marked guests."""
    marked = sorted(
        f'{root.findtext("domain/name", "")} '
        f'({root.findtext("domain/uuid", "")})'
        for root in domains.running(view.host)
        if root.find(_MARK) is not None)
    if marked:
        yield findings.problem(
            _ID, f'Guests run without the CPU reservation of their server, '
            f'which the last audit of nova-compute could not give them: '
            f'{findings.first_few(marked)}.',
            'Read the reason in the log of nova-compute ("Cannot correct the '
            'CPU reservations in the kernel"), which tries again in each '
            'audit.')
    else:
        yield findings.ok(
            _ID, 'nova-compute reports no guest that runs without the '
            'reservation of its server.')


CHECKS: dict[str, doctor_view.Check] = {_ID: guests}
