# SPDX-License-Identifier: Apache-2.0

"""Runs inside Nova's own processes, and remembers nothing of its own.

``api``, ``scheduler`` and ``compute`` with ``virt`` are loaded by the Nova
services of these names.  Claims are made under Nova's lock and stored with
Nova's records.
"""
