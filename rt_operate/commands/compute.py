# SPDX-License-Identifier: Apache-2.0

"""``nova-rt-compute``: nova-compute, able to import our libvirt driver.

This script is the fallback for ``nova_rt.services.install``. Run this script
in place of nova-compute where the entry point of os-vif must not be used.
"""

from nova.cmd import compute  # first: it patches modules

from nova_rt.services import install


def main() -> None:
    """Runs nova-compute."""
    install.extend_nova_virt()
    compute.main()
