# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.groups and domains, on hosts made of files."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

import ddt

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import detect
from rt_monitor import domains
from rt_monitor import finding
from rt_monitor import groups
from rt_monitor import servers

DOMAIN = '''<domstatus state='running' reason='booted' pid='{pid}'>
<domain type='{kind}' id='1'><name>instance-00000001</name>
<uuid>{uuid}</uuid><metadata>
<nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1">
<nova:name>web &lt;1&gt;</nova:name><nova:flavor name="rt.small"/>
<nova:owner><nova:project uuid="p1">demo</nova:project></nova:owner>
<nova:ports><nova:port uuid="q"><nova:ip type="fixed"
address="10.0.0.5" ipVersion="4"/></nova:port></nova:ports>
</nova:instance><nova-rt:server xmlns:nova-rt="urn:nova-rt:server:1">
<nova-rt:vnf>v1</nova-rt:vnf><nova-rt:floating address="203.0.113.7"/>
</nova-rt:server></metadata><devices>
<interface type='bridge'><target dev='lo'/></interface>
<interface type='bridge'><target dev='gone'/></interface>
<interface type='bridge'/></devices><vcpu placement='static'>2</vcpu></domain>
</domstatus>'''
UUID = '7b2d0a4e-0b0c-4a57-9a5e-3f6f0f8f7c11'
V1 = ('/sys/fs/cgroup/cpu', 'cgroup {} cgroup rw,cpu 0 0', 'cpu',
      '/machine/qemu-1-instance-00000001.libvirt-qemu')
V2 = ('/sys/fs/cgroup', 'cgroup2 {} cgroup2 rw 0 0', '',
      '/machine.slice/machine-qemu\\x2d1\\x2dinstance.scope/libvirt')


@ddt.ddt
class FinderTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        kinds = mock.patch.object(detect, 'installed', return_value={})
        kinds.start()
        self.addCleanup(kinds.stop)

    def put(self, path, text=''):
        file = self.root / path.lstrip('/')
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def host(self, mount, line, controller, group, pid=70):
        self.put('/proc/self/mounts', line.format(mount))
        self.put(f'{mount}/cgroup.controllers', 'cpu')
        for vcpu in (0, 1):
            self.put(f'{mount}{group}/vcpu{vcpu}/tasks')
        self.put(f'{mount}{group}/emulator/tasks')
        self.task(pid, 'qemu-system-x86', controller, f'{group}/emulator')
        self.put('/run/libvirt/qemu/instance-00000001.xml',
                 DOMAIN.format(pid=pid, uuid=UUID, kind='qemu'))
        return host_files.Host(str(self.root))

    def task(self, pid, comm, controller, group):
        self.put(f'/proc/{pid}/task/{pid}/stat',
                 f'{pid} ({comm}) ' + ' '.join(['S', *'0' * 50]))
        self.put(f'/proc/{pid}/task/{pid}/cgroup',
                 f'4:{controller}:{group}\n')

    def inode(self, path):
        return os.stat(self.root / path.lstrip('/')).st_ino

    @ddt.data(V1, V2)
    def test_machine(self, where):
        mount, _, _, group = where
        [server] = groups.Finder(self.host(*where)).find()
        self.assertEqual(servers.Watched(UUID, {
            servers.WHOLE: self.inode(mount + group),
            0: self.inode(f'{mount}{group}/vcpu0'),
            1: self.inode(f'{mount}{group}/vcpu1'),
        }, 2, 'web <1>', 'p1', 'rt.small',
            addresses=('10.0.0.5', '203.0.113.7'),
            taps=(1,), sockets=False, vnf='v1'), server)

    def test_libvirt_keeps_something_new(self):
        """libvirt writes a new file and replaces the old one with it."""
        host = self.host(*V1)
        finder = groups.Finder(host)
        finder.find()
        [path] = (self.root / 'run/libvirt/qemu').glob('*.xml')
        new = path.with_suffix('.new')
        new.write_text(path.read_text().replace('203.0.113.7', '203.0.113.8'))
        new.rename(path)
        [server] = finder.find()
        self.assertEqual(('10.0.0.5', '203.0.113.8'), server.addresses)

    def test_comes_and_goes(self):
        finder = groups.Finder(self.host(*V1))
        self.assertEqual(1, len(finder.find()))
        for path in sorted((self.root / (V1[0] + V1[3])[1:]).rglob('*'),
                           reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        (self.root / (V1[0] + V1[3])[1:]).rmdir()
        self.assertEqual([], finder.find())

    def test_unchanged_groups_cost_no_walk_over_tasks(self):
        finder = groups.Finder(self.host(*V1))
        found = finder.find()
        with mock.patch.object(groups.proc, 'walk') as walk:
            self.assertEqual(found, finder.find())
        walk.assert_not_called()

    def test_a_budget_that_changes(self):
        """Reading a budget takes several files, so servers take turns."""
        finder = groups.Finder(self.host(*V1))
        old, new = servers.Granted(1, 4), servers.Granted(2, 4)
        with mock.patch.object(finder, '_granted', return_value=old):
            self.assertEqual([old], [server.reservation
                                     for server in finder.find()])
        with mock.patch.object(finder, '_granted', return_value=new) as look:
            seen = [finder.find()[0].reservation
                    for _ in range(groups.TURNS)]
        self.assertEqual(new, seen[-1])
        look.assert_called_once_with(mock.ANY, mock.ANY)

    @ddt.data('', '<domstatus', "<domstatus pid='70'/>", '<x/>')
    def test_a_domain_that_nobody_describes(self, text):
        host = self.host(*V1)
        self.put('/run/libvirt/qemu/instance-00000001.xml', text)
        [server] = groups.Finder(host).find()
        self.assertEqual('qemu-1-instance-00000001.libvirt-qemu',
                         server.uuid)

    def test_a_machine_by_its_command_line(self):
        host = self.host(*V1)
        self.put('/run/libvirt/qemu/instance-00000001.xml')
        self.put('/proc/70/cmdline', f'qemu\0-uuid\0{UUID}\0-smp\0')
        [server] = groups.Finder(host).find()
        self.assertEqual((UUID, 0, ''), (server.uuid, server.vcpus,
                                         server.name))

    @ddt.data('', '<domstatus', '<x/>', "<domstatus pid='x'/>")
    def test_keepers(self, broken):
        host = self.host(*V1)
        self.put('/run/libvirt/lxc/a.xml', "<domstatus pid='7'/>")
        self.put('/run/libvirt/lxc/b.xml', broken)
        self.assertEqual([7, 70], sorted(domains.keepers(host)))

    def test_no_cgroups(self):
        self.put('/proc/self/mounts')
        self.assertEqual([], groups.Finder(
            host_files.Host(str(self.root))).find())

    def test_through_the_pipe(self):
        for reservation in (None, servers.Granted(1, 2)):
            found = [servers.Watched(UUID, {servers.WHOLE: 1, 0: 2}, 1,
                                     'n\n', 'p', 'f', reservation,
                                     ('10.0.0.5',), (3, 4), False, 'v')]
            self.assertEqual(found, finding.decode(finding.encode(found)))
