# SPDX-License-Identifier: Apache-2.0

"""What each service of Nova says once in its log: which nova-rt it has."""

import functools

from oslo_log import log as logging

from nova_rt import version

LOG = logging.getLogger(__name__)


@functools.cache
def version_of(part: str) -> None:
    """Names the version that *part* has, once in a process."""
    LOG.info('nova-rt %s: %s', version.get(), part)
