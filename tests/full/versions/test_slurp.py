# SPDX-License-Identifier: Apache-2.0

"""Nova goes from one SLURP release to the next beneath reserved servers.

NOVA_RT_SLURP names a folder with two virtual environments, old and new.  Each
has Nova and Placement of its release with their upper constraints,
libvirt-python, lxml, pymysql and cheroot; the test installs nova-rt there.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from cloud.full import services
from cloud import processes
from cloud import settings

from tests.cloud import base as cloud_base
from tests.hosts import base

_ROOT = pathlib.Path(__file__).parents[3]
_RELEASES = os.environ.get('NOVA_RT_SLURP', '')
#: What a new control plane restarts; the computes come later.
_CONTROL = ('nova-api', 'nova-scheduler', 'nova-conductor', 'placement')
#: Longer than nova-compute and its helpers take to end.
_ENDING = 20
#: A host has room for two servers and for both ends of a resize.
_SMALLER, _LARGER = 20_000, 30_000


def prefix(release: str) -> pathlib.Path:
    """Returns the environment of a release, old or new."""
    return pathlib.Path(_RELEASES, release).resolve()


@unittest.skipUnless(_RELEASES, 'NOVA_RT_SLURP names no environments of Nova')
class SlurpTest(base.HostsTestCase):

    RESERVATION = (_SMALLER, 200_000)

    @classmethod
    def bring_up(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps', '-w',
                 folder, _ROOT], check=True,
                env={**os.environ, 'NOVA_RT_WITHOUT_BPF': '1'})
            for release in ('old', 'new'):
                subprocess.run(
                    [prefix(release) / 'bin/python', '-m', 'pip', 'install',
                     '-q', '--no-deps', '--force-reinstall',
                     *pathlib.Path(folder).glob('*.whl')], check=True)
        shared = settings.load().data / 'instances-shared'
        shared.mkdir(parents=True, exist_ok=True)
        os.environ[settings.NOVA_VARIABLE] = str(prefix('old'))
        cls.addClassCleanup(os.environ.pop, settings.NOVA_VARIABLE)
        cls.addClassCleanup(cloud_base.cloud, 'down', '--keep-logs')
        # The helper is the one beside the service that starts it.
        helper = 'privsep-helper --config-file ' + str(
            settings.load().nova_conf)
        cloud_base.cloud(
            'up', '--pair', f'--set=DEFAULT.instances_path={shared}',
            '--set=upgrade_levels.compute=auto',
            *(f'--set={section}.helper_command={helper}' for section in (
                'nova_sys_admin', 'privsep_osbrick', 'nova_rt_privileged')))

    @contextlib.contextmanager
    def restarted(self, *names: str) -> Iterator[None]:
        """Stops services; starts them from the new release afterwards."""
        ending = [services.BY_NAME[name] for name in names]
        processes.end([each.process(self.settings) for each in ending],
                      settings.patience(_ENDING))
        os.environ[settings.NOVA_VARIABLE] = str(prefix('new'))
        yield
        cloud_base.cloud('up')

    def run_of(self, program: str, *arguments: str, node: str = '') -> str:
        """Runs a program of the present release, on a node or beside it.

        :returns: what it prints; it must succeed
        """
        cloud = self.settings
        command = [program, '--config-file', str(cloud.nova_conf)]
        if node:
            command += ['--config-file', str(cloud.compute_conf(node))]
        command += arguments
        done = subprocess.run(
            services.on_node(cloud, node, command) if node else command,
            env=cloud.environment(), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        print(f'$ {program} {" ".join(arguments)}: {done.returncode}\n'
              f'{done.stdout}', flush=True)
        self.assertEqual(0, done.returncode, done.stdout)
        return done.stdout

    def sync(self) -> None:
        """Migrates the schemas, as an operator does."""
        self.run_of('nova-manage', 'api_db', 'sync')
        self.run_of('nova-manage', 'db', 'sync')
        subprocess.run(
            ['placement-manage', '--config-file',
             self.settings.etc / 'placement/placement.conf', 'db', 'sync'],
            env=self.settings.environment(), check=True)

    def assert_ready(self) -> None:
        """Checks what both programs for upgrades say, and the claims."""
        self.run_of('nova-status', 'upgrade', 'check')
        for node in self.settings.nodes:
            self.run_of('nova-rt-status', 'upgrade', 'check', node=node.name)
        self.assert_agreed()

    def release_of(self, name: str) -> str:
        """Returns the environment whose program runs as a service."""
        pid = services.BY_NAME[name].pid(self.settings)
        words = pathlib.Path(f'/proc/{pid}/cmdline').read_text().split('\0')
        return next(release for release in ('old', 'new') if any(
            each.startswith(f'{prefix(release)}/') for each in words))

    def assert_releases(self, east: str, west: str) -> None:
        self.assertEqual([east, west], [
            self.release_of(f'nova-compute-{node.name}')
            for node in self.settings.nodes])
        self.assertEqual({'new'}, set(map(self.release_of, _CONTROL)))

    def migrate(self, server: base.Server) -> None:
        """Moves a server to the other host while it is off.

        libvirt refuses a live migration where the disks are shared as here.
        """
        self.compute.migrate_server(server)
        self.confirm(server)

    def resize(self, server: base.Server) -> None:
        """Gives a server a larger reservation, on any host."""
        self.compute.resize_server(server, self.flavor(
            _LARGER, self.RESERVATION[1]))
        self.confirm(server)
        self.assertEqual(_LARGER, self.claim(server).reservation.runtime_us)
        self.assert_runs(server, self.where(server))

    def confirm(self, server: base.Server) -> None:
        """Waits for the new place of a server and confirms it."""
        self.compute.wait_for_server(server, status='VERIFY_RESIZE',
                                     wait=base.PATIENCE, interval=0.5)
        self.compute.confirm_server_resize(server)
        self._active(server)

    def test_one_release_after_the_other(self) -> None:
        kept = {host: self.reserved(host, runtime=_SMALLER)
                for host in base.OTHER}
        claims = {host: self.claim(kept[host]) for host in kept}
        self.assert_ready()
        with self.restarted(*_CONTROL):
            self.sync()
        self.assert_releases('old', 'old')
        self.works(kept, claims, base.EAST)
        with self.restarted('nova-compute-east'):
            pass
        self.assert_releases('new', 'old')
        self.works(kept, claims, base.EAST)
        for host in (base.WEST, base.EAST):
            self.migrate(kept[base.EAST])
            self.assert_runs(kept[base.EAST], host)
        claims[base.EAST] = self.claim(kept[base.EAST])
        with self.restarted('nova-compute-west'):
            pass
        self.assert_releases('new', 'new')
        self.run_of('nova-manage', 'db', 'online_data_migrations')
        self.works(kept, claims, base.WEST)
        self.assert_ready()
        for server in kept.values():
            self.resize(server)
        self.assert_nothing_remains()

    def works(self, kept: dict[str, base.Server], claims: dict[str, object],
              host: str) -> None:
        """Checks the old servers, and gives a host a new server."""
        self.eventually('both hosts offer reservations',
                        lambda: len(self.offering()) == len(base.OTHER))
        for where, server in kept.items():
            self.assert_runs(server, where)
            self.assertEqual(claims[where], self.claim(server))
        another = self.reserved(host, runtime=_SMALLER)
        self.assert_runs(another, host)
        self.resize(another)
        self.delete(another)
        self.assert_agreed()
