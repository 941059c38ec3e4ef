# SPDX-License-Identifier: Apache-2.0

"""Puts the distribution with the entry point where Python looks for it."""

import pathlib
import sys

import fixtures

from nova_rt.machine import privsep

_POINTS = """\
[nova_rt.kernel]
guarantee = tests.emulation.eighth.interface:Guarantee
"""


class Installed(fixtures.Fixture):
    """While it is in use, the invented interface is installed."""

    def _setUp(self) -> None:
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        info = folder / 'eighth-1.0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: eighth\nVersion: 1.0\n')
        (info / 'entry_points.txt').write_text(_POINTS)
        sys.path.insert(0, str(folder))
        self.addCleanup(sys.path.remove, str(folder))
        # privsep asks once which files the installed interfaces write.
        privsep._installed_forms.cache_clear()
        self.addCleanup(privsep._installed_forms.cache_clear)
