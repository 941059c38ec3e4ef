# SPDX-License-Identifier: Apache-2.0

"""The installation guide, followed word for word on packages of Debian.

NOVA_RT_DEBIAN names a tree with a Debian system that has python3-pip,
nova-compute-qemu, nova-scheduler and nova-api.  The test writes to an overlay
and leaves the tree as it is.  Needs root.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import fixtures
import testtools

from tests.full import guide

_ROOT = pathlib.Path(__file__).parents[2]
_TREE = os.environ.get('NOVA_RT_DEBIAN', '')
#: In a mount namespace of its own: $1 is the tree, $2 a scratch folder.
_ENTER = '''
mount -t tmpfs none "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" \
    none "$2/root"
mount -t proc proc "$2/root/proc"
cp -r "$3/." "$2/root/root/"
chroot "$2/root" env -i HOME=/root LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -exc 'cd /root; . ./walk.sh'
'''
#: Prints the packages before and after as the last but one lines.
_WALK = '''
pip list --format freeze > before
{guide}
pip list --format freeze > after
diff before after || true
python3 -W ignore guide_check.py > answer.json
cat answer.json
'''


@unittest.skipUnless(_TREE, 'NOVA_RT_DEBIAN names no tree of Debian')
@unittest.skipIf(os.geteuid(), 'needs root')
class GuideTest(testtools.TestCase):

    def walk(self) -> str:
        """Follows the guide in the tree; returns what it prints."""
        scratch, own = (pathlib.Path(self.useFixture(fixtures.TempDir()).path)
                        for _ in range(2))
        subprocess.run(
            [sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps',
             '-w', str(own), str(_ROOT)], check=True,
            env={**os.environ, 'NOVA_RT_WITHOUT_BPF': '1'})
        wheel, = own.glob('*.whl')
        shutil.copy(_ROOT / 'tests/full/guide_check.py', own)
        (own / 'walk.sh').write_text(
            _WALK.format(guide=guide.script(wheel.name)))
        result = subprocess.run(
            ['unshare', '--mount', '--pid', '--fork', 'sh', '-ec', _ENTER,
             'sh', _TREE, str(scratch), str(own)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(0, result.returncode, result.stdout)
        return result.stdout

    def test_the_walk(self) -> None:
        printed = self.walk()
        self.assertNotIn('Traceback', printed)
        changed = [line for line in printed.splitlines()
                   if line.startswith(('< ', '> '))]
        self.assertEqual(1, len(changed), changed)
        self.assertIn('> nova-rt==', changed[0].replace('nova_rt', 'nova-rt'))
        answer = json.loads(printed.splitlines()[-1])
        self.assertEqual('nova_rt.services.virt.libvirt.driver',
                         answer['driver'])
        self.assertEqual(
            ('RTShareFilter', [], 'ReservationHints', 'root'),
            (answer['enabled'][-1], answer['unknown'], answer['middleware'],
             answer['rootwrap']))
        self.assertEqual(['RTCHRWeigher', 'RTInterferenceWeigher',
                          'RTShareWeigher'], answer['weighers'])
        for pipeline in answer['pipelines']:
            self.assertEqual('nova_rt', pipeline[
                pipeline.index('keystonecontext') + 1])
