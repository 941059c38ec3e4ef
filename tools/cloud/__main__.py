# SPDX-License-Identifier: Apache-2.0

"""Entry point of ``python -m cloud``; see main.py."""

import sys

from cloud import main

sys.exit(main.main())
