# SPDX-License-Identifier: Apache-2.0

"""Tests the message of an experiment for which the cloud has no room."""

from nova_rt.rules import reservation
from paper import nova
from paper import rtwalk
from tests.cloud import base


class NoRoomTest(base.CloudTestCase):
    """Checks that the message is one sentence, and that nothing is left."""

    def test_one_sentence(self):
        rtwalk.build()
        cloud = nova.Cloud()
        cloud.store_image()
        other = self.boot(self.flavor())
        flavors = {each.id for each in self.cloud.compute.flavors()}

        def start():
            with cloud.server(reservation.Reservation(60_000, 100_000)):
                self.fail('it is more than is left')

        error = self.assertRaises(nova.NotStarted, start)
        self.assertIn('Container rt-walk does not start: No valid host',
                      str(error))
        self.assertEqual([other.id], [
            each.id for each in self.cloud.compute.servers()])
        self.assertEqual(flavors, {
            each.id for each in self.cloud.compute.flavors()})
