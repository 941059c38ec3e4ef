# SPDX-License-Identifier: Apache-2.0

"""Tests rt-probe against the truth, in every kind of place it may run in.

``python -m tests.full.probe`` runs the campaign and writes its table; a sample
of the campaign is ``tests/cloud/test_probe.py``.
"""
