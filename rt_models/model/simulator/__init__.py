# SPDX-License-Identifier: Apache-2.0

"""Simulates servers on a CPU event by event: the ground truth of the models.

``cpu`` advances the time, ``cbs`` and ``rt_group`` have the rules of the
kernels, ``lone`` is a fast simulation of one CBS server, and ``traffic`` makes
requests.
"""
