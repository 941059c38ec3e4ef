# SPDX-License-Identifier: Apache-2.0

"""A host with an emulated kernel, guests and the real enforcer."""

from collections.abc import Callable
import os
from typing import Any

import fixtures

from nova_rt.machine.kernel import tree
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import enforcer
from nova_rt.services.virt.libvirt import layout
from nova_rt.services.virt.libvirt import reconcile
from tests.emulation import clock
from tests.emulation import rt_max
from tests.emulation import tasks as emulated
from tests.unit.machine.kernel import base
from tests.unit.machine.kernel import host as rt_host

CPUS = 3
TOP = '/machine'


class Emulation(fixtures.Fixture):
    """An emulation of /proc and privsep for production code, on any host.

    :ivar step: called before each change that is no write to a file
    """

    def __init__(self) -> None:
        self.step: Callable[[str, str], None] = lambda path, text: None

    def _setUp(self) -> None:
        for target, new in (
                *emulated.THREADS.items(),
                ('nova_rt.machine.privsep.set_policy',
                 self._stepped('policy', emulated.set_policy)),
                ('nova_rt.machine.privsep.place_vcpu',
                 self._stepped('place', emulated.place_vcpu))):
            self.useFixture(fixtures.MonkeyPatch(target, new))

    def _stepped(self, what: str, call: Callable[..., Any]
                 ) -> Callable[..., Any]:
        def stepped(*args: Any) -> Any:
            self.step(what, repr(args))
            return call(*args)
        return stepped


class Host:
    """One host of libvirt guests.

    :ivar claims: the claims, by the pid of the guest
    """

    def __init__(self, kind: str, emulation: Emulation, cpus: int = CPUS
                 ) -> None:
        self.kind = kind
        self.kernel = base.KERNELS[kind](cpus)
        self.guests = emulated.Guests(self.kernel)
        self.claims: dict[int, Any] = {}
        self.fault: rt_host.Fault | None = None
        self.log: list[str] = []
        self.restart()
        self.kernel.intercept = self._before
        emulation.step = self._before

    def time(self) -> Any:
        return clock.waiting(self.kernel.clock)

    def restart(self) -> None:
        """A new nova-compute."""
        self.fault = None
        self.interface: tree.TreeInterface = base.interface_on(
            self.kernel, self.kind)
        self.tasks = emulated.EmulatedTasks(self.kernel)
        self.enforcer = enforcer.GroupEnforcer(
            self.interface, self.tasks, 'rr', lambda wanted: 10)

    def _before(self, path: str, text: str) -> None:
        over = self.kernel.over_cap(base.CAP)
        if over:
            raise rt_host.Broken(f'before {path}={text}: {over}')
        self.log.append(f'  {path} = {text}')
        if self.fault is not None and self.fault.strike(path, text):
            if not self.fault.number:
                raise rt_host.Killed
            raise base.refuse(self.fault.number)

    # What libvirt and RTGuest do.

    def start(self, name: str, cpus: tuple[int, ...], qemu: bool) -> int:
        """A domain with the XML of a claim for these pCPUs."""
        hook, self.kernel.intercept = self.kernel.intercept, None
        if qemu:
            pid = self.guests.start_qemu(name, [str(cpu) for cpu in cpus])
        else:
            pid = self.guests.start(name, cpulist.format_ids(sorted(cpus)))
        self.kernel.intercept = hook
        return pid

    def launch(self, name: str, claim: Any, qemu: bool) -> int:
        self.log.append(f'launch {name} {claim.identifier[37:]} qemu={qemu}')
        self.enforcer.guard()
        pid = self.start(name, claim.cpus, qemu)
        self.started = pid
        try:
            self.enforcer.apply(pid, claim)
        except exception.KernelError:
            self.poweroff(pid)
            raise
        self.claims[pid] = claim
        return pid

    def launch_plain(self, name: str) -> int:
        """A container without a reservation."""
        self.log.append(f'launch {name} without a claim')
        self.enforcer.guard()
        pid = self.start(name, (), False)
        self.enforcer.withhold(pid)
        return pid

    def poweroff(self, pid: int) -> None:
        self.log.append(f'poweroff {pid}')
        self.fault = None
        if self.enforcer.releases_early:
            self.enforcer.release(pid)
        self.end(pid)

    def end(self, pid: int) -> None:
        """The guest goes, with its budget."""
        self.log.append(f'end {pid}')
        self.guests.stop(pid)
        self.claims.pop(pid, None)
        self.enforcer.settle()

    def reconcile(self) -> None:
        self.log.append('reconcile')
        reconcile.Reconciler(self.enforcer).run([
            reconcile.RunningGuest(str(pid), pid, (
                (self.claims[pid],) if pid in self.claims else ()))
            for pid in self.guests.running], [*self.guests.running])

    # What must hold.

    def layout_of(self, pid: int) -> layout.Layout:
        return layout.find(self.tasks, self.interface.controller, pid)

    def real_time(self, pid: int) -> list[int]:
        """Returns the real-time threads."""
        return [thread for thread in self.guests.running[pid]
                if self.kernel.tasks[thread].policy != os.SCHED_OTHER]

    def check(self) -> None:
        wrong = self.kernel.over_cap(base.CAP)
        wrong += base.not_tight(self.kernel, TOP)
        wanted: dict[str, Any] = {}
        for pid in self.guests.running:
            guest = self.layout_of(pid)
            wrong += self._wrong_tasks(pid, guest)
            if pid in self.claims:
                wanted |= rt_host.grants(self.interface, self.kernel.cpus,
                                         guest, self.claims[pid])
        parents = {group.rpartition('/')[0] for group in wanted}
        found = {group: held for group, held
                 in rt_host.granted(self.kernel).items()
                 if group not in parents and group != TOP}
        if isinstance(self.kernel, rt_max.Kernel) and self.kernel.trapped():
            wrong.append(f'{self.kernel.trapped()} never run')
        if wanted != found:
            wrong.append(f'the kernel grants {found}, claimed is {wanted}')
        if wrong:
            raise rt_host.Broken('\n'.join(wrong))

    def _free(self, pid: int) -> list[str]:
        """Tries real time for the init of a container without a claim."""
        init = self.guests.running[pid][1]
        try:
            self.kernel.set_policy(init, os.SCHED_FIFO, 1)
        except PermissionError:
            return []
        self.kernel.set_policy(init, os.SCHED_OTHER)
        return [f'{init} may run in real time without a claim']

    def _wrong_tasks(self, pid: int, guest: layout.Layout) -> list[str]:
        found = set(self.real_time(pid))
        if pid not in self.claims:
            wrong = [f'{found} without a claim'] if found else []
            return wrong if guest.vcpus else wrong + self._free(pid)
        threads = self.guests.running[pid]
        wanted = set(threads[2:] if guest.vcpus else threads[1:])
        # Killed half way, some tasks of a container stay ordinary: it may
        # have made them so itself.
        right = found == wanted or (
            not guest.vcpus and found and found < wanted)
        wrong = [] if right else [f'{found} are real-time, not {wanted}']
        cpus = frozenset(self.claims[pid].cpus)
        confined = self.kernel.confined()
        if not guest.vcpus and confined[guest.domain] != cpus:
            wrong.append(f'{guest.domain} is on {confined[guest.domain]}')
        return wrong
