# SPDX-License-Identifier: Apache-2.0

"""Reads all flavors of a cloud, with the flavors of single projects."""

from typing import Any

from nova import objects

from rt_operate.manage import snapshot


def flavors(context: Any) -> list[snapshot.Flavor]:
    """Returns all flavors that are not disabled.

    :raises: any of ``errors.ERRORS``
    """
    return [snapshot.Flavor(str(flavor.name), dict(flavor.extra_specs),
                            int(flavor.vcpus))
            for flavor in objects.FlavorList.get_all(context)]
