# SPDX-License-Identifier: Apache-2.0

"""The extension that tosca-parser loads in every process that imports it.

The entry point ``toscaparser.extensions`` is the only hook that works in
Tacker and in the ``heat-translator`` command without a change to either.  The
extension adds the version ``tacker_rt_nfv_1_0_0``, which has the types of the
legacy VNFDs, and registers our classes with heat-translator.
"""

import logging

LOG = logging.getLogger(__name__)


def register() -> bool:
    """Adds our translator classes to the map of heat-translator.

    :returns: False if heat-translator is missing, or if heat-translator or
        tosca-parser is still being imported
    """
    try:
        from tacker_rt.heat import registry
        registry.register()
    except (ImportError, AttributeError) as error:
        LOG.debug('The classes of tacker_rt are not registered: %s', error)
        return False
    return True


class Extension:
    """The extension; tosca-parser makes several during its own import.

    The first objects are made before heat-translator can be imported.  The
    object of ``toscaparser.tosca_template``, which every translation needs, is
    made later.
    """

    VERSION = 'tacker_rt_nfv_1_0_0'
    DEFS_FILE = 'defs/tacker_rt_legacy_types.yaml'

    def __init__(self) -> None:
        register()
