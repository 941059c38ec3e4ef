# SPDX-License-Identifier: Apache-2.0

"""Tests on a spare host whether a kernel keeps its interface's promises.

Budgets are given by the same code that gives budgets to guests.  The tasks
are busy processes of this command, in groups of this command.
"""
