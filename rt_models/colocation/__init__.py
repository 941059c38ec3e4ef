# SPDX-License-Identifier: Apache-2.0

"""Measures the throughput of network functions alone and beside each other.

Functions are started from profiles, in namespaces and control groups of their
own, alone and in pairs.  The results become a file for
``rt_models.interference``.
"""
