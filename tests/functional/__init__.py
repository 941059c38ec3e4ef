# SPDX-License-Identifier: Apache-2.0

"""Functional tests: real Nova services, and the real kernel."""

import os

from nova import monkey_patch

# Nova 34 runs native threads; its own tests take eventlet unless told so,
# and look when they are imported.
os.environ.setdefault('OS_NOVA_DISABLE_EVENTLET_PATCHING', 'true')
monkey_patch.patch(backend='threading')
