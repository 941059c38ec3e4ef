# SPDX-License-Identifier: Apache-2.0

"""Watches servers from outside: what they use, wait for and answer.

Programs in the kernel count (``programs``).  The modules of this package read
the counts and report them.  Nothing that reserves imports this package.
"""
