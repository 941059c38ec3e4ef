# SPDX-License-Identifier: Apache-2.0

"""nova-compute with our driver findable, where os-vif must not be used.

The documented fallback for ``nova_rt.services.install``: run this script in
place of nova-compute.
"""

from nova.cmd import compute  # first: it patches on import

from nova_rt.services import install


def main() -> None:
    install.extend_nova_virt()
    compute.main()
