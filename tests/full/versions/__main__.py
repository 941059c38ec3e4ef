# SPDX-License-Identifier: Apache-2.0

"""Compares a built wheel of this commit with one of an earlier commit.

usage: python -m tests.full.versions [COMMIT]

Each version publishes: maps of hosts, inventories, claims, notes of hints.
Each reads what both published.  An upgrade and a downgrade lose nothing where
a reader makes the same of both.  A host of a version without masks gets no
server with a mask or with NUMA cells, and reads no masked claim: it refuses
the claim whole.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from tests.full.versions import builds

_WORKER = pathlib.Path(__file__).with_name('worker.py')


def main(commit: str = builds.FIRST) -> int:
    """Returns the exit status, 1 where a reader finds a difference."""
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        places = {'old': builds.install(base / 'old', commit, '0.0.1'),
                  'new': builds.install(base / 'new', 'HEAD', '0.1.0')}
        published = {name: _work(place, 'publish')
                     for name, place in places.items()}
        failed = False
        for reader, place in places.items():
            own, other = (_work(place, 'read', published[writer])
                          for writer in (reader, *places.keys() - {reader}))
            for what in own:
                failed |= _compare(reader, what, own[what], other[what])
        failed |= _mixed(places, published)
    return int(failed)


def _mixed(places: dict[str, pathlib.Path], published: dict[str, Any]
           ) -> bool:
    """Prints the results for cells and masks; True if they are wrong."""
    sent = _work(places['new'], 'takes', published['old'])
    back = _work(places['old'], 'takes', published['new'])
    print(f'new sends the old host: {sent["cells and masks for the host"]}')
    print(f'old reads a masked claim as {back["masked claim"]}', flush=True)
    knows = published['old']['masked'] is not None
    return bool(sent['cells and masks for the host']) or (
        published['new']['masked'] is None) or not (
        knows or 'InvalidClaim' in back['masked claim'])


def _compare(reader: str, what: str, own: Any, other: Any) -> bool:
    """Prints one line; returns whether the two results differ."""
    same = own == other and 'Error' not in repr(own)
    print(f'{reader} reads {what} of both versions: '
          f'{"the same" if same else f"{own} and {other}"}', flush=True)
    return not same


def _work(place: pathlib.Path, what: str, given: Any = None) -> Any:
    """Runs the worker with a version, away from this tree."""
    done = subprocess.run(
        [sys.executable, _WORKER, what], cwd=place, check=True,
        input=json.dumps(given), text=True, stdout=subprocess.PIPE,
        env={**os.environ, 'PYTHONPATH': str(place),
             'PYTHONWARNINGS': 'ignore'})
    return json.loads(done.stdout)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
