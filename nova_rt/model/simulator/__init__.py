# SPDX-License-Identifier: Apache-2.0

"""CBS servers under EDF, event by event: the ground truth of the models.

``lone`` is one server with a CPU to itself, ``edf`` several on several CPUs,
``traffic`` makes requests, ``estimate`` repeats runs and gives intervals.
"""
