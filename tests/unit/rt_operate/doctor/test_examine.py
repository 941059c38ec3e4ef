# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.examine: nothing on a host can end it."""

import errno
from unittest import mock

from rt_operate.doctor.checks import config
from rt_operate.doctor import examine
from rt_operate.doctor import findings
from rt_operate.doctor import options
from rt_operate.doctor import view as doctor_view
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_GARBAGE = ('', '-1 garbage', '9' * 30, b'\xff\xfe\x00')
#: Between them all forms of files.
_HOSTS = {name: kernels.ALL[name] for name in (
    'rt_group_sched', 'hcbs_multi', 'hcbs_rfc_multi', 'rt_max_cpuset')}


class ExamineTest(base.DoctorTest):

    def test_ids_of_checks_are_unique(self):
        names = [name for topic in examine.TOPICS for name in topic.CHECKS]
        self.assertCountEqual(set(names), names)

    def test_a_good_host(self):
        for name, files in kernels.ALL.items():
            with self.subTest(name):
                found = self.examine(
                    files, base.MAPPED, virt_type='lxc')
                bad = [one for one in found.values()
                       if one.level is not findings.Level.OK]
                self.assertEqual([], bad)

    def test_a_check_that_crashes(self):
        def crash(view):
            yield findings.ok('before', 'It is kept.')
            raise RuntimeError('a\n  b.')

        with mock.patch.dict(config.CHECKS, {'config.crash': crash}):
            found = self.examine(base.F1)
        self.assert_ok(found, 'before')
        self.assert_problem(found, 'config.crash',
                            'This check could not be completed: a b.')
        self.assert_ok(found, 'containers.chrt')

    def test_an_empty_host(self):
        found = self.examine()
        self.assert_problem(found, 'host.seen', '/proc/self/status')

    def test_garbage_in_any_file(self):
        for name, files in _HOSTS.items():
            host = self.host(files)
            for path in files:
                for garbage in _GARBAGE:
                    with self.subTest(name, path=path, garbage=garbage):
                        base.write(host.root, {path: garbage})
                        self.look(host)
                base.write(host.root, {path: files[path]})

    def test_any_file_refused(self):
        for name, files in _HOSTS.items():
            host = self.host(files)
            for path in files:
                for number in (base.EPERM, errno.ENODEV):
                    with self.subTest(name, path=path, number=number):
                        host.refused = {path: number}
                        self.look(host)

    def look(self, host):
        self.say(doctor_view.View(host, options.Options()))
