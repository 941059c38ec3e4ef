# SPDX-License-Identifier: Apache-2.0

"""Reads what this machine shows: files, cgroups, tasks, guests, CPU lists.

It needs the standard library and nothing else of nova_rt, so that the
privileged part and each command can stand on it.
"""
