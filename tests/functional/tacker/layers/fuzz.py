# SPDX-License-Identifier: Apache-2.0

"""Mutants of descriptors and packages, through validate, translate and pack.

Arguments: the seed and the number.  JSON out: counts by what was done and
its exit status, findings, the longest CPU seconds of one, and the megabytes
that the process had grown by at its largest.
"""

import collections
import contextlib
import copy
import io
import json
import os
import pathlib
import random
import resource
import shutil
import sys
import time
import traceback
import zipfile

import yaml

_TOP = pathlib.Path(__file__).parents[4]
sys.path.insert(0, str(_TOP))

from tacker_rt.cmd import main  # noqa: E402
from tacker_rt import translate  # noqa: E402
from tacker_rt.vnfd import typefiles  # noqa: E402

_SAMPLES = _TOP / 'tosca-samples'
_VNFDS = sorted((*_SAMPLES.glob('legacy/*.yaml'),
                 *_SAMPLES.glob('*/*/Definitions/vnfd.yaml')))
_PACKAGES = sorted(path.parents[1] for path in _SAMPLES.glob(
    '*/*/Definitions/vnfd.yaml') if 'invalid' not in path.parts)
_PATHS = ('../x.yaml', '../../x', '/etc/hostname', 'file:/etc/passwd',
          'http://127.0.0.1:9/a', 'a/../../b.yaml', '..', '.', '\\..\\x',
          'x\0y', 'true; touch PWNED; true : 1', '/dev/zero', '~/.profile')
_TEXTS = ("it's", '1.10', 'yes', '060000', '12:34', '{ get_resource: x }',
          'a: {b', "'", '#x', '', '\n', 'ü', '2026-11-22', '*a', '&a b')
_VALUES = (None, 0, -1, 10 ** 30, float('nan'), True, [], {}, '60000',
           {'get_input': 'x'}, {'get_property': ['SELF', 'name']},
           {'get_attribute': ['SELF', 'x']}, {'concat': ['a', 'b']},
           {'token': ['a', ':', 0]}, *_PATHS, *_TEXTS)
_BYTES = (b'', b'\n', b'\t', b': ', b'- ', b'{', b']', b'&a ', b'*a', b'"',
          b"'", b'!!python/object/apply:os.system [x]', b'!!binary x',
          b'\xff', b'\0', b'%', b'---\n', b'imports: [../x]\n', b'<<: *a')


