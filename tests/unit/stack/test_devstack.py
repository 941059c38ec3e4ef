# SPDX-License-Identifier: Apache-2.0

"""The image of tests/stack, its client, and the share of its guest."""

import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

from oslo_utils.imageutils import format_inspector

from tests.stack import devstack


class ImageTest(unittest.TestCase):

    def setUp(self) -> None:
        self.inspector = format_inspector.GPTInspector()
        self.inspector.eat_chunk(devstack.BUSY)

    def test_glance_and_nova_take_it(self):
        """Glance answers 415 to a boot sector without a partition."""
        self.assertTrue(self.inspector.format_match)
        self.inspector.safety_check()

    def test_it_is_a_boot_sector_that_never_ends(self):
        self.assertEqual(512, len(devstack.BUSY))
        self.assertEqual(b'\xeb\xfe', devstack.BUSY[:2])
        self.assertEqual(b'\x55\xaa', devstack.BUSY[-2:])


class Box:
    """Runs a script here, with a client that ends with the given status."""

    def __init__(self) -> None:
        self.scripts: list[str] = []

    def run(self, script: str, user: str, check: bool = True) -> str:
        self.scripts.append(script)
        client = 'cd() { :; }; source() { :; }; openstack() { return $1; }; '
        return subprocess.run(
            ['bash', '-c', client + script], check=check, text=True,
            stdout=subprocess.PIPE).stdout


class ClientTest(unittest.TestCase):

    def test_its_exit_status(self):
        stack = devstack.DevStack(pathlib.Path('/nosuch'))
        stack.box = Box()  # type: ignore[assignment]
        for status in (0, 1, 2):
            self.assertEqual(status, stack.status(str(status)))


class ShareTest(unittest.TestCase):

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)

    def put(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def test_the_threads_of_vcpus(self):
        """Each thread is found once, in the files of both cgroup versions."""
        self.put('cpu/instance-1/vcpu0/tasks', '11\n12\n')
        self.put('cpuset/instance-1/vcpu0/tasks', '12\n')
        self.put('instance-2/vcpu1/cgroup.threads', '13\n')
        self.put('cpu/instance-1/emulator/tasks', '14\n')
        found = devstack.vcpus(
            [str(self.root / 'cpu/instance-1'),
             str(self.root / 'cpuset/instance-1'),
             str(self.root / 'instance-2')])
        self.assertEqual({11, 12, 13}, found)

    def test_cpu_time_of_a_thread(self):
        self.put('12/schedstat', '1500 7 3\n')
        with mock.patch.object(devstack, 'PROC', self.root):
            self.assertEqual(1500, devstack.cpu_ns({12}))
