# SPDX-License-Identifier: Apache-2.0

"""Runs inside Nova's own processes, and stores nothing outside of Nova.

nova-api loads ``api``, nova-scheduler loads ``scheduler``, and nova-compute
loads ``compute`` and ``virt``.  ``api`` and ``scheduler`` also import modules
of ``compute``.  Claims are made under Nova's lock and stored with Nova's
records.
"""
