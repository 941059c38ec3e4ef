# SPDX-License-Identifier: Apache-2.0

"""Turns the notes that a killed nova-api has left into differences."""

from nova_rt.rules import hostmap
from nova_rt.services.api import pending
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot


def difference(note: pending.Begun) -> snapshot.Difference:
    """Returns a note as a difference."""
    parts = ' and '.join(f'{note.amounts[name]} of {name}'
                         for name in hostmap.CLASSES)
    return snapshot.Difference(
        'quota.note', '', note.uuid,
        f'{parts} count against the limits of project {note.project_id}, for '
        f'a resize or unshelve that nova-api began at '
        f'{note.since.isoformat(" ", "seconds")} UTC and never passed on',
        'no such note', remedies.HEAL,
        snapshot.Removal(note.number, note.since, note.uuid))
