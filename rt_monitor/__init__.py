# SPDX-License-Identifier: Apache-2.0

"""Servers seen from outside: what they use, wait for and answer.

Programs in the kernel count (``programs``); the rest reads what they counted
and says it.  Nothing that reserves imports this package.
"""
