# SPDX-License-Identifier: Apache-2.0

"""Tests the body of a request, in a file."""

import pathlib

import fixtures
from oslotest import base

from tacker_rt import exception
from tacker_rt import request
from tests.unit.tacker_rt import samples

_BOTH = samples.SAMPLES / 'sol001-made-flavor/requests/instantiate-both.json'
_ASKED = {'nfv': {'VDU': {'VDU1': {'cpu.rt_carrier': 'both'}}}}


class RequestTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path) / 'r.json'

    def test_sample(self):
        asked = request.load(_BOTH)
        self.assertEqual(('simple', _ASKED['nfv']),
                         (asked.flavour, asked.parameters['nfv']))

    def test_of_a_vdu(self):
        asked = request.load(_BOTH)
        self.assertEqual(_ASKED, asked.for_vdu('VDU1'))
        self.assertEqual({}, asked.for_vdu('VDU2'))
        for odd in ({}, {'nfv': 1}, {'nfv': {'VDU': []}}):
            self.assertEqual({}, request.Request(parameters=odd).for_vdu('x'))

    def test_of_a_flavour(self):
        asked = request.load(_BOTH)
        for flavour in ('simple', None):
            self.assertEqual(asked.parameters, asked.for_flavour(flavour))
        self.assertEqual({}, asked.for_flavour('other'))
        self.assertEqual({'x': 1}, request.Request(
            parameters={'x': 1}).for_flavour('other'))

    def test_without_parameters(self):
        for text in ('{}', '{"additionalParams": null}'):
            self.path.write_text(text)
            self.assertEqual(request.Request(), request.load(self.path))

    def test_refused(self):
        for text, told in (
                (b'{', 'the file is not a JSON object; give the body of a '
                       'request.'),
                (b'[]', 'the file is not a JSON object; give the body of a '
                        'request.'),
                (b'\xff', 'the file is not a JSON object; give the body of a '
                          'request.'),
                (b'[' * 100_000,
                 'the file is not a JSON object; give the body of a request.'),
                (b'{"additionalParams": [1]}', 'additionalParams must be an '
                 'object; write it as {"nfv": {"VDU": ...}}.'),
                (b'{"flavourId": 1}',
                 'flavourId must be a string; put its value in quotes.')):
            self.path.write_bytes(text)
            error = self.assertRaises(exception.InvalidVnfd, request.load,
                                      self.path)
            self.assertEqual(f'r.json: {told}', str(error))
