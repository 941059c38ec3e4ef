# SPDX-License-Identifier: Apache-2.0

"""A list of random operations, how it is run, and how it is shrunk.

Numbers alone say what an operation is about, so that it means the same if the
operations before it are left out.
"""

from collections.abc import Callable, Sequence
import random
import time
from typing import Any, NamedTuple
import zlib

from nova.compute import vm_states

from tests.functional.soak import checks
from tests.functional.soak import cloud as rt_cloud
from tests.functional.soak import moves

#: The kinds, and how often each kind occurs in relation to the others.
KINDS = {
    'create': 30, 'delete': 22, 'stop': 8, 'start': 8, 'resize': 14,
    'migrate': 8, 'confirm': 10, 'revert': 8, 'live': 10, 'abort': 4,
    'lose': 3, 'back': 4, 'audit': 6, 'restart': 4, 'refresh': 8,
    'fiddle': 4}
#: Runtime and period; the sums of some of them equal the cap, and the sums of
#: others are not a whole number of ppm.
PAIRS = (
    (95_000, 100_000), (47_500, 100_000), (30_000, 90_000), (10_000, 70_000),
    (33_333, 100_000), (19_000, 100_000), (9_500, 50_000), (23_750, 100_000),
    (11_111, 66_667), (5_000, 100_000), (31_666, 100_000), (60_000, 100_000))


class Operation(NamedTuple):
    """*kind* for the server or host that *pick* chooses.

    :ivar number: its place in the list, which names what it creates
    :ivar draw: for what else is to be chosen
    """

    number: int
    kind: str
    pick: int
    draw: int


def plan(seed: int, count: int) -> list[Operation]:
    rng = random.Random(seed)  # noqa: S311
    kinds, weights = zip(*KINDS.items(), strict=True)
    return [Operation(number, rng.choices(kinds, weights)[0],
                      rng.getrandbits(32), rng.getrandbits(32))
            for number in range(count)]


