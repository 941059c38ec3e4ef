# SPDX-License-Identifier: Apache-2.0

"""One file with all of the probe, for machines without an installation."""

import os
import pathlib
import zipapp

from nova_rt import version
from rt_probe import errors

#: What ``rt-probe --version`` reads in a bundle.
_METADATA = 'Metadata-Version: 2.1\nName: {}\nVersion: {}\n'
_MAIN = 'from rt_probe import __main__\n'
#: The modules that the probe imports, as patterns relative to the directory
#: that holds all packages.
_FILES = ('rt_probe/*.py', 'nova_rt/__init__.py', 'nova_rt/version.py',
          'nova_rt/machine/__init__.py', 'nova_rt/machine/host/*.py')


def write(path: str) -> None:
    """Writes the probe as one file, which any Python from 3.11 on runs.

    :raises ProbeError: when the file cannot be written, or when the probe
        itself runs from such a file
    """
    packages = pathlib.Path(__file__).parents[1]
    if not packages.is_dir():
        raise errors.ProbeError('this rt-probe already is a single file: '
                                'copy that file')
    scratch = f'{path}.{os.getpid()}'
    try:
        _write(packages, pathlib.Path(scratch))
        os.replace(scratch, path)
    except OSError as error:
        raise errors.ProbeError(f'{path} cannot be written: {error.strerror}'
                                ) from error


def _write(packages: pathlib.Path, target: pathlib.Path) -> None:
    # The module tempfile would need a /tmp, which a container may not have.
    source = target.with_name(f'{target.name}.d')
    source.mkdir()
    try:
        _copy(packages, source)
        zipapp.create_archive(source, target, '/usr/bin/env python3',
                              compressed=True)
    finally:
        _remove(source)


def _copy(packages: pathlib.Path, source: pathlib.Path) -> None:
    (source / '__main__.py').write_text(_MAIN, encoding='ascii')
    _describe(source / f'nova_rt-{version.get()}.dist-info')
    for path in (path for files in _FILES for path in packages.glob(files)):
        copied = source / path.relative_to(packages)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes(path.read_bytes())


def _describe(folder: pathlib.Path) -> None:
    folder.mkdir()
    (folder / 'METADATA').write_text(
        _METADATA.format(version.PACKAGE, version.get()), encoding='ascii')


def _remove(source: pathlib.Path) -> None:
    for path in sorted(source.rglob('*'), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    source.rmdir()
