# SPDX-License-Identifier: Apache-2.0

"""Tests that no guest runs without its reservation if the kernel refuses."""

import errno
import os
from typing import Any
from unittest import mock

import fixtures
from nova.compute import resource_tracker
from nova.tests.functional.api import client

from nova_rt.rules import exception
from tests.functional import base


class RefusalTest(base.TestCase):
    """Faults are injected into the emulated kernels."""

    def refuse(self, host: str, number: int) -> None:
        """Makes writes to groups of guests fail, except those that undo."""
        def intercept(path: str, text: str) -> None:
            if '.libvirt-lxc/cpu.rt_runtime_us' in path and text != '0':
                raise OSError(number, os.strerror(number), path)
        self.kernel(host).intercept = intercept

    def test_no_other_host(self) -> None:
        self.start_host()
        for number in (errno.EINVAL, errno.EBUSY, errno.EPERM):
            self.refuse('host1', number)
            server = self.boot(self.rt_flavor(), status='ERROR')
            self.assertEqual({}, self.guests.hosts['host1'].running)
            self.assertEqual((0, 0), self.allocated(server))
            self.assertIsNone(self.instance(server).host)
            self.assert_nothing_left()
            self.assertIn(f'({errno.errorcode[number]})',
                          self.stdlog.logger.output)
            self._delete_server(server)
        self.kernel().intercept = None
        self.boot(self.rt_flavor())

    def test_another_host(self) -> None:
        for name in ('host1', 'host2'):
            self.start_host(name)
        first: list[str] = []

        def intercept(host: str) -> Any:
            def refuse(path: str, text: str) -> None:
                if '.libvirt-lxc/cpu.rt_runtime_us' in path and text != '0':
                    first.append(host)
                    if host == first[0]:
                        raise OSError(errno.EINVAL, 'refused', path)
            return refuse

        for name in self.computes:
            self.kernel(name).intercept = intercept(name)
        server = self.boot(self.rt_flavor(100_000, 200_000))
        bad = first[0]
        good = 'host2' if bad == 'host1' else 'host1'
        self.assertEqual(good, server['OS-EXT-SRV-ATTR:host'])
        self.assertEqual({}, self.guests.hosts[bad].running)
        self.assert_nothing_left(bad)
        self.assertEqual((100_000, 200_000), self.budget(server, good))
        self.assertEqual((500_000, 500_000), self.allocated(server))
        self.assertEqual(1, len(self.computes[good].manager.rt.rt_claims()))

    def test_a_value_that_reads_back_differently(self) -> None:
        self.start_host()
        kernel = self.kernel()
        write = kernel.write

        def rounding(path: str, text: str) -> None:
            guest = '.libvirt-lxc/cpu.rt_runtime_us' in path
            write(path, str(int(text) // 4 * 4)
                  if guest and text.isdigit() else text)

        kernel.write = rounding  # type: ignore[method-assign]
        self.boot(self.rt_flavor(100_001, 200_000), status='ERROR')
        self.assertEqual({}, self.guests.hosts['host1'].running)
        self.assertIn('reads 100000 after 100001 was written',
                      self.stdlog.logger.output)
        self.assert_nothing_left()
        self.boot(self.rt_flavor(100_000, 200_000))

    def test_tasks_that_cannot_be_made_real_time(self) -> None:
        self.start_host()

        def refuse(*args: Any) -> None:
            raise PermissionError(errno.EPERM, 'not permitted')

        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.machine.privsep.set_policy', refuse))
        self.boot(self.rt_flavor(), status='ERROR')
        self.assertEqual({}, self.guests.hosts['host1'].running)
        self.assert_nothing_left()

    def test_a_start_that_is_refused_leaves_the_server_off(self) -> None:
        """The claim and the allocation stay with the server."""
        self.start_host()
        server = self.boot(self.rt_flavor(100_000, 200_000))
        self._stop_server(server)
        self.refuse('host1', errno.EINVAL)
        # Casts are calls in this test: the API shows the answer of the
        # compute.
        self.assertRaises(client.OpenStackApiException,
                          self.api.post_server_action, server['id'],
                          {'os-start': None})
        self.assertEqual({}, self.guests.hosts['host1'].running)
        self.assertEqual({}, self.kernel_budgets())
        self.assertEqual((0,), self.claim(server).cpus)
        self.assertEqual((500_000, 500_000), self.allocated(server))


class SelfCheckTest(base.TestCase):
    """Tests a Nova that differs from the tested versions."""

    def test_refuses_to_start(self) -> None:
        def changed(self: Any, allocations: Any, extra: Any) -> None:
            """Has the parameters that a later Nova might have."""

        patch = mock.patch.object(
            resource_tracker.ResourceTracker, '_claim_resources', changed)
        patch.start()
        self.addCleanup(patch.stop)
        error = self.assertRaises(exception.UnsupportedNova, self.start_host)
        for word in ('ResourceTracker._claim_resources(self, allocations)',
                     'has (self, allocations, extra)', 'install a tested'):
            self.assertIn(word, str(error))
