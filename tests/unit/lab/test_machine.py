# SPDX-License-Identifier: Apache-2.0

"""lab.machine: QEMU's command line, and the end of QEMU."""

import pathlib
import unittest

from lab import kernels
from lab import machine
from lab import programs

_PATH = pathlib.Path('/a,b')


def words(wanted: machine.Machine, modules: pathlib.Path | None = None
          ) -> str:
    kernel = kernels.Kernel('k', '1', _PATH, modules)
    return ' '.join(wanted.command(kernel, _PATH, _PATH, _PATH))


class CommandTest(unittest.TestCase):

    def test_commas_are_no_separators(self):
        self.assertIn('file=/a,,b,format=raw', words(machine.Machine()))

    def test_sriov(self):
        for device in ('igb', 'nvme'):
            found = words(machine.Machine(cpus=4, cells=2, device=device))
            for text in ('-device intel-iommu,', 'numa_node=1 ',
                         f'-device {device},bus=socket', ' intel_iommu=on'):
                self.assertIn(text, found)
        self.assertNotIn('numa_node', words(machine.Machine(device='igb')))
        self.assertNotIn('iommu', words(machine.Machine()))

    def test_bridge_of_the_device_is_last(self):
        # QEMU plugs a device without a bus into a bridge that is there, and
        # makes the disk of if=virtio last.
        found = words(machine.Machine(device='nvme'), _PATH)
        bridge = found.index('-device pxb-pcie')
        self.assertLess(found.index('-device intel-iommu'),
                        found.index('-device virtio-rng-pci'))
        for text in ('virtio-rng-pci', 'virtio-blk-pci', '-virtfs'):
            self.assertLess(found.rindex(text), bridge, text)
        self.assertNotIn('if=virtio', found)

    def test_clock(self):
        self.assertIn('-icount shift=2', words(machine.Machine(icount=True)))
        self.assertIn('-icount shift=4', words(machine.Machine(
            icount=True, instruction_ns=16)))
        self.assertNotIn('-icount', words(machine.Machine()))

    def test_parameters_end_the_line_of_the_kernel(self):
        found = machine.Machine(parameters=('skew_tick=1', 'a=b'))
        self.assertIn('no_timer_check skew_tick=1 a=b -drive', words(found))

    def test_frequency_of_the_counter(self):
        """A busy host would make the kernel measure another frequency."""
        self.assertIn(' tsc_early_khz=2445428 -drive', words(
            machine.Machine(tsc_khz=2_445_428)))
        # The deterministic clock has a frequency of its own.
        for other in (machine.Machine(icount=True, tsc_khz=2_445_428),
                      machine.Machine()):
            self.assertNotIn('tsc_early_khz', words(other))

    def test_turns(self):
        self.assertIn('tcg,thread=multi', words(machine.Machine()))
        for taken in (machine.Machine(takes_turns=True),
                      machine.Machine(icount=True)):
            self.assertIn('tcg,thread=single', words(taken))

    def test_modules_come_with_a_first_root(self):
        self.assertNotIn('-initrd', words(machine.Machine()))
        self.assertIn('-initrd', words(machine.Machine(), _PATH))

    def test_kvm_needs_what_qemu_emulates(self):
        self.assertNotIn('svm', words(machine.Machine()))
        self.assertIn('+svm,+npt', words(machine.Machine(kvm=True)))

    def test_tolerance(self):
        self.assertEqual(
            [0.05, 0.005, 0.02, 0.005],
            [machine.Machine(cpus=1, kvm=kvm, icount=icount).tolerance
             for kvm in (False, True) for icount in (False, True)])

    def test_cpus_that_take_turns_are_not_exact(self):
        """Timers of one CPU wait for the turn of the other."""
        found = machine.Machine(cpus=2, kvm=True, icount=True)
        self.assertFalse(found.is_exact)
        self.assertEqual(0.02, found.tolerance)

    def test_cells(self):
        found = words(machine.Machine(cpus=4, memory=3072, cells=2, pages=64))
        for part in ('-m 3072', '-smp 4,sockets=2,cores=2',
                     'id=memory1,size=1536M',
                     'nodeid=1,memdev=memory1,cpus=2-3',
                     'dist,src=0,dst=1,val=20', 'hugepages=0:64,1:64'):
            self.assertIn(part, found)

    def test_one_cell_has_no_topology(self):
        self.assertNotIn('-numa', words(machine.Machine()))
        self.assertNotIn('hugepages', words(machine.Machine()))
        self.assertIn('hugepages=0:9', words(machine.Machine(pages=9)))

    def test_each_cpu_is_a_socket(self):
        """Without ACPI, a kernel finds no second core of a socket."""
        self.assertIn('-smp 4,sockets=4 ', words(machine.Machine(cpus=4)))

    def test_a_root_that_is_shared(self):
        found = words(machine.Machine(shares_root=True))
        self.assertNotIn('-drive', found)
        for part in ('root=/dev/root ro rootfstype=9p',
                     'local,id=root,path=/a,,b,security_model=none,'
                     'multidevs=remap,readonly=on',
                     'virtio-9p-pci,fsdev=root,mount_tag=/dev/root'):
            self.assertIn(part, found)
        self.assertNotIn('readonly', words(machine.Machine()))

    def test_no_network(self):
        self.assertIn('-nodefaults', words(machine.Machine()))
        self.assertNotIn('-net', words(machine.Machine()).split())


class RunTest(unittest.TestCase):

    def test_out_of_time(self):
        self.assertFalse(machine.run(['sleep', '60'], 0.2))

    def test_in_time(self):
        self.assertTrue(machine.run(['true'], 60))

    def test_failure_is_told(self):
        with self.assertRaisesRegex(programs.LabError, 'status 7: oh dear'):
            machine.run(['sh', '-c', 'echo oh dear >&2; exit 7'], 60)

    def test_missing_program(self):
        with self.assertRaisesRegex(programs.LabError, 'install none-such'):
            machine.run(['none-such'], 60)
