# SPDX-License-Identifier: Apache-2.0

"""Runs and points made up from response times."""

import numpy as np

from experiments import conditions
from experiments import measure
from experiments import samples
from experiments import workload

#: us of CPU time of each request.
WORK_US = 100


def found(sent_us, responses_us, used_us=None, size=128, late_us=0):
    """What a client prints for requests of WORK_US; None: no reply.

    :param late_us: of all requests, or of each
    """
    count = len(sent_us)
    sent = 1000 * np.array(sent_us)
    used = 1000 * np.array(used_us or [WORK_US] * count).cumsum()
    responses = [-1 if one is None else 1000 * one for one in responses_us]
    schedule = np.column_stack((
        sent, np.full(count, 1000 * WORK_US), np.full(count, size),
        np.zeros(count))).astype(np.int64)
    return samples.Samples(schedule, np.column_stack(
        (sent + 1000 * np.array(late_us), responses, used)).astype(np.int64))


def point(*runs, interval_us=1000, delay_us=0.0):
    """A point whose runs have these response times, in us."""
    made = [measure.Run(seed, 0, found(
        interval_us * np.arange(1, len(times) + 1), times),
        conditions.Conditions()) for seed, times in enumerate(runs)]
    return measure.Point(
        workload.Workload(workload.Distribution(interval_us),
                          workload.Distribution(WORK_US)), delay_us, made)
