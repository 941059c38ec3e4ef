# SPDX-License-Identifier: Apache-2.0

"""nova-compute with our driver findable, where os-vif must not be used.

The documented fallback for ``nova_rt.compute.loader``: run this script in
place of nova-compute.
"""

from nova.cmd import compute  # first: it patches on import

from nova_rt.compute import loader


def main() -> None:
    loader.extend_nova_virt()
    compute.main()
