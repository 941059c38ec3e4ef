# SPDX-License-Identifier: Apache-2.0

"""Finds a server in the cells of Nova, as it is stored there."""

from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects


def find(context: Any, uuid: str) -> Any:
    """Returns the Instance of a server.

    :param context: the request context, which decides whose servers are
        visible
    :returns: the Instance with its flavor, resources and system_metadata;
        None if the server does not exist, is not in a cell yet, or is not
        visible to *context*
    """
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(context, uuid)
        if mapping.cell_mapping is None:
            return None  # The server is being created.
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            return objects.Instance.get_by_uuid(cell, uuid, expected_attrs=[
                'flavor', 'resources', 'system_metadata'])
    except (nova_exception.InstanceMappingNotFound,
            nova_exception.InstanceNotFound):
        return None
