# SPDX-License-Identifier: Apache-2.0

"""Tests that the stand-in does what a real DevStack does; see DEVSTACK_DIR."""

import os
import pathlib
import re
import shlex
import subprocess
import tempfile

import hypothesis
from hypothesis import strategies as st
from oslotest import base

DEVSTACK = os.environ.get('DEVSTACK_DIR')
HERE = pathlib.Path(__file__).parent
PLUGIN = HERE.parents[1] / 'devstack'

#: Functions of stand_in.sh that are not functions of DevStack.
COMMANDS = {'note', 'sudo', 'hostname', 'install', 'virsh', 'openstack',
            'flavors', 'sleep', 'timeout'}
FUNCTION = re.compile(r'^function (\w+)', re.MULTILINE)
#: Variables that the plugin reads and does not define itself.
VARIABLE = re.compile(
    r'\$\{?((?:NOVA_(?!RT_)|VIRT_|LIBVIRT_|INSTANCE_|REGION_|GLOBAL_|'
    r'DATA_|TEMPEST_|PYTHON|DEVSTACK_)\w*)')

SECTIONS = ('DEFAULT', 'filter_scheduler', 'filter:nova_rt')
OPTIONS = ('use', 'enabled_filters', 'available_filters')
BEGINNINGS = ('', '[DEFAULT]\nuse = 1\n[filter_scheduler]\n',
              '# text\n[filter_scheduler]\nenabled_filters=A, B\n'
              'available_filters = a\n\navailable_filters = b\n[other]\n'
              'use = 2\n')

# The real functions treat a backslash in different ways, and expand wildcards.
words = st.text('aB0.,:#&/=%^-_', min_size=1, max_size=8)
names = st.tuples(st.sampled_from(SECTIONS), st.sampled_from(OPTIONS))
calls = st.one_of(
    st.tuples(st.just('iniset'), names, st.tuples(words)),
    st.tuples(st.just('iniset_multiline'), names,
              st.lists(words, min_size=1, max_size=3)),
    st.tuples(st.just('iniget_multiline'), names, st.just(())))
services = st.lists(st.sampled_from(
    ('n-api', 'n-sch', 'n-cpu', 'n-api-meta', 'tacker', 'key')), max_size=4)


def bash(library: object, script: str) -> str:
    return subprocess.run(
        ['bash', '-c', f'source {library}; {script}'], check=True,
        stdout=subprocess.PIPE, text=True).stdout


class StandInTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        if not DEVSTACK:
            self.skipTest('DEVSTACK_DIR names no checkout of DevStack')

    @hypothesis.settings(deadline=None, database=None, max_examples=30)
    @hypothesis.given(st.sampled_from(BEGINNINGS),
                      st.lists(calls, min_size=1, max_size=6))
    def test_ini_functions(self, beginning, sequence):
        ours, real = (self.ini(library, beginning, sequence) for library in (
            HERE / 'stand_in.sh', f'{DEVSTACK}/inc/ini-config'))
        self.assertEqual(real, ours)

    def ini(self, library, beginning, sequence):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, 'nova.conf')
            path.write_text(beginning)
            printed = bash(library, '; '.join(
                shlex.join([function, str(path), *name, *values])
                for function, name, values in sequence))
            return printed, path.read_text()

    def test_iniget(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, 'nova.conf')
            path.write_text(BEGINNINGS[-1])
            script = f'iniget {path} filter_scheduler enabled_filters'
            self.assertEqual(
                bash(f'{DEVSTACK}/inc/ini-config', script),
                bash(HERE / 'stand_in.sh', script))

    @hypothesis.settings(deadline=None, database=None, max_examples=20)
    @hypothesis.given(services, services.filter(len))
    def test_is_service_enabled(self, enabled, asked):
        script = (f'ENABLED_SERVICES={",".join(enabled)}\n'
                  f'is_service_enabled {" ".join(asked)} && echo yes || :')
        self.assertEqual(bash(f'{DEVSTACK}/functions-common', script),
                         bash(HERE / 'stand_in.sh', script))

    def test_warn(self):
        """The function fails after a failure, which ends stack.sh."""
        for before in ('true', 'false'):
            script = (f'f() {{ {before}; warn 1 "a b" c; }}; f 2>&1 |'
                      f'sed "s/ [^ ]*:1/ here:1/"; echo ${{PIPESTATUS[0]}}')
            self.assertEqual(bash(f'{DEVSTACK}/functions-common', script),
                             bash(HERE / 'stand_in.sh', script))

    def test_functions_exist(self):
        ours = set(FUNCTION.findall((HERE / 'stand_in.sh').read_text()))
        real = set()
        for path in ('functions-common', 'stack.sh', *(
                f'inc/{name}' for name in ('ini-config', 'python'))):
            real |= set(FUNCTION.findall(
                pathlib.Path(DEVSTACK, path).read_text()))
        self.assertEqual(set(), ours - COMMANDS - real)

    def test_variables_exist(self):
        real = '\n'.join(pathlib.Path(DEVSTACK, path).read_text()
                         for path in ('stackrc', 'lib/nova', 'lib/tempest',
                                      'inc/python', 'stack.sh'))
        used = {name for path in ('settings', 'plugin.sh', 'lib/nova-rt')
                for name in VARIABLE.findall((PLUGIN / path).read_text())}
        self.assertIn('NOVA_CONF', used)
        for name in used:
            self.assertRegex(real, rf'(?m)^\s*(export )?{name}=')
