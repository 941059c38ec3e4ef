# SPDX-License-Identifier: Apache-2.0

"""``python3 -m nova_rt.probe``: the same as ``rt-probe``."""

from nova_rt.probe import command

raise SystemExit(command.main())
