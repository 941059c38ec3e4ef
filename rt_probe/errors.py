# SPDX-License-Identifier: Apache-2.0

"""What the probe says when it cannot do what it was asked for."""


class ProbeError(Exception):
    """One sentence for the user of the command."""
