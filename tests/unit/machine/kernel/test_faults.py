# SPDX-License-Identifier: Apache-2.0

"""Each single write of each operation fails, or is the last of the process.

A process that is killed right after a write is also killed before the next
write: nothing changes between these two moments.
"""

from collections.abc import Callable, Iterator
import errno
import os
import unittest

import testscenarios

from nova_rt.rules import exception
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import layout
from tests.unit.machine.kernel import base
from tests.unit.machine.kernel import host as rt_host

Claims = dict[layout.Layout, claims.RTClaim]
#: claims before, the guest that is changed, its claim after (None: none)
Case = tuple[Claims, layout.Layout, claims.RTClaim | None]

BYSTANDER = rt_host.CONTAINER
GUESTS = (rt_host.NESTED, rt_host.machine(2))


def cases(guest: layout.Layout) -> Iterator[tuple[str, Case]]:
    one = rt_host.claim(100_000, 1_000_000, [1])
    cpus = [0, 2]
    held = rt_host.claim(20_000, 100_000, cpus)
    for name, before, after in (
            ('fresh', None, held),
            ('fresh in a long period', None,
             rt_host.claim(2_000_000, 4_000_000, cpus)),
            ('runtime grows', held, rt_host.claim(60_000, 100_000, cpus)),
            ('runtime shrinks', held, rt_host.claim(10_000, 100_000, cpus)),
            ('both grow', held, rt_host.claim(120_000, 200_000, cpus)),
            ('both shrink', held, rt_host.claim(10_000, 50_000, cpus)),
            ('period grows', held, rt_host.claim(10_000, 4_194_304, cpus)),
            ('period shrinks', held, rt_host.claim(30_000, 40_000, cpus)),
            ('other CPUs', held, rt_host.claim(70_000, 100_000, [1, 0])),
            ('release', held, None)):
        yield name, ({BYSTANDER: one, **({guest: before} if before else {})},
                     guest, after)


class FaultTest(testscenarios.WithScenarios, unittest.TestCase):
    """Done, or as before; and after a crash as it is claimed."""

    scenarios = base.SCENARIOS
    kind: str

    def setUp(self) -> None:
        self.runs = 0

    def host(self, before: Claims) -> rt_host.Host:
        host = rt_host.Host(self.kind)
        for guest, claim in before.items():
            host.apply(guest, claim)
        host.check()
        return host

    def each_write(self, case: Case,
                   check: Callable[[rt_host.Host, Case, rt_host.Fault], None],
                   *faults: tuple[int, bool]) -> None:
        for number, once in faults:
            for nth in range(32):
                host = self.host(case[0])
                with (rt_host.explained(
                        host, f'{self.kind}, write {nth}, '
                        f'{errno.errorcode.get(number, "killed")}'),
                        host.time()):
                    fault = host.fault = rt_host.Fault(nth, number, once)
                    check(host, case, fault)
                    host.check()
                if not fault.hit:
                    break
                self.runs += 1
            self.assertFalse(fault.hit, 'it never ends')

    @staticmethod
    def change(host: rt_host.Host, case: Case) -> None:
        _, guest, after = case
        if after is not None:
            host.apply(guest, after)
        else:
            host.release(guest)

    def refused(self, host: rt_host.Host, case: Case, fault: rt_host.Fault
                ) -> None:
        try:
            self.change(host, case)
        except exception.KernelError:
            assert fault.hit
        host.check()
        host.fault = None
        if case[1] in host.present:
            self.change(host, case)

    def killed(self, host: rt_host.Host, case: Case, fault: rt_host.Fault
               ) -> None:
        before, guest, after = case
        wanted = {**before, guest: after} if after is not None else {
            each: claim for each, claim in before.items() if each != guest}
        try:
            self.change(host, case)
        except rt_host.Killed:
            host.reconcile(wanted)

    def undone(self, host: rt_host.Host, case: Case, fault: rt_host.Fault
               ) -> None:
        """The claim was not kept, so that what was written must go."""
        try:
            self.change(host, case)
        except rt_host.Killed:
            host.reconcile(case[0])

    def test_a_write_is_refused(self) -> None:
        for guest in GUESTS:
            for name, case in cases(guest):
                with self.subTest(name, guest=guest.domain):
                    self.each_write(
                        case, self.refused, (errno.EINVAL, True),
                        (errno.EINVAL, False), (errno.EBUSY, True),
                        (errno.EPERM, False), (errno.ENODEV, True))
        self.assertGreater(self.runs, 100)

    def test_killed(self) -> None:
        for guest in GUESTS:
            for name, case in cases(guest):
                with self.subTest(name, guest=guest.domain):
                    self.each_write(case, self.killed, (0, True))
                    self.each_write(case, self.undone, (0, True))
        self.assertGreater(self.runs, 60)

    def test_settle(self) -> None:
        """After libvirt removed a guest with its budget."""

        def settle(host: rt_host.Host, case: Case, fault: rt_host.Fault
                   ) -> None:
            host.remove(case[1])
            try:
                host.settle()
            except exception.KernelError:
                assert fault.number and fault.hit
            except rt_host.Killed:
                pass
            host.restart()
            host.settle()

        for guest in GUESTS:
            case = dict(cases(guest))['release']
            self.each_write(case, settle, (0, True), (errno.EINVAL, False),
                            (errno.EBUSY, True), (errno.EPERM, True))

    def test_a_task_that_stays_real_time(self) -> None:
        """The kernel says EBUSY: all is as before.

        F2m says EINVAL, as old ones of its kind do of any 0, and keeps the
        2 us that are tried then.
        """
        if self.kind.startswith('F2m'):
            return
        held = rt_host.claim(20_000, 100_000, [0])
        host = self.host({rt_host.CONTAINER: held})
        before = base.budgets(host.kernel)
        with host.time(), self.assertRaises(exception.KernelError):
            host.interface.release([rt_host.CONTAINER.domain])
        self.assertEqual(before, base.budgets(host.kernel))
        self.assertEqual(os.SCHED_RR, host.kernel.tasks[1].policy)
