# SPDX-License-Identifier: Apache-2.0

"""What things cost; see doc/source/admin/cost.rst.

Each is a script, ``benchmarks/filter.py``, and a module as well, ``python -m
benchmarks.filter``: as a module too it finds its neighbours by bare names.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
