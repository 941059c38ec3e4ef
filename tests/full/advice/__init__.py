# SPDX-License-Identifier: Apache-2.0

"""The advice of ``nova-rt advise`` beside the smallest budget that suffices.

``python -m tests.full.advice`` runs foreign servers (node, Go, Python) with a
real-time budget on RT_GROUP_SCHED, beside a neighbour that uses the rest of
the same CPU.
"""
