# SPDX-License-Identifier: Apache-2.0

"""Lines of /proc/stat as a KVM guest with two CPUs recorded them."""

from oslotest import base

from rt_probe import machine

#: Busy, while the hypervisor gave CPU time to others.
BEFORE = b'cpu  1961944 1270954 671523 1614714 19030 0 15126 2103 0 0\n'
AFTER = b'cpu  1962084 1270954 671543 1614714 19030 0 15126 2143 0 0\n'


class ParseTest(base.BaseTestCase):

    def test_what_passed(self):
        before, after = (machine.parse(data, 100) for data in (BEFORE, AFTER))
        self.assertEqual(1_600_000_000, after.busy_ns - before.busy_ns)
        self.assertEqual(400_000_000, after.stolen_ns - before.stolen_ns)
        self.assertEqual(0, after.idle_ns - before.idle_ns)

    def test_received(self):
        """The steal counts, and not the busy time, which ticks sample."""
        before = machine.Machine(0, 0, 0, cpus=2)
        after = machine.Machine(900_000, 100_000, 300_000, cpus=2)
        self.assertEqual(1_600_000, after.received_ns(before, 1_000_000))
        self.assertEqual(0, after.received_ns(before, 100_000))

    def test_waiting_for_a_disk_is_idle(self):
        found = machine.parse(b'cpu 0 0 0 1 2 0 0 0', 100)
        self.assertEqual(30_000_000, found.idle_ns)

    def test_kernel_without_steal(self):
        error = self.assertRaises(ValueError, machine.parse,
                                  b'cpu 1 2 3 4 5 6 7', 100)
        self.assertIn('does not contain steal', str(error))

    def test_this_machine(self):
        steal = machine.Steal()
        before, after = steal.sample(), steal.sample()
        self.assertGreaterEqual(after.busy_ns, before.busy_ns)
        self.assertEqual(10_000_000, steal.unit_ns)
