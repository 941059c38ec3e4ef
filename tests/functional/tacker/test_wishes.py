# SPDX-License-Identifier: Apache-2.0

"""Tests that a request's wish is given to all of a VDU and kept, or refused.

Whole lives run in Tacker's own code (see layers/lives.py): each operation with
and without a wish, failing at each of its steps, then rolled back or tried
again.  The reservations of all servers, and the values that Tacker and the
stack keep, are compared with the tables below.  Failing operations are
sampled, with another sample each day (NOVA_RT_DAY), unless
TACKER_RT_LIVES=all.
"""

import dataclasses
import os
import pathlib
import tempfile
import unittest

from tacker_rt.package import pack
from tests.functional.tacker import layers
from tests.functional.tacker import samples
from tests.functional.tacker import vnfs
from tests import seeds

_ALL = os.environ.get('TACKER_RT_LIVES') == 'all'
#: The number of lives with a failure in a sample.
_A_DAY = 5
_KEY = 'cpu.rt_runtime_us'
_ASKED, _MORE = 31_000, 33_000
_WEB_A, _WEB_B = [20_000, 100_000], [25_000, 100_000]
_DB_A, _DB_B = [10_000, 50_000], [12_000, 50_000]
#: The marks of wishes: none, a number, too large a number, and the end of an
#: earlier wish.
_NO, _YES, _WRONG, _BACK = 'no wish', 'a wish', 'a wrong wish', 'taken back'
_VALUES = {_YES: _MORE, _WRONG: 999_999_999, _BACK: None}

#: The wish when the VNF was instantiated, the reservation of web then, and
#: what is kept.
_BEFORE = {'plain': (_WEB_A, {}),
           'asked': ([_ASKED, 100_000], {'web': {_KEY: _ASKED}})}

#: The results of a change of the package for web and for what is kept; db has
#: the values of the new VNFD.
_CHANGED = {
    ('plain', _NO): (_WEB_B, {}),
    ('plain', _YES): ([_MORE, 100_000], {'web': {_KEY: _MORE}}),
    ('plain', _BACK): (_WEB_B, {}),
    ('asked', _NO): ([_ASKED, 100_000], {'web': {_KEY: _ASKED}}),
    ('asked', _YES): ([_MORE, 100_000], {'web': {_KEY: _MORE}}),
    ('asked', _BACK): (_WEB_B, {}),
}

#: How many servers of web an operation adds.  Operations without a wish
#: succeed, operations with a wish are refused, and all reservations stay.
_OTHERS = {'scale out': 1, 'scale in': -1, 'heal': 0, 'heal all': 0,
           'change of connectivity': 0}
#: Tacker cannot roll these operations back: they are tried again.
_NO_ROLLBACK = ('scale in', 'heal', 'heal all')

_FIRST = 'instantiate'
_INSTANTIATE = ('instantiate', {
    'flavourId': 'simple', 'instantiationLevelId': 'two',
    'extVirtualLinks': vnfs.networks('net')})
#: The operation changes all servers, too.
_PART = 'change of package that names web'
_CHANGE = {'upgrade_type': 'RollingUpdate'}
_BODIES = {
    'scale out': ('scale', {'type': 'SCALE_OUT', 'aspectId': 'web_scale'}),
    'scale in': ('scale', {'type': 'SCALE_IN', 'aspectId': 'web_scale'}),
    'heal': ('heal', {'vnfcInstanceId': [{'vnfc': 'web'}]}),
    'heal all': ('heal', {'additionalParams': {'all': True}}),
    'change of connectivity': ('change_ext_conn', {
        'extVirtualLinks': vnfs.networks('other')}),
    'change of package': ('change_vnfpkg', {
        'vnfdId': {'vnfd': 'b'}, 'additionalParams': {
            **_CHANGE, 'vdu_params': [{'vdu_id': 'web'}, {'vdu_id': 'db'}]}}),
    _PART: ('change_vnfpkg', {
        'vnfdId': {'vnfd': 'b'}, 'additionalParams': {
            **_CHANGE, 'vdu_params': [{'vdu_id': 'web'}]}}),
}


