# SPDX-License-Identifier: Apache-2.0

"""Reads the notes that a killed nova-api has left in Nova's table of quotas.

nova-api notes each resize and unshelve, and changes the note when the request
is passed on.  If the process is killed meanwhile, the note stays, and counts
against the limits of the project until the server is resized again.
"""

import datetime
from typing import Any

from oslo_utils import timeutils

from nova_rt.services.api import pending

#: No request of nova-api takes longer: the longest of its calls ends after
#: the default of [DEFAULT] long_rpc_timeout.
AGE = datetime.timedelta(minutes=30)


def left_over(context: Any) -> list[pending.Begun]:
    """Returns the notes that are older than any request of nova-api."""
    return pending.begun(context, timeutils.utcnow() - AGE)
