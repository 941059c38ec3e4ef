# SPDX-License-Identifier: Apache-2.0

"""Groups and busy processes with which commands try the kernel.

No service imports this package: nova-compute writes by ``machine.privsep``.
"""
