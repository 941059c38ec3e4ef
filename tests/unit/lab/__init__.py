# SPDX-License-Identifier: Apache-2.0

"""The lab's own parts, which need no virtual machine."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / 'tools'))
