# SPDX-License-Identifier: Apache-2.0

"""Tests that changed descriptors are refused, or read correctly.

A refusal is a sentence.
"""

import copy
import pathlib
import zipfile

import fixtures
import hypothesis
from hypothesis import strategies as st
from oslotest import base
import yaml

from tacker_rt import exception
from tacker_rt import problem
from tacker_rt import validate
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import yamlfile
from tests.unit import base as unit
from tests.unit.tacker_rt import oracle
from tests.unit.tacker_rt import samples

#: A policy, with an input, above what the VDU says itself.
_POLICY = {'tosca_definitions_version': 'tosca_simple_yaml_1_2',
           **samples.sol001(
               samples.hints('60000', '100000'),
               inputs={'x': {'type': 'integer', 'default': 70_000}},
               policies=[samples.policy({'runtime_us': {'get_input': 'x'},
                                         'period_us': 100_000})])}
_TEXTS = [*(path.read_bytes() for path in samples.valid()),
          *[yaml.safe_dump(_POLICY, sort_keys=False).encode()] * 3]
#: The same in each run: a failure here is seen by who caused it.  Look for
#: more with another number.
_PROPERTY = hypothesis.settings(
    unit.PROPERTY, max_examples=600, derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow])

_WORDS = st.sampled_from([
    oracle.RUNTIME, oracle.PERIOD, 'cpu.rt_runtime', 'cpu_rt_period_us',
    'cpu.rt_carrier', 'runtime_us', 'flavor', 'get_input', 'cpu_allocation',
    'vdu_cpu_requirements', 'capabilities', 'properties', 'policies',
    'tosca.nodes.nfv.Vdu.Compute', 'tosca.nodes.nfv.VDU.Tacker',
    'tacker_rt.policies.CpuReservation', 'VDU1', 'VDU_A', 'both'])
_VALUES = st.one_of(
    st.integers(-10, 200_000), st.integers(1, 200_000).map(str), _WORDS,
    st.none(), st.booleans(), st.floats(), st.text(max_size=5),
    st.just([]), st.just({}), st.just({'get_input': 'x'}),
    st.sampled_from(['60 ms', '1e5', '٣', 10 ** 30, '0', '060000']))
_EDITS = st.sampled_from(['set', 'delete', 'rename', 'wrap', 'copy'])
_BYTES = st.sampled_from([
    b'', b'\n', b' ', b'  ', b'\t', b':', b'- ', b'{', b']', b'&a ', b'*a',
    b'"', b"'", b'#', b'|', b'!!int ', b'\xff', b'\x00', b'0', b'7', b'x',
    b'cpu.rt_runtime_us: 5\n', b'null', b'<<: *a', b'---\n', b'%', b'\r'])


def _paths(value, path=()):
    """Each (container, key) in a tree."""
    inner = (value.items() if isinstance(value, dict)
             else enumerate(value) if isinstance(value, list) else ())
    for key, item in list(inner):
        yield value, key
        yield from _paths(item)


def _edit(draw, tree):
    """Change one place of *tree*."""
    places = list(_paths(tree))
    where, key = places[draw(st.integers(0, len(places) - 1))]
    edit = draw(_EDITS)
    if edit == 'set':
        where[key] = copy.deepcopy(draw(_VALUES))
    elif edit == 'delete':
        del where[key]
    elif edit == 'wrap':
        where[key] = draw(st.sampled_from([
            [where[key]], {'x': where[key]}, {'get_input': where[key]}]))
    elif edit == 'copy':
        other, there = places[draw(st.integers(0, len(places) - 1))]
        where[key] = copy.deepcopy(other[there])
    elif isinstance(where, dict):
        text = str(key)
        at = draw(st.integers(0, len(text)))
        name = draw(st.one_of(_WORDS, st.just(text[:at] + text[at + 1:]),
                              st.just(text[:at] + 'x' + text[at:])))
        where[name] = where.pop(key)


@st.composite
def _trees(draw):
    tree = yaml.safe_load(draw(st.sampled_from(_TEXTS)))
    for _ in range(draw(st.integers(1, 3))):
        if tree:
            _edit(draw, tree)
    return tree


@st.composite
def _texts(draw):
    data = draw(st.sampled_from(_TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        data = data[:start] + draw(_BYTES) + data[start + length:]
    return data


class FuzzTest(base.BaseTestCase):

    def check(self, data):
        """Checks that it is refused in lines, or read as by the oracle."""
        found = []
        template = yamlfile.load(problem.Place(found, 'f'), data)
        if template is not None:
            vdus, problems = descriptor.examine({'f': template})
            found += problems
        for one in found:
            self.assertNotIn('\n', str(one))
            self.assertTrue(str(one).startswith('f: '), one)
        if not found:
            self.compare(template, vdus)

    def compare(self, template, vdus):
        expected = oracle.read(template)
        self.assertEqual(expected.keys(), vdus.keys())
        for name, vdu in vdus.items():
            self.assertTrue(expected[name].agrees(
                vdu.hints,
                lambda value: isinstance(value, descriptor.Input)), vdu)
            if vdu.reservation:
                self.assertLessEqual(2, vdu.reservation.runtime_us)
                self.assertLessEqual(vdu.reservation.runtime_us,
                                     vdu.reservation.period_us)
                self.assertLessEqual(vdu.reservation.period_us, 4_194_304)
            if len(vdu.hints) == 1:
                self.assertIsNotNone(vdu.flavor)
        self.assertEqual(0, oracle.lost(template))

    def test_samples_as_they_are(self):
        self.assertGreater(len(_TEXTS), 5)
        for text in _TEXTS:
            self.check(text)

    @hypothesis.given(_trees())
    @_PROPERTY
    def test_edited_trees(self, tree):
        self.check(yaml.safe_dump(tree, allow_unicode=True).encode())

    @hypothesis.given(_texts())
    @_PROPERTY
    def test_edited_texts(self, data):
        self.check(data)

    @hypothesis.given(st.recursive(
        _VALUES, lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(_WORDS, inner, max_size=3), max_leaves=9))
    @_PROPERTY
    def test_any_request(self, value):
        request = {'nfv': {'VDU': {'VDU1': value}}}
        template = samples.sol001(samples.hints('60000', '100000'))
        _, found = descriptor.examine({'f': template}, request=request)
        for one in found:
            self.assertNotIn('\n', str(one))


class ArchiveFuzzTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = folder / 'a.csar'
        package = samples.INVALID / 'package-meta'
        with zipfile.ZipFile(self.path, 'w',
                             zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(package.rglob('*')):
                archive.write(file, file.relative_to(package))
        self.data = self.path.read_bytes()

    @hypothesis.given(st.data())
    @hypothesis.settings(unit.PROPERTY, max_examples=200,
                         derandomize=True)
    def test_damaged(self, drawn):
        data = bytearray(self.data)
        for _ in range(drawn.draw(st.integers(1, 4))):
            data[drawn.draw(st.integers(0, len(data) - 1))] = drawn.draw(
                st.integers(0, 255))
        self.path.write_bytes(
            data[:drawn.draw(st.sampled_from([len(data), 300, 2_000]))])
        try:
            found = validate.validate(str(self.path))
        except exception.InvalidVnfd as error:
            found = [error.kwargs['problem']]
        for one in found:
            self.assertNotIn('\n', str(one))
