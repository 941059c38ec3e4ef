# SPDX-License-Identifier: Apache-2.0

"""Nova's periodic audit of every compute, at the seams of an operation.

An audit sees servers and migrations between two steps of other operations.  At
each seam (see ``kill``) at which nobody has Nova's own lock, each compute is
audited, or starts with an empty memory.  No audit may forget a claim that
counts again later, change the budget of a guest that runs on, or leave room
beyond a cap.  ``NOVA_RT_AUDIT`` is the part of the seams that is used, 1 for
all of them; ``tests.seeds`` says which seams.
"""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import os
import time
from typing import Any

from nova.compute import resource_tracker
from nova import context as nova_context
from oslo_concurrency import lockutils

from tests.functional import kill
from tests.functional import operations
from tests.functional import watched
from tests import seeds

Server = operations.Server


@dataclasses.dataclass(frozen=True)
class Loss:
    """The loss that one audit must repair.

    :ivar what: the identifier of a claim, or the pid of a guest
    """

    host: str
    seam: str
    what: str | int
    text: str

    def __str__(self) -> str:
        return f'audit of {self.host} at "{self.seam}": {self.text}'


class Auditor(kill.Killer):
    """Kills nobody, and calls *act* with the name of each seam."""

    def __init__(self, look: Callable[[str], None],
                 act: Callable[[str], None]) -> None:
        super().__init__(look)
        self._act = act

    def seam(self, name: str) -> None:
        passed = len(self.seams)
        super().seam(name)
        lock = lockutils.internal_fair_lock(
            resource_tracker.COMPUTE_RESOURCE_SEMAPHORE)
        if len(self.seams) > passed and not lock.owner:
            with self.elsewhere():
                self._act(self.seams[-1])


class Audits(watched.Watched):
    """A mixin for operations.TestCase."""

    #: the part of the seams, unless NOVA_RT_AUDIT says otherwise
    SHARE = 0.08

    def setUp(self) -> None:
        super().setUp()
        self.losses: list[Loss] = []
        self.wrong: list[str] = []
        self.audits = 0
        self.share = float(os.environ.get('NOVA_RT_AUDIT') or self.SHARE)
        print(f'{self.id()}: NOVA_RT_DAY={seeds.day()}')
        self.chance = seeds.sample(self.id())
        self.killer = self.useFixture(Auditor(self.look, self.at_seam))

    # At each seam.

    def at_seam(self, seam: str) -> None:
        if any(guests.kernel.busy for guests in self.guests.hosts.values()):
            return
        for host in list(self.computes):
            self.note_returns(host)
            if self.chance.random() < self.share:
                self.take(host, seam)

    def take(self, host: str, seam: str) -> None:
        """Audits a host; half of the audits are of a compute that starts."""
        self.audits += 1
        claims, budgets = self.tracked(host), self.budgets(host)
        if self.chance.random() < 0.5:
            self.forget(host)
            seam += ', of a compute that starts'
            self.audit_node(host, startup=True)
        else:
            self.audit_node(host)
        self.losses += [Loss(host, seam, each, f'{each} is dropped')
                        for each in claims - self.tracked(host)]
        now = self.budgets(host)
        self.losses += [
            Loss(host, seam, pid, f'budget {before} -> {now[pid]}')
            for pid, before in budgets.items()
            if pid in now and now[pid] != before]
        self.look(host)

    def forget(self, host: str) -> None:
        """Empties the memory of nova-compute, as at its start."""
        tracker = self.computes[host].manager.rt
        for memory in (tracker.assigned_resources, tracker.compute_nodes,
                       tracker.tracked_instances,
                       tracker.tracked_migrations):
            memory.clear()
        for name in [name for name in vars(tracker) if name[:4] == '_rt_']:
            delattr(tracker, name)

    def audit_node(self, host: str, startup: bool = False) -> None:
        """Runs Nova's audit without a thread: all threads may be in use."""
        compute = self.computes[host]
        for node in compute.driver.get_available_nodes():
            compute.manager.rt.update_available_resource(
                nova_context.get_admin_context(), node, startup=startup)

    def budgets(self, host: str) -> dict[int, Any]:
        """Returns the budgets of the groups of each guest, by its pid."""
        guests, granted = self.guests.hosts[host], self._granted(host)
        return {pid: {group.rpartition('/')[2]: own
                      for group, own in granted.items()
                      if group.startswith(guests.group(pid))}
                for pid in list(guests.running)}

    def note_returns(self, host: str) -> None:
        """Notes claims that an audit dropped and that count again."""
        tracked = self.tracked(host)
        self.wrong += [f'{each} and counts again' for each in self.losses
                       if each.host == host and each.what in tracked]
        self.losses = [each for each in self.losses
                       if each.host != host or each.what not in tracked]

    # Operations.

    @contextlib.contextmanager
    def audited(self, name: str) -> Iterator[None]:
        """Audits at the seams of the operation in the block."""
        started, used = time.monotonic(), time.process_time()
        audits = self.audits
        with self.killer.armed():
            yield
        for host in self.computes:
            self.note_returns(host)
        wrong = self.wrong + self.beyond + [
            str(each) for each in self.losses if isinstance(each.what, int)]
        for each in wrong:
            print(f'  {each}')
        print(f'{type(self).__name__} {name}: {self.audits - audits} audits '
              f'at {len(self.killer.seams)} seams, {len(wrong)} wrong, '
              f'{time.monotonic() - started:.0f} s, '
              f'{time.process_time() - used:.0f} s of CPU time')
        self.assertEqual([], wrong, name)
        self.losses.clear()
        self.assert_invariants()

    def does(self, server: Server, action: str, body: Any = None,
             status: str = 'ACTIVE', name: str = '') -> None:
        """Runs an action under audits, until *status* is reached."""
        with self.audited(name or action):
            self.api.post_server_action(server['id'], {action: body})
            self.killer.wait()
        self.assertEqual(status, self._wait_for_state_change(
            server, status)['status'])

    def ends(self, server: Server) -> None:
        self._delete_server(server)
        self.assert_invariants()
        self.assert_nothing_left(*self.computes)
