# SPDX-License-Identifier: Apache-2.0

"""cloud.kvm: recognizes a host whose /dev/kvm cannot run guests."""

import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

from cloud import kvm
from cloud import kvm_images

#: seconds
PATIENCE = 120


class LackingTest(unittest.TestCase):

    def test_no_device(self):
        self.assertEqual('This host has no /nowhere/kvm.',
                         kvm.lacking('/nowhere/kvm'))

    def test_a_device_that_cannot_be_opened(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(f'{directory} cannot be opened: Is a directory.',
                             kvm.lacking(directory))

    def test_a_device_that_is_not_kvm(self):
        self.assertEqual(
            'KVM cannot create a guest: Inappropriate ioctl for device.',
            kvm.lacking('/dev/null'))

    def test_no_qemu(self):
        self.assertEqual('There is no qemu-nowhere.',
                         kvm.paused_guest(('qemu-nowhere',)))

    def test_a_guest_that_cannot_be_started(self):
        self.assertEqual(
            'QEMU cannot start a guest with KVM: failed to set MSR 0x10a.',
            kvm.paused_guest((
                'sh', '-c', 'echo warning: host >&2; '
                'echo failed to set MSR 0x10a >&2; exit 134')))

    def test_a_guest_that_ends_when_told(self):
        self.assertEqual('', kvm.paused_guest((
            'sh', '-c', 'read command; test "$command" = quit')))


@unittest.skipIf(kvm.lacking(), kvm.lacking())
@unittest.skipUnless(shutil.which('gcc'), 'there is no gcc')
class GuestTest(unittest.TestCase):

    def test_a_guest_starts_all_its_vcpus(self):
        for line in kvm_images.COMMAND_LINES.values():
            with self.subTest(line):
                self.assertEqual(
                    'nova-rt guest: 2 vCPUs '
                    f'{"idle" if "idle" in line else "busy"}', console(line))


def console(line: str) -> str:
    """Return the first line that a guest with this command line prints."""
    with tempfile.TemporaryDirectory() as directory, subprocess.Popen(
            ['qemu-system-x86_64', '-accel', 'kvm', '-smp', '2', '-m', '96',
             '-display', 'none', '-serial', 'stdio',
             '-kernel', kvm_images.build(pathlib.Path(directory)),
             '-append', line], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True) as guest:
        assert guest.stdout is not None
        # A guest that hangs fails the test, and does not stop all tests.
        watchdog = threading.Timer(PATIENCE, guest.kill)
        watchdog.start()
        try:
            return next((shown.rstrip() for shown in guest.stdout
                         if shown.startswith('nova-rt')), '')
        finally:
            watchdog.cancel()
            guest.kill()
