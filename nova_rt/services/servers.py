# SPDX-License-Identifier: Apache-2.0

"""Finds a server in the cells, as it is stored."""

from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects


def find(context: Any, uuid: str) -> Any:
    """The Instance; None where there is none yet, or none that one may see.

    :param context: whose servers are looked at
    :returns: with its flavor, resources and system_metadata
    """
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(context, uuid)
        if mapping.cell_mapping is None:
            return None  # being created
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            return objects.Instance.get_by_uuid(cell, uuid, expected_attrs=[
                'flavor', 'resources', 'system_metadata'])
    except (nova_exception.InstanceMappingNotFound,
            nova_exception.InstanceNotFound):
        return None
