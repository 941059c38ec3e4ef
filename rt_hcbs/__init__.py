# SPDX-License-Identifier: Apache-2.0

"""The kernel interfaces of HCBS patches before ``cpu.rt.max``: a plug-in.

This package is an example of a plug-in for kernels that the core of nova-rt
does not know.  The core does not import this package.  The interfaces are
entry points of the group ``nova_rt.kernel``:

* ``hcbs`` (F2) and ``hcbs_multi`` (F2m): the first patches, Linux 4.x to 5.10;
  the paper uses ``hcbs_multi``.
* ``hcbs_rfc`` (F3) and ``hcbs_rfc_multi`` (F3m): the patches as posted in RFC
  v1 to v5, and their branches with a runtime for each CPU.
"""
