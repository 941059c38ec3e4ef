# SPDX-License-Identifier: Apache-2.0

"""The checks of ``nova-rt doctor``: one module for each topic.

Each module has CHECKS: functions that take a view of the host and yield
findings.  The topic is the first part of the id of a finding, as in
``kernel.interface``.
"""
