# SPDX-License-Identifier: Apache-2.0

"""``python3 -m rt_probe`` runs the same command as ``rt-probe``."""

from rt_probe import command

raise SystemExit(command.main())
