# SPDX-License-Identifier: Apache-2.0

"""The checks of ``nova-rt doctor``: one module for each topic.

Each has CHECKS, functions that take a view of the host and yield findings;
the topic is the first part of a finding's id, as in ``kernel.interface``.
"""
