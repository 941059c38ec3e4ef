# SPDX-License-Identifier: Apache-2.0

"""Servers on a CPU, event by event: the ground truth of the models.

``cpu`` lets time pass, ``cbs`` and ``rt_group`` have the rules of the
kernels, ``lone`` is a fast way for one CBS server, ``traffic`` makes
requests, ``estimate`` repeats runs and gives intervals.
"""