@dataclasses.dataclass(frozen=True)
class Life:
    """An operation in the life of a VNF that was instantiated before."""

    form: str
    before: str
    operation: str
    wish: str
    fail: int | None = None
    then: str | None = None
    #: Tacker has deleted the stack and cannot make another.
    lost: bool = False

    def case(self, packages):
        before = {'plain': {}, 'asked': _nfv(_ASKED)}[self.before]
        wish = (_nfv(_VALUES[self.wish]) if self.wish in _VALUES else {})
        steps = [(*_INSTANTIATE, before)]
        if self.operation == _FIRST:
            steps = [(*_INSTANTIATE, wish or before)]
        else:
            steps.append((*_BODIES[self.operation], wish))
        made = [{'operation': operation, 'body': _with(self.form, body, nfv)}
                for operation, body, nfv in steps]
        made[-1].update(fail=self.fail, then=self.then)
        return {'packages': packages[self.form], 'flavors': {},
                'steps': made}

    @property
    def refused(self):
        """Tells whether the operation must refuse the wish."""
        return (self.wish == _WRONG or self.operation in _OTHERS
                and self.wish != _NO)

    def expected(self):
        """Returns reservations by VDU, and what Tacker and the stack keep."""
        servers, kept = self._expected()
        return ({}, kept, {}) if self.lost else (servers, kept, kept)

    def _expected(self):
        count = vnfs.COUNTS['web'] if self.form != 'single' else 1
        web, kept = _BEFORE[self.before]
        done = not self.refused and self.then != 'rollback'
        if self.operation == _FIRST and not done:
            return {}, {}
        if self.operation in _OTHERS:
            count += _OTHERS[self.operation] if done else 0
        elif done and self.operation != _FIRST:
            web, kept = _CHANGED[self.before, self.wish]
            return {'web': [web] * count, 'db': [_DB_B]}, kept
        return {'web': [web] * count, 'db': [_DB_A]}, kept


def _with(form, body, nfv):
    return {**body, 'additionalParams': {
        'lcm-operation-user-data': 'tacker_rt/userdata/v2.py',
        'lcm-operation-user-data-class': vnfs.FORMS[form],
        **body.get('additionalParams', {}), **nfv}}


def _nfv(value):
    return {'nfv': {'VDU': {'web': {_KEY: value}}}}


def _lives():
    for form in vnfs.FORMS:
        for before in _BEFORE:
            for operation in _BODIES:
                if form == 'single' and operation.startswith('scale'):
                    continue
                wishes = (_NO,) if operation == _PART else (_NO, *_VALUES)
                for wish in wishes:
                    yield Life(form, before, operation, wish)
            for wish in (_NO, _WRONG):
                yield Life(form, before, _FIRST, wish)


def _failing(life, steps):
    """Yields the same life with each step failing, and the next steps."""
    for number, step in enumerate(steps, 1):
        if life.operation not in _NO_ROLLBACK:
            yield dataclasses.replace(life, fail=number, then='rollback')
        lost = life.operation == 'heal all' and step == 'request: POST'
        yield dataclasses.replace(life, fail=number, lost=lost,
                                  then='fail' if lost else 'retry')


