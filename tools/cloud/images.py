# SPDX-License-Identifier: Apache-2.0

"""Stores the images for the cloud's kind of guests in Glance."""

import pathlib
import shutil
import tempfile

from cloud import glance
from cloud import kvm_images
from cloud import lxc_images
from cloud import qemu_images
from cloud import settings

UPLOADS = {'lxc': lxc_images.upload, 'qemu': qemu_images.upload,
           'kvm': kvm_images.upload}


def upload(cloud: settings.Settings) -> None:
    """Builds and uploads the images that Glance does not have yet."""
    busybox = shutil.which('busybox')
    if busybox is None:
        raise FileNotFoundError('busybox is not installed')
    with tempfile.TemporaryDirectory(dir=cloud.run) as scratch:
        UPLOADS[cloud.guest](glance.Glance(cloud), pathlib.Path(busybox),
                             pathlib.Path(scratch))
