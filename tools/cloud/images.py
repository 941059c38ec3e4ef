# SPDX-License-Identifier: Apache-2.0

"""The two container images: built without mounting, stored through Glance.

``lxc-busybox`` idles, ``lxc-busy`` keeps several tasks spinning. Both are
ext4 file systems with a static busybox as init.
"""

import pathlib
import shutil
import subprocess
import tempfile

from keystoneauth1 import adapter
from keystoneauth1.identity import v3
from keystoneauth1 import session

from cloud import settings

SIZE = '8M'
# More than a small flavor has vCPUs, so that a reservation is really tested.
BUSY_TASKS = 3

# Init starts equal lines only once, hence the numbers.
INITTABS = {
    'lxc-busybox': '::respawn:/bin/sleep 2147483647\n',
    'lxc-busy': ''.join(
        f'::respawn:/bin/busy {task}\n' for task in range(BUSY_TASKS)),
}
BUSY_SCRIPT = '#!/bin/sh\nwhile :; do :; done\n'
PROPERTIES = {'disk_format': 'raw', 'container_format': 'bare',
              'visibility': 'public', 'hypervisor_type': 'lxc'}


def upload(cloud: settings.Settings) -> None:
    """Build and upload the images that Glance has not got yet."""
    glance = _glance(cloud)
    stored = {image['name'] for image in
              glance.get('/v2/images').json()['images']}
    for name in INITTABS.keys() - stored:
        with tempfile.TemporaryDirectory(dir=cloud.run) as scratch:
            _store(glance, name, _build(name, pathlib.Path(scratch)))


def _glance(cloud: settings.Settings) -> adapter.Adapter:
    admin = v3.Password(
        auth_url=cloud.auth_url, username='admin', project_name='admin',
        password=settings.PASSWORD, user_domain_name='Default',
        project_domain_name='Default')
    return adapter.Adapter(session.Session(auth=admin), service_type='image')


def _store(glance: adapter.Adapter, name: str, image: pathlib.Path) -> None:
    created = glance.post('/v2/images', json={'name': name, **PROPERTIES})
    with image.open('rb') as content:
        glance.put(f'/v2/images/{created.json()["id"]}/file', data=content,
                   headers={'Content-Type': 'application/octet-stream'})


def _build(name: str, scratch: pathlib.Path) -> pathlib.Path:
    root = scratch / 'root'
    _fill(root, INITTABS[name])
    image = scratch / f'{name}.raw'
    subprocess.run(
        ['mkfs.ext4', '-q', '-O', '^has_journal', '-d', root, image, SIZE],
        check=True, stdout=subprocess.DEVNULL)
    return image


def _fill(root: pathlib.Path, inittab: str) -> None:
    for directory in ('bin', 'dev', 'etc', 'proc', 'sbin', 'sys', 'tmp'):
        (root / directory).mkdir(parents=True)
    shutil.copy(_busybox(), root / 'bin' / 'busybox')
    for link in ('bin/sh', 'bin/sleep', 'sbin/init'):
        (root / link).symlink_to('/bin/busybox')
    (root / 'etc' / 'inittab').write_text(inittab)
    (root / 'bin' / 'busy').write_text(BUSY_SCRIPT)
    (root / 'bin' / 'busy').chmod(0o755)


def _busybox() -> str:
    path = shutil.which('busybox')
    if path is None:
        raise FileNotFoundError('busybox is not installed')
    return path