class WishesTest(unittest.TestCase):

    maxDiff = None

    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        self.packages = {form: {
            version: str(vnfs.make(form, version, folder))
            for version in vnfs.VERSIONS} for form in vnfs.FORMS}

    def test_operations(self):
        lives = list(_lives())
        told = self.lived(lives)
        failing = [life for each, steps in zip(lives, told, strict=True)
                   if not each.refused
                   for life in _failing(each, steps[-1]['heat'])]
        total = len(failing)
        if not _ALL:
            failing = seeds.sample(self.id()).sample(failing, _A_DAY)
        print(f'{len(lives)} operations, {len(failing)} of {total} that '
              f'fail: NOVA_RT_DAY={seeds.day()}')
        self.lived(failing)

    def test_the_way_back(self):
        """Tacker's user data read nothing, and allow the rollback."""
        life = Life('individual', 'plain', 'heal', _WRONG)
        case = life.case(self.packages)
        heal = case['steps'][-1]['body']['additionalParams']
        heal.update({
            'lcm-operation-user-data': 'tacker/sol_refactored/infra_drivers/'
                                       'openstack/userdata_standard.py',
            'lcm-operation-user-data-class': 'StandardUserData'})
        out, back = (dataclasses.replace(
            life, operation=operation, wish=wish).case(
                self.packages)['steps'][-1]
            for operation, wish in (('scale out', _NO),
                                    ('change of package', _BACK)))
        back['body']['vnfdId'] = {'vnfd': 'a'}
        case['steps'] += [{**out, 'then': 'fail'}, back, out]
        told, = layers.run('lives', [case])
        _, healed, refused, changed, scaled = told
        self.assertEqual({'web': {_KEY: _VALUES[_WRONG]}}, healed['kept'])
        self.assertEqual(('FAILED_TEMP', 'FAILED'),
                         (refused['state'], refused['then']))
        self.assertIn(
            'tacker_rt: kept with the stack: VDU web: '
            'cpu.rt_runtime_us=999999999: it is more than the period of '
            '100000; ask for another value, or for null, when you change the '
            'package.', refused['error'])
        for one, count in ((changed, 2), (scaled, 3)):
            self.assertEqual('COMPLETED', one['state'], one)
            self.assertEqual([{}, [_WEB_A] * count],
                             [one['kept'], one['servers']['web']])

    def test_a_mask_stays(self):
        """Servers that Tacker makes again, and those of a changed package."""
        lives = [Life(form, 'plain', operation, _NO)
                 for form in ('group', 'individual')
                 for operation in ('heal', 'heal all', 'scale out',
                                   'change of package')]
        with tempfile.TemporaryDirectory() as folder:
            packages = {form: {version: str(vnfs.make(
                form, version, pathlib.Path(folder), '^0'))
                for version in vnfs.VERSIONS} for form in vnfs.FORMS}
            told = layers.run('lives', [life.case(packages)
                                        for life in lives])
        for life, steps in zip(lives, told, strict=True):
            with self.subTest(life=life):
                self.compare_masks(life.operation, *steps)

    def compare_masks(self, operation, first, last):
        for one in (first, last):
            self.assertEqual('COMPLETED', one['state'], one)
        self.assertEqual({'web': ['^0'] * 2}, first['masks'])
        count = 3 if operation == 'scale out' else 2
        changed = operation == 'change of package'
        self.assertEqual({'web': ['^0'] * count}, last['masks'])
        self.assertEqual([_WEB_B if changed else _WEB_A] * count,
                         last['servers']['web'])
        if operation.startswith('heal'):
            self.assertGreater(last['made'], 0)

    def lived(self, lives):
        """Compares the answers of each life with the tables."""
        told = layers.run('lives', [life.case(self.packages)
                                    for life in lives])
        for life, steps in zip(lives, told, strict=True):
            with self.subTest(life=life):
                self.assertIsInstance(steps, list)
                self.compare(life, steps[0], steps[-1])
        return told

    def compare(self, life, first, last):
        if life.operation != _FIRST:
            self.assertEqual('COMPLETED', first['state'], first)
        self.assertEqual(
            life.expected(),
            (last['servers'], last['kept'], last['stack']), last)
        if life.refused:
            self.assertEqual('FAILED_TEMP', last['state'])
            self.assertEqual([], last['heat'])
            self.assertRegex(last['error'], r'tacker_rt: additionalParams: '
                             rf'VDU web: .*{_KEY}')
        elif life.fail is None:
            self.assertEqual('COMPLETED', last['state'], last)
        else:
            self.assertEqual('FAILED_TEMP', last['state'], last)
            self.assertEqual({'rollback': 'ROLLED_BACK', 'fail': 'FAILED',
                              'retry': 'COMPLETED'}[life.then],
                             last['then'], last)


