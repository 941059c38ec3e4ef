# SPDX-License-Identifier: Apache-2.0

"""A node of a DevStack: its configuration, and the plugin run on it."""

from collections.abc import Sequence
import configparser
import json
import os
import pathlib
import shutil
import subprocess
import sys

import fixtures
from nova.conf import libvirt as nova_libvirt
from nova.conf import scheduler as nova_scheduler
from oslo_config import cfg
from oslotest import base

from nova_rt.services import conf as rt_conf

PROJECT = pathlib.Path(__file__).parents[2]
RUN = pathlib.Path(__file__).with_name('run.sh')

CONTROLLER = ('key', 'placement-api', 'n-api', 'n-cond', 'n-sch', 'q-svc')
COMPILER = 'install_package clang libbpf-dev libbpf1'
COMPUTE = ('n-cpu', 'placement-client', 'q-agt')

STACK = ('stack/pre-install', 'stack/install', 'stack/post-config',
         'stack/extra', 'stack/test-config')
FILTERS = 'ComputeFilter,ImagePropertiesFilter'

# The configuration as lib/nova of DevStack leaves it before the plugin runs.
NOVA_CONF = f"""
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
debug = True

[wsgi]
api_paste_config = /etc/nova/api-paste.ini

[filter_scheduler]
enabled_filters = {FILTERS}
"""
PASTE = pathlib.Path(sys.prefix, 'etc', 'nova', 'api-paste.ini')


class DevStackTestCase(base.BaseTestCase):
    """Runs phases with :meth:`run_plugin`; tests then read the files."""

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.etc = self.root / 'etc' / 'nova'
        self.etc.mkdir(parents=True)
        self.plugin = PROJECT
        self.variables = {
            'LIBVIRT_TYPE': 'kvm', 'VIRT_DRIVER': 'libvirt',
            'NOVA_CONF': self.conf_file, 'NOVA_CONF_DIR': self.etc,
            'NOVA_API_PASTE_INI': self.paste_file,
            'NOVA_BIN_DIR': self.root, 'NOVA_FILTERS': FILTERS,
            'INSTANCE_NAME_PREFIX': 'instance-', 'REGION_NAME': 'RegionOne',
            'NOVA_CPU_CONF': self.etc / 'nova-cpu.conf',
            'DATA_DIR': self.root, 'DEVSTACK_VENV': self.root / 'venv',
            'GLOBAL_VENV': 'True', 'PYTHON': sys.executable,
            'NOVA_RT_LINKS': self.links, 'COMPUTE_STATE': 'up',
            'PROVIDERS': 'compute1', 'FLAVORS': self.root / 'flavors',
            'RECORD': self.root / 'record', 'os_PACKAGE': 'deb',
            'DEVSTACK_DIR': os.environ.get('DEVSTACK_DIR', ''),
            'PATH': f'{pathlib.Path(sys.executable).parent}:/usr/bin:/bin'}
        self.links.mkdir()
        self.nova_rt_status(0)
        self.nova_rt(0)

    @property
    def links(self) -> pathlib.Path:
        """Stands for /usr/local/bin."""
        return self.root / 'links'

    @property
    def conf_file(self) -> pathlib.Path:
        return self.etc / 'nova.conf'

    @property
    def paste_file(self) -> pathlib.Path:
        return self.etc / 'api-paste.ini'

    def nova_rt_status(self, status: int) -> None:
        """Sets the findings of ``nova-rt-status upgrade check``."""
        self._script('nova-rt-status', f'exit {status}')

    def nova_rt(self, status: int, printed: str = '') -> None:
        """Sets what each call of ``nova-rt`` prints and returns."""
        (self.root / 'printed').write_text(printed)
        self._script('nova-rt', f'cat {self.root}/printed; exit {status}')

    def flavors(self) -> dict[str, dict[str, str]]:
        """Returns the properties of each flavor in the cloud."""
        return dict(json.loads((self.root / 'flavors').read_text()))

    def has_flavors(self, **flavors: dict[str, str]) -> None:
        """Sets the flavors that exist before the plugin runs."""
        (self.root / 'flavors').write_text(json.dumps(flavors))

    def _script(self, name: str, end: str) -> None:
        script = self.root / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >> "$RECORD"\n{end}\n')
        script.chmod(0o755)

    def configure(self, *services: str) -> None:
        """Writes what DevStack writes on a node with these services."""
        self.variables['ENABLED_SERVICES'] = ','.join(services)
        if any(name.startswith('n-') for name in services):
            self.conf_file.write_text(NOVA_CONF)
        if 'n-api' in services:
            shutil.copy(PASTE, self.paste_file)

    def run_plugin(self, *phases: str, fails: bool = False) -> str:
        """:returns: what was printed to stderr"""
        done = subprocess.run(
            ['bash', RUN, self.plugin, *phases], text=True,
            env={key: str(value) for key, value in self.variables.items()},
            capture_output=True)
        self.assertEqual(fails, bool(done.returncode), done.stderr)
        return done.stderr

    def calls(self, begin: str = '') -> Sequence[str]:
        """Returns what the plugin called, in order."""
        record = self.root / 'record'
        lines = record.read_text().splitlines() if record.exists() else []
        return [line for line in lines if line.startswith(begin)]

    def files(self) -> dict[str, str]:
        """Returns the configuration by file."""
        return {str(path.relative_to(self.etc)): path.read_text()
                for path in self.etc.rglob('*') if path.is_file()}

    def nova_conf(self) -> cfg.ConfigOpts:
        """Returns the file, as Nova reads it."""
        conf = cfg.ConfigOpts()
        nova_libvirt.register_opts(conf)
        nova_scheduler.register_opts(conf)
        rt_conf.register_opts(conf)
        conf.register_opts([cfg.StrOpt('compute_driver'),
                            cfg.StrOpt('state_path')])
        conf([], default_config_files=[str(self.conf_file)],
             default_config_dirs=[])
        return conf

    def paste(self) -> configparser.ConfigParser:
        parser = configparser.ConfigParser(interpolation=None)
        parser.optionxform = str
        parser.read(self.paste_file)
        return parser
