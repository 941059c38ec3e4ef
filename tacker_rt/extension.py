# SPDX-License-Identifier: Apache-2.0

"""What tosca-parser loads, in every process that imports it.

The entry point ``toscaparser.extensions`` is the one hook that reaches
Tacker and the ``heat-translator`` command alike without a change to either:
it brings the version ``tacker_rt_nfv_1_0_0``, in which the types of the
legacy VNFDs are built in, and our classes into heat-translator.
"""

import logging

LOG = logging.getLogger(__name__)


def register() -> bool:
    """Put our translator classes into heat-translator's map.

    :returns: False where heat-translator is missing or, with tosca-parser,
        still being imported
    """
    try:
        from tacker_rt.heat import registry
        registry.register()
    except (ImportError, AttributeError) as error:
        LOG.debug('The classes of tacker_rt are not registered: %s', error)
        return False
    return True


class Extension:
    """Made by tosca-parser at several points of its own import.

    Early ones come before heat-translator can be imported; the one of
    ``toscaparser.tosca_template``, without which nothing is translated,
    does not.
    """

    VERSION = 'tacker_rt_nfv_1_0_0'
    DEFS_FILE = 'defs/tacker_rt_legacy_types.yaml'

    def __init__(self) -> None:
        register()
