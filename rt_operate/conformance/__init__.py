# SPDX-License-Identifier: Apache-2.0

"""Whether a kernel keeps what its interface promises, tried on a spare host.

Budgets go through the same code as those of guests; the tasks are busy
processes of our own, in groups of our own.
"""
