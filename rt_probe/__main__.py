# SPDX-License-Identifier: Apache-2.0

"""``python3 -m rt_probe``: the same as ``rt-probe``."""

from rt_probe import command

raise SystemExit(command.main())
