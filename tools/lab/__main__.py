# SPDX-License-Identifier: Apache-2.0

"""Entry point of ``python -m lab``; see main.py."""

import sys

from lab import main

sys.exit(main.main())
