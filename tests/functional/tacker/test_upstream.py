# SPDX-License-Identifier: Apache-2.0

"""The packages of Tacker itself: validate says what Tacker does."""

import pathlib
import tempfile
import unittest

from tacker_rt import validate
from tests.functional.tacker import layers
from tests.functional.tacker import upstream

#: What Tacker fetches to decide about these, which validate does not.
_FETCHED = ('<urlopen error', 'Failed to reach server')


class PackagesTest(unittest.TestCase):

    def test_validate_agrees_with_tacker(self):
        source = upstream.source()
        if source is None:
            self.skipTest(f'{upstream.VARIABLE} names no source of Tacker, '
                          'which an installed one does not have')
        with tempfile.TemporaryDirectory() as directory:
            self.compare(source, pathlib.Path(directory))

    def compare(self, source, directory):
        packages = upstream.packages(source)
        self.assertGreater(len(packages), 100)
        cases = []
        for number, package in enumerate(packages.values()):
            csar = directory / f'{number}.zip'
            upstream.pack(source, package, csar)
            cases.append({'name': str(number), 'csar': str(csar),
                          'directory': str(directory)})
        answers = layers.run('takes_in', cases)
        taken = 0
        for name, case, refusal in zip(packages, cases, answers,
                                       strict=True):
            if refusal and any(text in refusal for text in _FETCHED):
                continue
            found = validate.validate(case['csar'])
            taken += not refusal
            with self.subTest(name):
                self.assertEqual(bool(refusal), bool(found),
                                 [refusal, *map(str, found)])
        self.assertGreater(taken, 50)
