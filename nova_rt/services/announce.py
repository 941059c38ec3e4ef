# SPDX-License-Identifier: Apache-2.0

"""Logs the version of nova-rt, once in each service of Nova."""

import functools

from oslo_log import log as logging

from nova_rt import version

LOG = logging.getLogger(__name__)


@functools.cache
def log_version(part: str) -> None:
    """Logs the version and the name of a part, once in a process."""
    LOG.info('nova-rt %s: %s', version.get(), part)
