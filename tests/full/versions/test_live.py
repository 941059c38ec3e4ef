# SPDX-License-Identifier: Apache-2.0

"""Servers run on while nova-rt is upgraded and downgraded beneath them."""

import os
import pathlib
import shutil
import tempfile

from tests.cloud import base
from tests.cloud import pinned
from tests.full.versions import builds

TOLERANCE = 0.01
SECONDS = 5
_SITE = 'NOVA_RT_SITE'


class UpgradeTest(pinned.PinnedTests):
    """Two built wheels, one real cloud, virtual machines that are busy."""

    sites: dict[str, pathlib.Path] = {}

    @classmethod
    def bring_up(cls) -> None:
        folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.addClassCleanup(os.environ.pop, _SITE, None)
        for name, commit, version in (('old', builds.FIRST, '0.0.1'),
                                      ('new', 'HEAD', '0.1.0')):
            cls.sites[name] = builds.install(folder / name, commit, version)
        os.environ[_SITE] = str(cls.sites['old'])
        super().bring_up()

    def restart(self, name: str) -> None:
        os.environ[_SITE] = str(self.sites[name])
        base.cloud('restart')

    def version(self) -> str:
        """Returns the version that the newest start of nova-compute logged."""
        lines = [line for line in self.settings.log_file(
            'nova').read_text().splitlines() if 'nova-rt 0.' in line]
        return lines[-1] if lines else ''

    def assert_share(self, server: base.host.Server, share: float) -> None:
        self.assert_pinned(server)
        self.assertAlmostEqual(share, base.measure.shares(
            [server], SECONDS)[server.name], delta=TOLERANCE)

    def test_up_and_down(self) -> None:
        flavor = self.flavor(45_000, 100_000)
        server = self.busy(flavor)
        claim = self.claim(server)
        self.assertEqual('', self.version())  # The old version logs none.
        for name in ('new', 'old', 'new'):
            self.restart(name)
            self.assert_share(self.on_host(server), 0.45)
            self.assertEqual(claim, self.claim(server), name)
            another = self.busy(self.flavor(20_000, 100_000))
            self.assert_share(self.on_host(another), 0.2)
            self.hard_reboot(server)
            self.assert_pinned(self.on_host(server))
            self.delete(another)
            self.assert_in_step()
        self.assertIn('0.1.0', self.version())
        self.assert_nothing_remains()
