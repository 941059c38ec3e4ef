# SPDX-License-Identifier: Apache-2.0

"""Servers that move between two real nova-computes, each with its libvirtd.

One kernel runs both, in namespaces; see tools/cloud/full/nodes.py.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'tools'))