class SamplesTest(unittest.TestCase):
    """Sends the requests of the samples through Tacker's own controller."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with tempfile.TemporaryDirectory() as folder:
            cls.told = dict(zip(_CHANGES, layers.run('lives', [
                _sample(pathlib.Path(folder), *steps)
                for steps in _CHANGES.values()]), strict=True))

    def test_change_of_package(self):
        made, changed = self.told['as it is']
        self.assertEqual({'VDU1': [[60_000, 100_000]]}, made['servers'])
        self.assertEqual('COMPLETED', changed['state'], changed)
        self.assertEqual({'VDU1': [[80_000, 100_000]]}, changed['servers'])

    def test_without_vdu_params(self):
        """The controller is Tacker's, and checks what it needs."""
        _, changed = self.told['no vdu_params']
        self.assertIn("'vdu_params' must exist", changed['refused'])

    def test_a_request_that_names_no_user_data(self):
        """Heat refuses the template: no server lacks its reservation."""
        made, _ = self.told['no user data']
        self.assertEqual('FAILED_TEMP', made['state'])
        self.assertEqual({}, made['servers'])
        self.assertIn(_MUST, made['error'])

    def test_a_change_that_names_no_user_data(self):
        """All reservations stay, because Tacker sends no template then."""
        _, changed = self.told['no user data for the change']
        self.assertEqual('COMPLETED', changed['state'], changed)
        self.assertEqual({'VDU1': [[60_000, 100_000]]}, changed['servers'])

    def test_a_change_with_user_data_of_tacker(self):
        """Heat refuses the template before it touches a server."""
        _, changed = self.told['user data of Tacker for the change']
        self.assertEqual('FAILED_TEMP', changed['state'])
        self.assertIn(_MUST, changed['error'])
        self.assertEqual(0, changed['made'])
        self.assertEqual({'VDU1': [[20_000, 100_000]]}, changed['servers'])


_MUST = ('the request must name lcm-operation-user-data '
         'tacker_rt/userdata/v2.py')
_UNNAMED = dict.fromkeys(('lcm-operation-user-data',
                          'lcm-operation-user-data-class'))


def _request(name, **parameters):
    """Returns the sample's request with other parameters; None drops one."""
    body = samples.request('change-vnfpkg', name)
    return {**body, 'additionalParams': {
        key: value for key, value in {
            **body['additionalParams'], **parameters}.items()
        if value is not None}}


#: Names of packages, and the requests to instantiate and to change.
_CHANGES = {
    'as it is': ('before', 'after', _request('instantiate'),
                 _request('change')),
    'no vdu_params': ('before', 'after', _request('instantiate'),
                      _request('change', vdu_params=None)),
    'no user data': ('before', 'after', _request('instantiate', **_UNNAMED),
                     _request('change')),
    'no user data for the change': (
        'before', 'after', _request('instantiate'),
        _request('change', **_UNNAMED)),
    'user data of Tacker for the change': (
        'sol001-individual', 'sol001-individual',
        _request('instantiate', **{
            'lcm-operation-user-data-class': 'RtStandardUserData'}),
        {**_request('change', **{
            'lcm-operation-user-data': 'tacker/sol_refactored/infra_drivers/'
                                       'openstack/userdata_standard.py',
            'lcm-operation-user-data-class': 'StandardUserData'}),
         'vnfdId': {'vnfd': 'sol001-individual'}}),
}


def _sample(folder, before, after, instantiate, change):
    packages = {}
    for name in (before, after):
        packages[name] = str(folder / f'{name}.csar')
        pack.write(pack.directory(
            samples.SAMPLES / samples.PACKAGES[name]),
            pathlib.Path(packages[name]))
    return {'packages': packages, 'flavors': {}, 'steps': [
        {'operation': 'instantiate', 'body': instantiate},
        {'operation': 'change_vnfpkg', 'body': change}]}
