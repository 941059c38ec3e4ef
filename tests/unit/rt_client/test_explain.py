# SPDX-License-Identifier: Apache-2.0

import types

from rt_client import explain
from tests.unit.rt_client import base

ASKS = ('The server asks for 40000 us every 100000 us (share 0.400) on each '
        'of 2 vCPUs.')
#: What Placement is asked for, one class or trait in each request.
QUESTIONS = ('VCPU%3A2', 'MEMORY_MB%3A64', 'DISK_GB%3A1',
             'CUSTOM_RT_BANDWIDTH%3A800000', 'CUSTOM_RT_SHARE%3A400000')


class ExplainTest(base.TestCase):

    hosts = (base.host('a', [0, 0, 0], takes=frozenset(('numa',))),
             base.host('b', [900_000, 0]),
             base.host('c', [], reason='the kernel has no interface'))

    def setUp(self):
        super().setUp()
        self.server()
        self.every = [{'uuid': f'uuid-of-{name}'} for name in 'abc']
        self.placement.answers['/resource_providers'] = (
            200, {'resource_providers': self.every})

    def server(self, fault='No valid host was found. ', hints=None, **specs):
        specs = specs or {'runtime_us': '40000', 'period_us': '100000'}
        self.compute.named['s'] = types.SimpleNamespace(id='u')
        self.compute.answers['/servers/u'] = (200, {'server': {
            'id': 'u', 'status': 'ERROR', 'scheduler_hints': hints or {},
            'fault': {'message': fault}, 'flavor': {
                'vcpus': 2, 'ram': 64, 'disk': 1, 'ephemeral': 0,
                'extra_specs': {f'hw:cpu.rt_{key}': value
                                for key, value in specs.items()}}}})

    def explain(self):
        return self.rows(explain.Explain, 's')

    def test_each_host(self):
        self.assertEqual([
            ['server', 'ERROR',
             f'{ASKS}\nNova says: No valid host was found. '],
            ['a', 'yes', ''],
            ['b', 'no',
             'fewer than 2 pCPUs have room; the emptiest has 0.950 free'],
            ['c', 'no', 'the host offers no reservations: the kernel has no '
             'interface']], self.explain())

    def test_what_placement_alone_refuses(self):
        for number, amount in enumerate(QUESTIONS):
            begin = f'/resource_providers?resources={amount}'
            self.placement.answers[begin] = (
                200, {'resource_providers': self.every[1:]})
            with self.subTest(amount):
                amount, name = amount.split('%3A')[::-1]
                lines = self.explain()[1][2].split('\n')
                self.assertEqual(number + 1, len(lines))
                self.assertEqual(f'Placement: the host does not have {amount} '
                                 f'free {name}', lines[-1])

    def test_a_host_without_the_trait(self):
        self.placement.answers['/resource_providers?required'] = (
            200, {'resource_providers': []})
        self.assertEqual('Placement: the host does not have the trait '
                         'CUSTOM_HCBS', self.explain()[1][2])

    def test_a_handful_of_requests(self):
        self.explain()
        self.assertEqual(2, len(self.compute.asked))
        self.assertEqual(6, len(self.placement.asked))

    def test_who_may_not_see_hosts_reads_of_none(self):
        self.compute.answers['/nova-rt/hosts'] = (403, {})
        self.assertEqual(1, len(self.explain()))
        self.assertEqual([], self.placement.asked)

    def test_hints_count(self):
        self.server(hints={'cpu.rt_runtime_us': '98000'})
        self.assertIn('The server asks for 98000 us', self.explain()[0][2])
        self.assertEqual('the share is above the cap of 0.950',
                         self.explain()[1][2])

    def test_a_flavor_that_hosts_do_not_take(self):
        self.server(runtime_us='40000', period_us='100000', mask='^0')
        rows = self.explain()
        self.assertIn('on 1 vCPU.', rows[0][2])
        self.assertEqual('the host takes no flavor with hw:cpu.rt_mask',
                         rows[1][2])

    def test_no_reservation(self):
        self.server(other='1')
        self.assertEqual([['server', 'ERROR', 'The server asks for no '
                           'reservation.\nNova says: No valid host was '
                           'found. ']], self.explain())

    def test_a_bad_flavor(self):
        self.server(runtime_us='5')
        self.assertIn("Invalid flavor extra spec hw:cpu.rt_runtime_us=5",
                      self.explain()[0][2])

    def test_a_topology(self):
        server = self.compute.answers['/servers/u'][1]['server']
        server['flavor']['extra_specs']['hw:mem_page_size'] = 'large'
        self.assertEqual([
            ['a', 'yes', 'NUMA cells, huge pages and devices are not counted '
             'here, so that fewer servers may fit'],
            ['b', 'no', 'the host takes no flavor with NUMA cells or a page '
             'size\nfewer than 2 pCPUs have room; the emptiest has 0.950 '
             'free']], self.explain()[1:3])
