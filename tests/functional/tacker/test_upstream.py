# SPDX-License-Identifier: Apache-2.0

"""Compares validate with Tacker on the packages of Tacker itself."""

import pathlib
import tempfile
import unittest

from tacker_rt import validate
from tests.functional.tacker import layers
from tests.functional.tacker import upstream

#: Tacker fetches an address to decide about these, which validate does not.
_FETCHED = ('<urlopen error', 'Failed to reach server')


class PackagesTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.source = upstream.source()
        if self.source is None:
            self.skipTest(f'{upstream.VARIABLE} names no source of Tacker, '
                          'which an installed one does not have')
        self.packages = upstream.packages(self.source)

    def test_validate_agrees_with_tacker(self):
        self.assertGreater(len(self.packages), 100)
        self.assertGreater(self.compare({
            name: (package, None)
            for name, package in self.packages.items()}), 50)

    def test_validate_agrees_where_a_file_is_not_there(self):
        lacking = {f'{name} without {file}': (package, file)
                   for name, package in self.packages.items()
                   for file in sorted(upstream.named(package))}
        self.assertGreater(len(lacking), 50)
        self.compare(lacking)

    def compare(self, packages):
        """Checks how many packages are accepted if one file is missing."""
        directory = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        cases = []
        for number, (package, file) in enumerate(packages.values()):
            csar = directory / f'{number}.zip'
            upstream.pack(self.source, package, csar, without=file)
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
        return taken
