# SPDX-License-Identifier: Apache-2.0

"""Tests of nova_rt and tacker_rt, and the code that the tests run on.

The packages below ``tools/`` are scripts, and are not installed.
"""

import pathlib
import sys

TOOLS = pathlib.Path(__file__).parents[1] / 'tools'

sys.path.insert(0, str(TOOLS))
