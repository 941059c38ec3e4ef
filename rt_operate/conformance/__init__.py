# SPDX-License-Identifier: Apache-2.0

"""Tries on a spare host whether a kernel keeps what its interface promises.

Budgets are given by the same code that gives budgets to guests.  The tasks
are busy processes of this command, in groups of this command.
"""
