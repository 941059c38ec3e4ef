# SPDX-License-Identifier: Apache-2.0

"""Runs and points made up from response times; a real server to ask."""

import dataclasses
import pathlib
import socket
import tempfile
import unittest

import numpy as np

from paper import measured
from paper import points
from paper import records
from paper import rtwalk
from paper import samples

#: us of CPU time of each request.
WORK_US = 100
#: Of what ordinary processes of a busy machine suffer from.
NO_LIMITS = measured.Limits(1, 1e9, 1e9)
#: A load of 0.5 of a CPU with 0.8 of it, in three points.
CURVE = points.curve((100, 200, 400), 128, 0.5, 0.8)


class ServerTestCase(unittest.TestCase):
    """Tests that ask a server of rt-walk, and have a directory."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rtwalk.build()

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        with socket.socket() as one:
            one.bind(('127.0.0.1', 0))
            self.endpoint = rtwalk.Endpoint(port=one.getsockname()[1])


def found(sent_us, responses_us, used_us=None, size=128, late_us=0):
    """Returns a client's output for requests of WORK_US; None: no reply.

    :param late_us: the delay of all requests, or of each request
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


def record(times, replayed=None, point=CURVE[0], **others):
    """A run of *point* that had these response times, in us.

    :param replayed: what the simulator says; None: the same
    :param others: fields of a Record
    """
    summary = records.Summary.from_times(np.array(times, float))
    made = records.Record(
        '2026-01-02T03:04Z', point.name, point.interval_us,
        point.workload.service.mean, point.workload.size.mean, 1, len(times),
        0, 1.0, 2.0, 50.0, 0.0, 0.5, 0.0, 0.25, 1.5, summary,
        summary if replayed is None
        else records.Summary.from_times(np.array(replayed, float)))
    return dataclasses.replace(made, **others)


def measured_point(*runs, point=CURVE[0], **others):
    """A point whose runs had these response times, in us."""
    return measured.Measured(point, [
        record(times, point=point, **others) for times in runs])
