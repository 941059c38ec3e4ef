# SPDX-License-Identifier: Apache-2.0

"""Reads the flavors of a cloud, those of single projects too."""

from typing import Any

from nova import objects

from rt_operate.manage import snapshot


def flavors(context: Any) -> list[snapshot.Flavor]:
    """All but those that are disabled; :raises: what ``errors.ERRORS`` has"""
    return [snapshot.Flavor(str(flavor.name), dict(flavor.extra_specs))
            for flavor in objects.FlavorList.get_all(context)]