class Run:
    """A cloud to which operations are done, and checked after each.

    :ivar done: how many of them found something to do, by kind
    """

    def __init__(self, cloud: moves.Cloud) -> None:
        self.cloud = cloud
        self.done: dict[str, int] = dict.fromkeys(KINDS, 0)

    def do(self, operation: Operation) -> None:
        """Does one operation, some builds, and all checks."""
        self.cloud.audits = bool(operation.draw & 32)
        touched = getattr(self, '_' + operation.kind)(operation)
        if touched is not None:
            self.done[operation.kind] += 1
        touched = touched or set()
        # Other servers are scheduled before the last ones are built.
        while len(self.cloud.pending) > operation.draw % 5:
            touched |= self.cloud.build_one()
        audited = set()
        if operation.draw & 64:
            audited = {name for name in touched if self.cloud.hosts[name].up}
        for name in sorted(audited):
            self.cloud.hosts[name].audit()
        checks.check(self.cloud, audited)

    def finish(self) -> None:
        """Deletes the servers that are left; nothing may remain."""
        while self.cloud.pending:
            self.cloud.build_one()
        for name in self.cloud.down():
            self.cloud.come_back(name)
        for uuid in sorted(self.cloud.store.instances):
            if self.cloud.state(uuid)[0] == vm_states.RESIZED:
                self.cloud.confirm(uuid)
            self.cloud.delete(uuid)
        for host in self.cloud.hosts.values():
            host.audit()
        checks.check_empty(self.cloud)

    # The following methods choose the server or host.

    def _server(self, operation: Operation, *states: str) -> str | None:
        """Returns a server in one of *states* whose hosts are up."""
        found = [uuid for uuid in self.cloud.store.instances
                 if self._ready(uuid, states)]
        # In most cases, other servers do not change the choice.
        return min(found, default=None, key=lambda uuid: zlib.crc32(
            f'{uuid}{operation.pick}'.encode()))

    def _ready(self, uuid: str, states: Sequence[str]) -> bool:
        cloud = self.cloud
        state, name = cloud.state(uuid)
        if state not in states or name is None or not cloud.hosts[name].up:
            return False
        if state == vm_states.RESIZED:
            return cloud.hosts[cloud.move_of(uuid).source_compute].up
        # Until the old host is back, Placement holds both allocations of an
        # evacuated server; Nova confuses them when the server moves again.
        return len(cloud.placement.held[uuid]) == 1

    def _host(self, operation: Operation, up: bool = True) -> str | None:
        names = [name for name, host in self.cloud.hosts.items()
                 if host.up == up]
        return names[operation.pick % len(names)] if names else None

    def _wish(self, operation: Operation) -> rt_cloud.Wish:
        draw = operation.draw >> 8
        runtime, period = PAIRS[draw % len(PAIRS)]
        vcpus = 1 + (draw >> 8) % 5 % 4
        cells = (draw >> 16) % (self.cloud.cells + 1)
        return rt_cloud.Wish(runtime, period, vcpus,
                             hinted=not (draw >> 12) % 4,
                             cells=min(cells, vcpus))

    # The following methods are the operations; they return None if there was
    # nothing to do.

    def _create(self, operation: Operation) -> set[str]:
        count = (1, 1, 1, 2, 4)[operation.pick % 5]
        alone = bool(operation.draw & 128)
        touched: set[str] = set()
        while alone and self.cloud.pending:
            touched |= self.cloud.build_one()
        if alone:
            self.cloud.scheduler(operation.draw).refresh()
        self.cloud.create(f'{operation.number}', self._wish(operation),
                          count, operation.draw)
        while alone and self.cloud.pending:
            build = self.cloud.pending[0]
            touched |= self.cloud.build_one()
            checks.need(build.tries == 1, 'what the filter passes on a map '
                        'of now is refused:', self.cloud.wishes[build.uuid])
        return touched

    def _delete(self, operation: Operation) -> set[str] | None:
        uuid = self._server(operation, vm_states.ACTIVE, vm_states.STOPPED,
                            vm_states.RESIZED)
        if uuid is None:
            return None
        touched = set()
        if self.cloud.state(uuid)[0] == vm_states.RESIZED:
            touched = self.cloud.confirm(uuid)
        touched |= {self.cloud.host_of(uuid).name}
        self.cloud.delete(uuid)
        return touched

    def _at(self, operation: Operation, state: str,
            action: Callable[[str], Any]) -> set[str] | None:
        uuid = self._server(operation, state)
        if uuid is None:
            return None
        touched = action(uuid)
        return touched or {self.cloud.host_of(uuid).name}

    def _stop(self, operation: Operation) -> set[str] | None:
        return self._at(operation, vm_states.ACTIVE, self.cloud.stop)

    def _start(self, operation: Operation) -> set[str] | None:
        return self._at(operation, vm_states.STOPPED, self.cloud.start)

    def _confirm(self, operation: Operation) -> set[str] | None:
        return self._at(operation, vm_states.RESIZED, self.cloud.confirm)

    def _revert(self, operation: Operation) -> set[str] | None:
        return self._at(operation, vm_states.RESIZED, self.cloud.revert)

    def _resize(self, operation: Operation) -> set[str] | None:
        uuid = self._server(operation, vm_states.ACTIVE, vm_states.STOPPED)
        if uuid is None:
            return None
        old, wish = self.cloud.wishes[uuid], self._wish(operation)
        # A hint stays with its server, whatever the flavor says.
        wish = rt_cloud.Wish(
            old.runtime if old.hinted else wish.runtime, wish.period,
            wish.vcpus, old.hinted)
        if wish == old or wish.ppm > checks.CAP:
            return None
        ignore = [] if operation.pick & 1 else [
            self.cloud.host_of(uuid).name]
        return self.cloud.resize(uuid, wish, operation.draw, ignore)

    def _migrate(self, operation: Operation) -> set[str] | None:
        uuid = self._server(operation, vm_states.ACTIVE, vm_states.STOPPED)
        if uuid is None:
            return None
        return self.cloud.resize(
            uuid, self.cloud.wishes[uuid], operation.draw,
            [self.cloud.host_of(uuid).name])

    def _live(self, operation: Operation) -> set[str] | None:
        return self._at(
            operation, vm_states.ACTIVE,
            lambda uuid: self.cloud.live_migrate(uuid, operation.draw, True))

    def _abort(self, operation: Operation) -> set[str] | None:
        return self._at(
            operation, vm_states.ACTIVE,
            lambda uuid: self.cloud.live_migrate(uuid, operation.draw, False))

    def _lose(self, operation: Operation) -> set[str] | None:
        name = self._host(operation)
        if name is None or len(self.cloud.down()) > 2:
            return None
        touched: set[str] = set()
        while self.cloud.pending:
            touched |= self.cloud.build_one()
        return touched | self.cloud.lose(name, operation.draw)

    def _back(self, operation: Operation) -> set[str] | None:
        name = self._host(operation, up=False)
        return self.cloud.come_back(name) if name else None

    def _audit(self, operation: Operation) -> set[str] | None:
        name = self._host(operation)
        assert name is not None
        self.cloud.hosts[name].audit()
        return {name}

    def _restart(self, operation: Operation) -> set[str] | None:
        name = self._host(operation)
        assert name is not None
        self.cloud.hosts[name].restart()
        return {name}

    def _refresh(self, operation: Operation) -> set[str]:
        self.cloud.scheduler(operation.pick).refresh()
        return set()

    def _fiddle(self, operation: Operation) -> set[str] | None:
        """Takes the budget of a guest; the next audit gives it back."""
        uuid = self._server(operation, vm_states.ACTIVE)
        if uuid is None:
            return None
        host = self.cloud.host_of(uuid)
        host.driver.rt_reservations.needed().release(host.domains[uuid].pid)
        host.audit()
        return {host.name}


def shrink(operations: list[Operation],
           fails: Callable[[list[Operation]], bool], seconds: float
           ) -> list[Operation]:
    """Returns the shortest failing list that is found in *seconds*."""
    end = time.monotonic() + seconds
    size = len(operations) // 2
    while size and time.monotonic() < end:
        start = 0
        while start < len(operations) and time.monotonic() < end:
            fewer = operations[:start] + operations[start + size:]
            if fewer and fails(fewer):
                operations = fewer
            else:
                start += size
        size //= 2
    return operations
