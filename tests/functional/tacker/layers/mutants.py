# SPDX-License-Identifier: Apache-2.0

"""Mutants of descriptors and packages: bytes, values, paths and links."""

import contextlib
import copy
import pathlib
import random
import shutil
import zipfile

import yaml

SAMPLES = pathlib.Path(__file__).parents[4] / 'tosca-samples'
VNFDS = sorted((*SAMPLES.glob('legacy/*.yaml'),
                *SAMPLES.glob('*/*/Definitions/vnfd.yaml')))
_PACKAGES = sorted(path.parents[1] for path in SAMPLES.glob(
    '*/*/Definitions/vnfd.yaml') if 'invalid' not in path.parts)
_PATHS = ('../x.yaml', '../../x', '/etc/hostname', 'file:/etc/passwd',
          'http://127.0.0.1:9/a', 'a/../../b.yaml', '..', '.', '\\..\\x',
          'x\0y', 'true; touch PWNED; true : 1', '/dev/zero', '~/.profile')
_TEXTS = ("it's", '1.10', 'yes', '060000', '12:34', '{ get_resource: x }',
          'a: {b', "'", '#x', '', '\n', 'ü', '2026-11-22', '*a', '&a b')
_KEYS = ('cpu.rt_runtime_us', 'cpu.rt_period_us', 'cpu.rt_runtime',
         'cpu.rt_carrier', 'runtime_us', 'cpu_allocation',
         'vdu_cpu_requirements', 'VDU1', 'VDU_A')
_VALUES = (None, 0, -1, 10 ** 30, float('nan'), True, [], {}, '60000',
           50_000, '1e5', '60 ms', '\u0663', '5000', 1_000_000,
           {'get_input': 'x'}, {'get_property': ['SELF', 'name']},
           {'get_attribute': ['SELF', 'x']}, {'concat': ['a', 'b']},
           {'token': ['a', ':', 0]}, *_PATHS, *_TEXTS)
_BYTES = (b'', b'\n', b'\t', b': ', b'- ', b'{', b']', b'&a ', b'*a', b'"',
          b"'", b'!!python/object/apply:os.system [x]', b'!!binary x',
          b'\xff', b'\0', b'%', b'---\n', b'imports: [../x]\n', b'<<: *a')


class Case:
    """A folder with a mutant in ``in``, and the random choices about it."""

    def __init__(self, seed, folder):
        self.random = random.Random(seed)  # noqa: S311
        self.folder = folder
        self.inside, self.out = folder / 'in', folder / 'out'
        self.csar, self.temporary = folder / 'o.csar', folder / 'tmp'
        self.inside.mkdir()
        self.temporary.mkdir()
        # A file that nobody gave to the commands, but to which hostile paths
        # lead.
        for name in ('x', 'x.yaml', 'b.yaml'):
            (folder / name).write_text('topology_template: {}\n')

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
            where[self.random.choice(
                (*_KEYS, *_PATHS, *_TEXTS))] = where.pop(key)
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
        source = self.random.choice(VNFDS)
        path = self.inside / 'vnfd.yaml'
        if self.random.random() < .3:
            path.write_bytes(self.damaged(source.read_bytes()))
            return path
        tree = self.tree(source)
        if isinstance(tree, dict) and self.random.random() < .3:
            tree['imports'] = [self.random.choice(_PATHS)]
        path.write_text(dumped(tree))
        return path

    def package(self):
        path = self.inside / 'package'
        shutil.copytree(self.random.choice(_PACKAGES), path)
        file = self.random.choice(sorted(
            one for one in path.rglob('*') if one.is_file()))
        if self.random.random() < .5 and file.suffix == '.yaml':
            file.write_text(dumped(self.tree(file)))
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

    def texts(self):
        """A valid descriptor with random texts."""
        path = self.inside / 'texts.yaml'
        texts = {name: ''.join(self.random.choices(
            '''abc012:{}[]'"#&*!|>%@`,-?\\ \n\tyesno.é''',
            k=self.random.randint(0, 20)))
            for name in ('user_data', 'availability_zone')}
        texts['metadata'] = {'a': texts['user_data'], 'b': 'b'}
        tree = yaml.safe_load((SAMPLES / 'legacy/paper-5.1.yaml').read_text())
        node = tree['topology_template']['node_templates']['VDU_A']
        node['properties'] = texts
        node['capabilities']['nfv_compute']['properties']['cpu_allocation'][
            'cpu.rt_runtime_us'] = self.random.randint(2, 100_000)
        path.write_text(yaml.safe_dump(tree))
        return path


def _places(value):
    inner = (value.items() if isinstance(value, dict)
             else enumerate(value) if isinstance(value, list) else ())
    for key, item in list(inner):
        yield value, key
        yield from _places(item)


def dumped(tree):
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
