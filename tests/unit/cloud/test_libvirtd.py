# SPDX-License-Identifier: Apache-2.0

"""cloud.libvirtd: the drivers that libvirtd loads."""

import pathlib
import tempfile
import unittest

from cloud import guests
from cloud import libvirtd


class DriversTest(unittest.TestCase):

    def test_devices_are_listed_where_there_are_virtual_functions(self):
        kind = guests.KINDS['kvm']
        with tempfile.TemporaryDirectory() as name:
            devices = pathlib.Path(name)
            (devices / '0000:41:00.0').mkdir()
            self.assertEqual([kind.driver], libvirtd.drivers(kind, devices))
            (devices / '0000:41:00.1' / 'physfn').mkdir(parents=True)
            self.assertEqual(
                [kind.driver, 'libvirt_driver_nodedev.so'],
                libvirtd.drivers(kind, devices))
