# SPDX-License-Identifier: Apache-2.0

"""CPU time of a machine's vCPUs, and of its other threads."""

import os

from rt_monitor import servers
from tests.functional.kernel.monitor import base

GROUPS = ('vcpu0', 'vcpu1', 'emulator', 'iothread1')
#: Works for this much CPU time, in s, and prints the CPU time in ns, without
#: the time that Python needed before.
BUSY = '''
import sys, time
begun = time.thread_time_ns()
while time.thread_time_ns() - begun < float(sys.argv[1]) * 1e9:
    pass
print(time.thread_time_ns() - begun, flush=True)
sys.stdin.read()
'''
#: Lets a worker of the kernel read zeroes, as KVM has workers in the group of
#: a vCPU: io_uring with IOSQE_ASYNC.  Prints the CPU time of process and
#: worker.
WORKER = '''
import ctypes, glob, mmap, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
params = ctypes.create_string_buffer(120)
ring = libc.syscall(425, 4, params)
assert ring >= 0, ctypes.get_errno()
fields = struct.unpack_from('=30I', params.raw)
tail, mask, array = fields[11], fields[12], fields[16]
head = fields[20:22]
queue = mmap.mmap(ring, 4096)
entries = mmap.mmap(ring, 4096, offset=0x10000000)
zero = os.open('/dev/zero', os.O_RDONLY)
target = mmap.mmap(-1, 1 << 28)
address = ctypes.addressof(ctypes.c_char.from_buffer(target))
for turn in range(int(sys.argv[1])):
    entries[:64] = struct.pack('=BBHiQQIIQ24x', 22, 16, 0, zero, 0, address,
                               1 << 28, 0, turn)
    queue[array:array + 4] = struct.pack('=I', 0)
    queue[tail:tail + 4] = struct.pack('=I', turn + 1)
    done = libc.syscall(426, ring, 1, 1, 1, None, 0)
    assert done == 1, (done, ctypes.get_errno())
    at = struct.unpack('=I', queue[head[1]:head[1] + 4])[0]
    queue[head[0]:head[0] + 4] = struct.pack('=I', at)
workers = 0
for path in glob.glob('/proc/self/task/*/'):
    if open(path + 'comm').read().startswith('iou-wrk'):
        workers += int(open(path + 'schedstat').read().split()[0])
print(workers, flush=True)
sys.stdin.read()
'''


class EmulatorTest(base.WatchedTest):

    def setUp(self) -> None:
        super().setUp()
        self.paths = {name: self.inner(name) for name in GROUPS}
        whole = self.servers[0].groups[servers.WHOLE]
        self.monitor.watch([servers.Watched(base.UUID, {
            servers.WHOLE: whole, **{number: os.stat(
                self.paths[f'vcpu{number}']).st_ino for number in (0, 1)}})])
        self.begun = self.monitor.read()

    def run_in(self, name: str, program: str, argument: str) -> int:
        """Runs a program in a group, and returns the ns that it prints."""
        child = self.python(
            f'import os\nopen({str(self.paths[name])!r} "/cgroup.procs", "w")'
            f'.write("0")\n' + program, argument)
        assert child.stdout is not None
        return int(child.stdout.readline())

    def test_each_thread_is_of_a_vcpu_or_beside(self) -> None:
        used = {name: self.run_in(name, BUSY, seconds) for name, seconds in (
            ('vcpu0', '0.2'), ('vcpu1', '0.3'), ('emulator', '0.4'),
            ('iothread1', '0.5'))}
        seen = self.usage()
        # Before a program joins the group of a vCPU, it runs in the group of
        # the server.
        vcpus = used['vcpu0'] + used['vcpu1']
        self.assertLessEqual(vcpus, seen.vcpus_ns)
        self.assertLessEqual(seen.vcpus_ns, vcpus * 1.1)
        self.assertLessEqual(used['emulator'] + used['iothread1'],
                             seen.emulator_ns)
        self.assertEqual(seen.whole.totals.ran,
                         seen.vcpus_ns + seen.emulator_ns)

    def test_workers_of_the_kernel_are_not_the_vcpu(self) -> None:
        before = self.usage()
        worked = self.run_in('vcpu0', WORKER, '2')
        seen = self.usage().since(before)
        self.assertGreater(worked, 0)
        self.assertGreaterEqual(seen.emulator_ns, worked)
        self.assertLess(seen.vcpus[0].totals.ran, worked)
