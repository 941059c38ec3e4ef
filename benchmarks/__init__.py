# SPDX-License-Identifier: Apache-2.0

"""The benchmarks measure costs; see doc/source/admin/cost.rst.

Each is a script, such as ``benchmarks/filter.py``, and a module, such as
``python -m benchmarks.filter``.  Modules also import others by bare names.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
