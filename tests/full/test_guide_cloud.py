# SPDX-License-Identifier: Apache-2.0

"""The installation guide, from the wheel to a reserved server, and back.

NOVA_RT_DEBIAN names a tree of Debian that also has the services of a cloud.
The services are those of the packages, started by the commands of their unit
files; the test writes to an overlay, and all runs in a network of its own.
Needs root, KVM and gcc.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from cloud import kvm
from cloud import kvm_images
import fixtures
import testtools

from tests.full import guide

_ROOT = pathlib.Path(__file__).parents[2]
_FILES = pathlib.Path(__file__).with_name('debian')
_TREE = os.environ.get('NOVA_RT_DEBIAN', '')
#: What only a tree with a cloud has.
_CLOUD = pathlib.Path(_TREE, 'usr/bin/keystone-manage')
#: $1 is the tree, $2 a scratch folder, $3 has our files.  The driver looks at
#: the tasks of the host, so there is no PID namespace; processes of the mount
#: namespace are ended instead.
_ENTER = '''
mount -t tmpfs none "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" \
    none "$2/root"
mount -t proc proc "$2/root/proc"
mount --rbind /sys "$2/root/sys"
mount --rbind /dev "$2/root/dev"
for each in run tmp sys/kernel/debug; do
    kind=tmpfs
    [ "$each" != sys/kernel/debug ] || kind=debugfs
    mount -t $kind none "$2/root/$each"
done
chmod 755 "$2/root/run"
ip link set lo up
hostname compute1
install -m 755 "$3/systemctl.py" "$2/root/usr/local/bin/systemctl"
cp -r "$3/." "$2/root/root/"
end() {
    own=$(readlink /proc/self/ns/mnt)
    for each in /proc/[0-9]*; do
        [ "$(readlink "$each/ns/mnt")" != "$own" ] ||
            [ "${each#/proc/}" = $$ ] || kill -9 "${each#/proc/}"
    done 2>/dev/null
}
trap end EXIT
chroot "$2/root" env -i HOME=/root LANG=C.UTF-8 PYTHONWARNINGS=ignore \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -ec 'cd /root; . ./walk.sh'
'''
_TOLERANCE = 0.01


@unittest.skipUnless(_TREE, 'NOVA_RT_DEBIAN names no tree of Debian')
@unittest.skipUnless(_CLOUD.exists(), 'the tree of Debian has no Keystone')
@unittest.skipIf(os.geteuid(), 'needs root')
class GuideCloudTest(testtools.TestCase):

    def prepare(self) -> pathlib.Path:
        """Returns a folder with all that the walk needs."""
        own = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        subprocess.run(
            [sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps',
             '-w', str(own), str(_ROOT)], check=True,
            env={**os.environ, 'NOVA_RT_WITHOUT_BPF': '1'})
        wheel, = own.glob('*.whl')
        for each in (*_FILES.glob('*.sh'), *_FILES.glob('*.py')):
            shutil.copy(each, own)
        kvm_images.build(own)
        last = (os.cpu_count() or 1) - 1
        for name, script in guide.walk(wheel.name).items():
            (own / f'guide-{name}.sh').write_text(
                script.replace('= 0-15', f'= 0-{last}').replace(
                    '= 2-15', f'= {last}'))
        return own

    def walk(self) -> str:
        """Follows the guide in the tree; returns what it prints."""
        scratch = self.useFixture(fixtures.TempDir()).path
        result = subprocess.run(
            ['unshare', '--mount', '--net', '--uts', 'sh', '-ec', _ENTER,
             'sh', _TREE, scratch, str(self.prepare())],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL)
        self.assertEqual(0, result.returncode, result.stdout)
        return result.stdout

    def test_a_reserved_server_and_back(self) -> None:
        if reason := kvm.lacking():
            self.skipTest(reason)
        printed = self.walk()
        sys.stdout.write(printed)
        self.assertNotIn('Traceback', printed)
        self.assertIn('current runtime/deadline/period parameters: '
                      '100000000/200000000/200000000', printed)
        self.assertRegex(printed, '1 host, 1 server with a reservation, '
                                  '0 differences')
        shares = [float(each) for each in
                  re.findall('^share (.*)$', printed, re.MULTILINE)]
        self.assertEqual(2, len(shares))
        for share in shares:
            self.assertAlmostEqual(0.5, share, delta=_TOLERANCE)
        self.assertIn('plain ACTIVE', printed)
        self.assertEqual(
            {'VCPU', 'MEMORY_MB', 'DISK_GB'},
            set(re.findall('^has (.*)$', printed, re.MULTILINE)))
