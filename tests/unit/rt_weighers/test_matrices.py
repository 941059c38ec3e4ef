# SPDX-License-Identifier: Apache-2.0

"""Tests the matrices that the options name."""

from nova_rt.rules import neighbours
from rt_weighers import matrices
from tests.unit import base


class MatricesTest(base.TestCase):

    def test_shipped_matrix(self):
        model = matrices.model(base.CONF)
        self.assertEqual(0.8541, model.cell(
            neighbours.Typed(neighbours.Kind.SHARED, 'I'), 'III'))
        self.assertEqual(1.0, model.cell(
            neighbours.Typed(neighbours.Kind.RESERVED, 'I'), 'III'))
