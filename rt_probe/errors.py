# SPDX-License-Identifier: Apache-2.0

"""The error that the probe raises when it cannot do what was requested."""


class ProbeError(Exception):
    """An error whose text is one sentence for the user of the command."""