class _Case:
    def __init__(self, seed, folder):
        self.random = random.Random(seed)  # noqa: S311
        self.folder = folder
        self.inside = folder / 'in'
        self.inside.mkdir()

    def tree(self, source):
        """A mutant of a descriptor."""
        tree = yaml.safe_load(source.read_text())
        for _ in range(self.random.randint(0, 3)):
            self.edit(tree)
        return tree

    def edit(self, tree):
        places = list(_places(tree))
        if not places:
            return
        where, key = self.random.choice(places)
        kind = self.random.choice('svdrcw')
        if kind in 'sv':
            where[key] = copy.deepcopy(self.random.choice(_VALUES))
        elif kind == 'd':
            del where[key]
        elif kind == 'r' and isinstance(where, dict):
            where[self.random.choice((*_PATHS, *_TEXTS))] = where.pop(key)
        elif kind == 'c':
            other, there = self.random.choice(places)
            with contextlib.suppress(LookupError):
                where[key] = copy.deepcopy(other[there])
        else:
            where[key] = [where[key]]

    def damaged(self, data):
        for _ in range(self.random.randint(1, 4)):
            at = self.random.randint(0, len(data))
            data = (data[:at] + self.random.choice(_BYTES)
                    + data[at + self.random.randint(0, 12):])
        return data

    def vnfd(self):
        source = self.random.choice(_VNFDS)
        path = self.inside / 'vnfd.yaml'
        if self.random.random() < .3:
            path.write_bytes(self.damaged(source.read_bytes()))
            return path
        tree = self.tree(source)
        if isinstance(tree, dict) and self.random.random() < .3:
            tree['imports'] = [self.random.choice(_PATHS)]
        path.write_text(_dumped(tree))
        return path

    def package(self):
        path = self.inside / 'package'
        shutil.copytree(self.random.choice(_PACKAGES), path)
        file = self.random.choice(sorted(
            one for one in path.rglob('*') if one.is_file()))
        if self.random.random() < .5 and file.suffix == '.yaml':
            file.write_text(_dumped(self.tree(file)))
        else:
            file.write_bytes(self.damaged(file.read_bytes()))
        if self.random.random() < .2:
            (path / 'Definitions' / 'link.yaml').symlink_to(
                self.random.choice(('/etc/passwd', '../../..', 'vnfd.yaml',
                                    'link.yaml')))
        return path

    def archive(self):
        path = self.inside / 'a.csar'
        package = self.package()
        method = self.random.choice((zipfile.ZIP_STORED, zipfile.ZIP_LZMA,
                                     zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
        with zipfile.ZipFile(path, 'w', method) as archive:
            for file in sorted(package.rglob('*')):
                if file.is_file() and not file.is_symlink():
                    archive.write(file, file.relative_to(package))
            if self.random.random() < .7:
                archive.writestr('TOSCA-Metadata/TOSCA.meta',
                                 'Entry-Definitions: Definitions/vnfd.yaml\n')
            if self.random.random() < .3:
                archive.writestr(self.random.choice(_PATHS), b'x')
        if self.random.random() < .5:
            data = bytearray(path.read_bytes())
            for _ in range(self.random.randint(1, 4)):
                data[self.random.randrange(len(data))] = (
                    self.random.randrange(256))
            path.write_bytes(data)
        return path


def _places(value):
    inner = (value.items() if isinstance(value, dict)
             else enumerate(value) if isinstance(value, list) else ())
    for key, item in list(inner):
        yield value, key
        yield from _places(item)


def _dumped(tree):
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def _validate(case):
    path = case.random.choice((case.vnfd, case.package, case.archive))()
    return 'validate', str(path)


def _translate(case):
    return ('translate', '--output-dir', str(case.folder / 'out'),
            '--image', 'i', str(case.vnfd()))


def _pack(case):
    source = case.random.choice((case.vnfd, case.package))()
    return 'pack', '--image', 'i', str(source), str(case.folder / 'o.csar')


def _listed(folder):
    return {path for path in folder.rglob('*')
            if path.relative_to(folder).parts[:1] not in (
                ('in',), ('out',), ('o.csar',))}


def _run(argv):
    """Exit status, and a traceback or a text of many lines."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main(list(argv))
    except SystemExit as error:
        status = error.code
    except BaseException:
        return 'traceback', traceback.format_exc()
    if 'Traceback' in err.getvalue():
        return 'traceback', err.getvalue()
    return status, None


def _texts_kept(case):
    """Random texts of a VNF, through translate and the file it writes."""
    path = case.inside / 'texts.yaml'
    texts = {name: ''.join(case.random.choices(
        '''abc012:{}[]'"#&*!|>%@`,-?\\ \n\tyesno.é''', k=case.random.randint(
            0, 20))) for name in ('user_data', 'availability_zone')}
    texts['metadata'] = {'a': texts['user_data'], 'b': 'b'}
    tree = yaml.safe_load((_SAMPLES / 'legacy/paper-5.1.yaml').read_text())
    node = tree['topology_template']['node_templates']['VDU_A']
    runtime = case.random.randint(2, 100_000)
    node['properties'] = texts
    node['capabilities']['nfv_compute']['properties']['cpu_allocation'][
        'cpu.rt_runtime_us'] = runtime
    path.write_text(yaml.safe_dump(tree))
    made = yaml.safe_load(yaml.safe_dump(translate.translate(path)))
    server = made['hot.yaml']['resources']['VDU_A']['properties']
    return (texts == {key: server[key] for key in texts}
            and server['scheduler_hints'] == {
                'cpu.rt_runtime_us': runtime, 'cpu.rt_period_us': 100_000})


def _megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main_loop(seed, count):
    typefiles.of_tacker()
    _run(('translate', str(_VNFDS[0])))
    before, longest = _megabytes(), 0.0
    counts, findings = collections.Counter(), []
    for number in range(count):
        folder = pathlib.Path.cwd() / f'case{number}'
        folder.mkdir()
        case = _Case(f'{seed}-{number}', folder)
        kind = case.random.choice((_validate, _validate, _translate, _pack,
                                   _texts_kept))
        started = time.process_time()
        if kind is _texts_kept:
            kept = _texts_kept(case)
            counts['texts'] += 1
            if not kept:
                findings.append([number, 'a text has changed'])
        else:
            argv = kind(case)
            known = _listed(folder) | set(pathlib.Path.cwd().iterdir())
            status, text = _run(argv)
            counts[f'{argv[0]} {status}'] += 1
            if text:
                findings.append([number, text[-600:]])
            stray = (_listed(folder) | set(pathlib.Path.cwd().iterdir())
                     ) - known
            if stray:
                findings.append([number, f'stray: {sorted(map(str, stray))}'])
        longest = max(longest, time.process_time() - started)
        shutil.rmtree(folder)
    json.dump({'counts': counts, 'findings': findings[:20],
               'seconds': longest, 'megabytes': _megabytes() - before},
              sys.stdout)


if __name__ == '__main__':
    os.umask(0o077)
    main_loop(sys.argv[1], int(sys.argv[2]))
