# SPDX-License-Identifier: Apache-2.0

"""The benchmarks measure costs; see doc/source/admin/cost.rst.

Each benchmark can be run as a script, such as ``benchmarks/filter.py``, and as
a module, such as ``python -m benchmarks.filter``.  Therefore the modules
import each other by names without a package.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
