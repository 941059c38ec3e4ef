# SPDX-License-Identifier: Apache-2.0

import contextlib
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np

from paper import bench
from paper.fig8 import records
from paper import measure
from paper.sip import fig8


@contextlib.contextmanager
def nobody(*_):
    yield []


class RunTest(unittest.TestCase):

    def run_all(self, folder):
        """Measures registrations of 1 ms, and of 3 ms beside neighbours."""
        noisy = []

        @contextlib.contextmanager
        def noise(place, *arguments):
            noisy.append(type(place).__name__)
            yield
            noisy.append('')

        def register(count, rate, client):
            loud = bool(noisy and noisy[-1])
            return np.full(count, 3000.0 if loud else 1000.0)

        with (mock.patch.multiple(
                fig8.places.Fair, noise=noise), mock.patch.multiple(
                fig8.places.Groups, noise=noise, check=lambda *_: 950_000),
              mock.patch.multiple(
                  fig8.registrar, running=nobody, busy_us=lambda _: 0.0),
              mock.patch.object(fig8.group, 'reserved', nobody),
              mock.patch.object(fig8, 'calibrate', lambda _: 145),
              mock.patch.object(fig8.sip_client, 'register', register)):
            text = fig8.run(bench.Settings(
                pathlib.Path(folder), nobody, measure.SHORT, 1))
        return noisy, text

    def test_the_neighbour_is_reserved_if_the_server_is(self):
        with tempfile.TemporaryDirectory() as folder:
            noisy, text = self.run_all(folder)
            runs = records.read(pathlib.Path(folder, 'fig8-sip.csv'))
        self.assertEqual(['Fair', '', 'Groups', ''], noisy)
        self.assertIn('145 registrations', text)
        self.assertEqual(8, len(runs))
        self.assertEqual({(1000.0, 1.0, 'no'), (3000.0, 0.0, 'periodic')}, {
            (run.p99_us, run.good, run.noise) for run in runs})
