# SPDX-License-Identifier: Apache-2.0

"""Hosts as sysfs and the two forms of hwloc's XML describe them."""

import pathlib

import ddt
import fixtures
from oslotest import base

from nova_rt.rules import exception
from rt_models.pinning import hosts

HWLOC_2 = """<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine" os_index="0">
{}
</object><cpukind cpuset="0x0000000f" forced_efficiency="0"/>
<cpukind cpuset="0x000000f0" forced_efficiency="1"/></topology>"""
PACKAGE_2 = """<object type="Package" os_index="{0}">
<object type="L3Cache" cpuset="{1}" depth="3">
<object type="L2Cache" cpuset="{1}" depth="2">
<object type="Core" os_index="0"><object type="PU" os_index="{2}"/>
<object type="PU" os_index="{3}"/></object>
<object type="Core" os_index="1"><object type="PU" os_index="{4}"/>
<object type="PU" os_index="{5}"/></object></object></object></object>"""


@ddt.ddt
class HostsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def write(self, path, text):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f'{text}\n')
        return str(target)

    def cpu(self, number, socket, siblings, cache, **more):
        path = f'sys/devices/system/cpu/cpu{number}'
        self.write(f'{path}/topology/physical_package_id', socket)
        self.write(f'{path}/topology/thread_siblings', siblings)
        for index, (level, shared) in enumerate(((1, siblings), (3, cache))):
            self.write(f'{path}/cache/index{index}/level', level)
            self.write(f'{path}/cache/index{index}/shared_cpu_map', shared)
        for name, text in more.items():
            self.write(f'{path}/{name}', text)

    def shape(self, host):
        return (host.sockets, host.caches, host.cores, host.pcpus,
                host.kinds)

    def test_sysfs(self):
        for number in range(8):
            self.cpu(number, number // 4, f'{3 << number // 2 * 2:x}',
                     f'{15 << number // 4 * 4:08x}')
        found = hosts.read(str(self.folder))
        self.assertEqual((2, 2, 4, 8, (8,)), self.shape(found))
        self.assertEqual((4, 4), (found.in_socket, found.in_cache))
        self.assertTrue(found.has_smt)

    def test_cpus_that_are_offline(self):
        for number in range(4):
            self.cpu(number, 0, f'{1 << number:x}', 'f',
                     online=int(number != 2))
        self.assertEqual(3, hosts.read(str(self.folder)).pcpus)
        self.write('sys/devices/system/cpu/online', '0-1')
        self.assertEqual(2, hosts.read(str(self.folder)).pcpus)

    def test_big_and_little(self):
        for number in range(6):
            self.cpu(number, 0, f'{1 << number:x}', '3f',
                     cpu_capacity=1024 if number < 2 else 446)
        self.assertEqual((2, 4), hosts.read(str(self.folder)).kinds)

    def test_hybrid_x86(self):
        for number in range(6):
            self.cpu(number, 0, f'{1 << number:x}', '3f')
        self.write('sys/devices/cpu_core/cpus', '0-3')
        self.write('sys/devices/cpu_atom/cpus', '4-5')
        self.assertEqual((4, 2), hosts.read(str(self.folder)).kinds)

    def test_hwloc_2(self):
        path = self.write('x.xml', HWLOC_2.format(
            PACKAGE_2.format(0, '0x0f', 0, 1, 2, 3)
            + PACKAGE_2.format(1, '0xf0', 4, 5, 6, 7)))
        self.assertEqual((2, 2, 4, 8, (4, 4)), self.shape(hosts.read(path)))

    def test_hwloc_1(self):
        text = HWLOC_2.format(PACKAGE_2.format(0, '0x0f', 0, 1, 2, 3))
        for level in (2, 3):
            text = text.replace(f'L{level}Cache', 'Cache')
        path = self.write('x.xml', text.replace('Package', 'Socket'))
        self.assertEqual((1, 1, 2, 4, (4,)), self.shape(hosts.read(path)))

    @ddt.data('', 'x', '<html/>', '<topology/>', '<topology',
              '<!DOCTYPE a [<!ENTITY b "c">]><topology/>',
              '<topology><object type="PU" os_index="x"/></topology>')
    def test_no_host(self, text):
        path = self.write('x.xml', text)
        error = self.assertRaises(exception.InvalidPinning, hosts.read, path)
        self.assertIn('Invalid --host', str(error))

    def test_this_machine(self):
        self.assertGreaterEqual(hosts.read('/').pcpus, 1)
