# SPDX-License-Identifier: Apache-2.0

"""Connects programs to the cloud by openstacksdk, as its admin."""

from typing import Any

import openstack

from cloud import plugins
from cloud import settings


def connect(cloud: settings.Settings, **more: Any
            ) -> openstack.connection.Connection:
    """Returns a connection; *more* are further arguments of openstacksdk."""
    plugins.list_at_once()
    return openstack.connection.Connection(
        auth={'auth_url': cloud.auth_url, 'username': 'admin',
              'password': settings.PASSWORD, 'project_name': 'admin',
              'user_domain_name': 'Default',
              'project_domain_name': 'Default'},
        region_name=settings.REGION, **more)
