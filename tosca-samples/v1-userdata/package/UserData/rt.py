# SPDX-License-Identifier: Apache-2.0

"""Tacker reads this file; the class is that of the installed tacker_rt."""

from tacker_rt.userdata.v1 import RtUserData  # noqa: F401
