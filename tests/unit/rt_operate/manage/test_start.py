# SPDX-License-Identifier: Apache-2.0

"""Tests how a separate process reads the configuration."""

import subprocess
import sys

from oslotest import base

#: What every cell mapping does with its URLs, without a service around it.
_READ = """
from rt_operate.manage import start
import sys
start.configure('nova-rt-manage', sys.argv[1:], [], False)
print(start.CONF.transport_url)
"""

_SHOW = _READ.replace('print(start.CONF.transport_url)', """
print(start.CONF.api_database.connection, start.CONF.nova_rt.cpu_cap)""")


class ConfigureTest(base.BaseTestCase):

    def test_nova_cpu_conf_of_a_devstack(self):
        """This file has no database, so nova.conf is named before it."""
        paths = self.create_tempfiles([
            ('nova', '[api_database]\nconnection = sqlite:///api\n'
                     '[nova_rt]\ncpu_cap = 0.8\n'),
            ('nova-cpu', '[nova_rt]\ncpu_cap = 0.7\n')])
        done = subprocess.run([sys.executable, '-c', _SHOW, *paths],
                              capture_output=True, text=True)
        self.assertEqual((0, 'sqlite:///api 0.7'),
                         (done.returncode, done.stdout.strip()), done.stderr)

    def test_the_message_bus_of_cell_mappings(self):
        path = self.create_tempfiles([('nova', (
            '[DEFAULT]\ntransport_url = rabbit://bus/\n'))])[0]
        done = subprocess.run([sys.executable, '-c', _READ, path],
                              capture_output=True, text=True)
        self.assertEqual((0, 'rabbit://bus/'),
                         (done.returncode, done.stdout.strip()), done.stderr)
