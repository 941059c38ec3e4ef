# SPDX-License-Identifier: Apache-2.0

"""Reads the notes that a killed nova-api has left in Nova's table of quotas.

nova-api notes each resize and unshelve, and changes the note when the request
is passed on.  If the process is killed meanwhile, the note stays until the
next request of the project finds that the note is old and that the server is
not being resized or unshelved.
"""

from typing import Any

from oslo_utils import timeutils

from nova_rt.services.api import pending


def left_over(context: Any) -> list[pending.Begun]:
    """Returns the notes that are older than any request of nova-api."""
    return pending.begun(context, timeutils.utcnow() - pending.AGE)
