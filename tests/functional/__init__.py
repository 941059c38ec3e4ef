# SPDX-License-Identifier: Apache-2.0

"""Functional tests: real Nova services, and the real kernel."""

import os

from nova import monkey_patch

# Nova 34 runs native threads.  Its own tests use eventlet unless an
# environment variable, which they read at their import, says otherwise.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
monkey_patch.patch(backend='threading')
