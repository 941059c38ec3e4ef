# SPDX-License-Identifier: Apache-2.0

"""The lock with which Nova's resource tracker makes claims."""

from nova.compute import resource_tracker
from nova import utils

synchronized = utils.synchronized(
    resource_tracker.COMPUTE_RESOURCE_SEMAPHORE, fair=True)
