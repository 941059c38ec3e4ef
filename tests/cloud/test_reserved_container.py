# SPDX-License-Identifier: Apache-2.0

"""Tests a reserved container on real parts: from the API to the kernel."""

import pathlib

from openstack import exceptions

from tests.cloud import base

MACHINE = base.host.MACHINE
CPUSET = base.groups.tree('cpuset') / 'machine'


def policies(group: str) -> set[tuple[str, str]]:
    """Returns (policy, name) of the guest's tasks, without the keeper."""
    keeper = group.split('-')[1]
    found = set()
    for task in base.groups.tasks(MACHINE / group):
        stat = pathlib.Path(f'/proc/{task}/stat').read_text()
        rest = stat.rpartition(')')[2].split()
        status = pathlib.Path(f'/proc/{task}/status').read_text()
        if f'\nTgid:\t{keeper}\n' not in status:
            found.add((rest[38], stat[stat.index('('):stat.rindex(')') + 1]))
    return found


class ReservedContainerTestCase(base.CloudTestCase):

    def test_flavor(self):
        server = self.boot(self.flavor())
        found = self.on_host(server)
        self.assertEqual((1, 100_000, 200_000), (
            len(found.claim.cpus), found.claim.reservation.runtime_us,
            found.claim.reservation.period_us))
        self.assertEqual({'runtime_us': 100_000, 'period_us': 200_000},
                         found.kernel)
        cpus = (CPUSET / found.group / 'cpuset.cpus').read_text()
        self.assertEqual(str(found.claim.cpus[0]), cpus.strip())
        # 2 is SCHED_RR: the policy of init and of the tasks that init started.
        self.assertEqual({('2', '(init)'), ('2', '(busy)')},
                         policies(found.group))
        self.assert_parent_holds_all()
        self.delete(server)
        self.assert_nothing_left()

    def test_hint_wins_per_key(self):
        server = self.boot(self.flavor(), {'cpu.rt_runtime_us': 120_000})
        self.assertEqual({'runtime_us': 120_000, 'period_us': 200_000},
                         self.on_host(server).kernel)
        self.assertEqual({'cpu.rt_runtime_us': 120_000},
                         self.claim(server).hints)

    def test_two_servers_spread(self):
        flavor = self.flavor(40_000, 100_000)
        first, second = self.boot(flavor), self.boot(flavor)
        self.assertEqual({0, 1}, {self.claim(first).cpus[0],
                                  self.claim(second).cpus[0]})

    def test_six_at_once_where_three_fit(self):
        flavor = self.flavor(30_000, 100_000, self.pools())
        # Busy guests would leave a tenth of each CPU to Nova.
        servers = [self.begin(flavor, image='lxc-busybox')
                   for _ in range(6)]
        self.eventually('all are decided', lambda: 'BUILD' not in [
            self.cloud.compute.get_server(server).status
            for server in servers])
        self.assertEqual(
            ['ACTIVE'] * 3 + ['ERROR'] * 3,
            sorted(self.cloud.compute.get_server(server).status
                   for server in servers))
        self.assertEqual(900_000, base.host.charged(self.settings))
        self.assert_parent_holds_all()
        for server in servers:
            self.delete(server)
        self.assert_nothing_left()

    def test_no_room(self):
        flavor = self.flavor(vcpus=self.pools())
        self.boot(flavor)
        refused = self.boot(flavor, wanted='ERROR')
        fault = self.cloud.compute.get_server(refused).fault['message']
        self.assertIn('No valid host was found', fault)
        self.assertIn('500000 free CUSTOM_RT_SHARE',
                      self.settings.log_file('nova').read_text())

    def test_bad_hints(self):
        flavor = self.flavor()
        for hints, words in (
                ({'cpu.rt_runtime_us': 'abc'}, "cpu.rt_runtime_us='abc'"),
                ({'cpu.rt_runtime_us': None}, 'cpu.rt_runtime_us=None'),
                ({'cpu.rt_runtime_us': 300_000}, 'more than the period'),
                ({'cpu.rt_deadline_us': 1}, 'there is no such hint')):
            error = self.assertRaises(
                exceptions.BadRequestException, self.boot, flavor, hints)
            self.assertIn(words, str(error))

    def test_bad_flavors(self):
        for specs, words in (
                ({'runtime': 300_000}, 'more than the period of 200000'),
                ({'period': 5_000_000},
                 'a period in this cloud must be 1000 to 1000000'),
                ({'hw:cpu_policy': 'dedicated'}, 'shared pCPUs')):
            error = self.assertRaises(
                exceptions.BadRequestException, self.flavor, **specs)
            self.assertIn(words, str(error))

    def test_hard_reboot(self):
        server = self.boot(self.flavor())
        before = self.on_host(server)
        after = self.hard_reboot(server)
        self.assertEqual({'runtime_us': 100_000, 'period_us': 200_000},
                         after.kernel)
        self.assertEqual(before.claim, after.claim)

    def test_audit_mends_the_kernel(self):
        server = self.boot(self.flavor())
        group = MACHINE / self.on_host(server).group
        base.take(group, 50_000)
        self.eventually(
            'the budget of the claim',
            lambda: base.groups.budget(group) == (100_000, 200_000))

    def test_host_without_reservations(self):
        flavor = self.flavor()
        server = self.boot(flavor)
        base.cloud('restart', '--set',
                   'nova_rt.hcbs_scheduler_available=false')
        self.addCleanup(base.cloud, 'restart', '--set',
                        'nova_rt.hcbs_scheduler_available=true')
        self.assertEqual({'runtime_us': 100_000, 'period_us': 200_000},
                         self.on_host(server).kernel)
        self.boot(flavor, wanted='ERROR')
        self.assertEqual('ACTIVE', self.cloud.compute.get_server(
            server).status)
