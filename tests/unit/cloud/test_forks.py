# SPDX-License-Identifier: Apache-2.0

"""cloud.forks and cloud.plugins: what services share, and what they do not."""

import os
import subprocess
import sys
import unittest

from stevedore import _cache

from cloud import plugins
from cloud import settings

_IMPORTED = '''
import os, sys
from cloud import forks
forks.import_common()
print(len(os.listdir('/proc/self/task')), *sorted(
    {name.partition('.')[0] for name in sys.modules}))
'''
#: Nova must choose its threads before any of them, and each service has a
#: configuration of its own.
_OF_SERVICES = {'eventlet', 'oslo_service', 'oslo_messaging',
                'nova', 'nova_rt', 'keystone', 'placement', 'glance',
                'neutron'}


class CommonTest(unittest.TestCase):

    def test_chooses_nothing_for_a_service(self):
        said = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _IMPORTED], text=True,
            check=True, stdout=subprocess.PIPE, env={
                **os.environ,
                'PYTHONPATH': str(settings.PROJECT / 'tools')}).stdout.split()
        self.assertEqual('1', said[0])
        self.assertLess({'sqlalchemy', 'keystonemiddleware'}, set(said))
        self.assertEqual(set(), _OF_SERVICES.intersection(said))


class PluginsTest(unittest.TestCase):

    def test_same_as_stevedore(self):
        self.assertEqual(_cache._build_cacheable_data(), plugins._build())
