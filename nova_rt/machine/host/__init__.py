# SPDX-License-Identifier: Apache-2.0

"""Reads what this machine shows: files, cgroups, tasks, guests, CPU lists.

This package needs only the standard library, so that the privileged process
and every command can use it.
"""
