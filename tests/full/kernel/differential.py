# SPDX-License-Identifier: Apache-2.0

"""Makes random calls to this machine's kernel and to its emulation.

Whatever interface the kernel has, both kernels get the same calls, the
emulated kernel first.  If the emulated kernel dies of a call, the real kernel
does not get this call until the emulated timers are over.  After each call the
outcome and all values are compared; a short write is an outcome of its own.
Each disagreement is reported once, and the sequence ends with it.  As root, on
a host that may die::

    python -m tests.full.kernel.differential --calls 20000 --seed 1
"""

import argparse
import collections
from collections.abc import Callable
import contextlib
import errno
import json
import os
import pathlib
import posixpath
import random
import signal
import subprocess
import sys
import time

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import survey
from nova_rt.machine import privsep
from tests.emulation import guard
from tests.emulation import kernels
from tests.emulation import paths
from tests.emulation import rt_max
from tests.full.kernel import calls

_SEQUENCE = 100
_SHARE_PPM = 900_000
#: Longer than any period that is written here, with its overrun.
_QUIET_SECONDS = 5.0
#: What takes few instructions to start: there are three in each sequence.
_SLEEPER = ('sleep', 'infinity')
_DIES = 'dies'


def emulated(name: str, version: int) -> kernels.Emulated:
    """The emulation of an interface on a version of cgroups."""
    return next(
        found for kind, found in kernels.KERNELS.items()
        if found.interface == name
        and (kind.endswith('-v2') == (version == 2) or name not in (
            'hcbs', 'hcbs_multi')))


def outcome(action: Callable[[], object]) -> str:
    """'ok', 'short', the name of the errno, or 'dies'."""
    try:
        action()
    except guard.HostDied:
        return _DIES
    except OSError as error:
        if cgroup.is_short(error):
            return 'short'
        return errno.errorcode[error.errno or 0]
    return 'ok'


class Disagreement(Exception):
    """A difference between the two kernels, and the calls before it."""


class Pair:
    """Both kernels, with scratch groups below one of our own."""

    def __init__(self) -> None:
        self.files = fs.RealFS()
        hierarchy = survey.hierarchy_of(self.files)
        interface = detect.detect(self.files)
        if hierarchy is None or interface is None:
            raise SystemExit('the kernel has no interface for reservations')
        # Where the root starts without a share, none of ours could have one.
        interface.prepare(_SHARE_PPM)
        self.version = 1 if hierarchy.controller else 2
        self.name = interface.name
        self.mount = hierarchy.mount
        self.top = f'/nova-rt-differential-{os.getpid()}'
        self._make = emulated(self.name, self.version)
        self._list = paths.TASKS if self.version == 1 else paths.PROCS
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self.log: list[str] = []

    def begin(self) -> None:
        """Makes empty groups on both kernels; the roots have equal numbers."""
        self.log.clear()
        self.kernel = self._make(os.cpu_count() or 1)
        self.base = self.kernel.mounts()[1][0]
        self.kernel.sysctl = tuple(
            int(self.files.read(path)) for path in
            (paths.SYSCTL_RUNTIME, paths.SYSCTL_PERIOD))
        for name in calls.FILES[self.name]:
            with contextlib.suppress(FileNotFoundError):
                self._seed(name)
        if self.version == 2:
            self.kernel.write(f'{self.base}/{paths.SUBTREE}', '+cpu')
        self.both('mkdir', '', *self._mkdir(''))
        self._hand_on('')
        for name, text in calls.ROOM[self.name]:
            self._take(name, text)
        self.compare()

    def _take(self, name: str, text: str) -> None:
        """Writes to the root group of both kernels, without a comparison."""
        end = time.monotonic() + 2 * _QUIET_SECONDS
        self.kernel.write(self._emulated('', name), text)
        while outcome(lambda: self._write(self._real('', name), text)) != (
                'ok'):
            if time.monotonic() > end:
                raise SystemExit(f'other groups leave no room for {text} in '
                                 f'{name}; end them first')
            time.sleep(0.02)

    def _seed(self, name: str) -> None:
        text = self.files.read(posixpath.join(self.mount, name))
        if self.kernel.read(f'{self.base}/{name}') != text:
            self.kernel.write(f'{self.base}/{name}', text)

    def _real(self, group: str, name: str = '') -> str:
        return posixpath.join(
            f'{self.mount}{self.top}{group}', name).rstrip('/')

    def _emulated(self, group: str, name: str = '') -> str:
        return posixpath.join(
            f'{self.base}{self.top}{group}', name).rstrip('/')

    def _mkdir(self, group: str
               ) -> tuple[Callable[[], object], Callable[[], object]]:
        return (lambda: os.mkdir(self._real(group)),
                lambda: self.kernel.create(self._emulated(group)))

    # One call.

    def both(self, what: str, group: str, real: Callable[[], object],
             emulate: Callable[[], object]) -> str:
        """Makes a call, first to the emulated kernel, which may die of it.

        :raises Disagreement: in the outcome, or in the values after it
        """
        expected = outcome(emulate)
        if expected == _DIES:
            return self._spared(what, group, real, emulate)
        return self._judge(what, group, outcome(real), expected)

    def _judge(self, what: str, group: str, found: str, expected: str
               ) -> str:
        self.log.append(f'{what} {group or "/"} -> {found}')
        if found != expected:
            raise Disagreement(f'{what}: really {found}, emulated '
                               f'{expected}')
        self.compare()
        return found

    def _spared(self, what: str, group: str, real: Callable[[], object],
                emulate: Callable[[], object]) -> str:
        """Makes a call when it is safe; skips a call that never is safe."""
        self.kernel.guard.reason = None
        self.kernel.clock.sleep(_QUIET_SECONDS)
        time.sleep(_QUIET_SECONDS)
        expected = outcome(emulate)
        if expected == _DIES:
            self.kernel.guard.reason = None
            self.log.append(f'{what} {group} -> spared')
            return _DIES
        return self._judge(f'{what} (after a wait)', group, outcome(real),
                           expected)

    def compare(self) -> None:
        """:raises Disagreement: a file of a group shows something else"""
        for group in ('', *calls.GROUPS):
            for name in calls.FILES[self.name]:
                real = self._shown(self.files.read, self._real(group, name))
                own = self._shown(self.kernel.read,
                                  self._emulated(group, name))
                if real != own:
                    raise Disagreement(f'{name} of a group: really {real}, '
                                       f'emulated {own}')

    @staticmethod
    def _shown(read: Callable[[str], str], path: str) -> str:
        try:
            return read(path)
        except OSError as error:
            return errno.errorcode[error.errno or 0]

    def write(self, name: str, text: str, group: str) -> str:
        what, path = f'write {name} {text!r}', self._real(group, name)

        def real() -> None:
            self._write(path, text)

        def emulate() -> None:
            self.kernel.write(self._emulated(group, name), text)

        if name == calls.MAX and len(text.split()) == 1:
            return self._unsaid(what, group, path, real, emulate)
        return self.both(what, group, real, emulate)

    def _unsaid(self, what: str, group: str, path: str,
                real: Callable[[], object], emulate: Callable[[], object]
                ) -> str:
        """Makes a write without a period, which takes a value from the stack.

        The real kernel is asked what that was; such a write kills none.
        Where it refuses for its tasks (EBUSY) that was a good period.
        """
        assert isinstance(self.kernel, rt_max.Kernel)
        found = outcome(real)
        if found == 'ok':
            self.kernel.omitted_us = int(self.files.read(path).split()[1])
        else:
            self.kernel.omitted_us = 0 if found == 'EBUSY' else type(
                self.kernel).omitted_us
        return self._judge(what, group, found, outcome(emulate))

    @staticmethod
    def _write(path: str, text: str) -> None:
        data = text.encode() + b'\n'
        handle = os.open(path, os.O_WRONLY)
        try:
            if os.write(handle, data) != len(data):
                raise OSError(errno.EINVAL, cgroup.SHORT_WRITE)
        finally:
            os.close(handle)

    def mkdir(self, group: str) -> None:
        if self.both('mkdir', group, *self._mkdir(group)) == 'ok':
            self._hand_on(group)

    def _hand_on(self, group: str) -> None:
        """Lets a group of version 2 hand its controller to its children."""
        if self.version == 2 and group in calls.INNER:
            self.write(paths.SUBTREE, '+cpu', group)

    def rmdir(self, group: str) -> None:
        """Removes a group, unless its budget returns at a random time."""
        if self._holds(group):
            return
        self.both('rmdir', group, lambda: os.rmdir(self._real(group)),
                  lambda: self.kernel.remove(self._emulated(group)))

    def _holds(self, group: str) -> bool:
        held, _ = self.kernel.budgets().get(self.top + group, ((0,), 0))
        return any(runtime > 0 for runtime in held)

    # Tasks.

    def start(self) -> None:
        child = subprocess.Popen(_SLEEPER, start_new_session=True)
        self.children[child.pid] = child
        # The task begins in a group that is not compared: the root on both
        # kernels.
        pathlib.Path(self.mount, self._list).write_text(str(child.pid))
        self.kernel.spawn(child.pid)

    def end(self, thread: int) -> None:
        child = self.children.pop(thread)
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        child.kill()
        child.wait()
        self.kernel.exit(thread)
        self.log.append('end')

    def move(self, thread: int, group: str) -> None:
        self.both(
            'move', group, lambda: pathlib.Path(
                self._real(group, self._list)).write_text(str(thread)),
            lambda: self.kernel.write(self._emulated(group, self._list),
                                      str(thread)))

    def policy(self, thread: int, policy: int, priority: int) -> None:
        self.both(
            f'policy {policy} {priority}', '',
            lambda: os.sched_setscheduler(
                thread, policy, os.sched_param(priority)),
            lambda: self.kernel.set_policy(thread, policy, priority))

    # The end of a sequence, whatever happened in the sequence.

    def clear(self) -> None:
        """:raises OSError: a group stays"""
        for child in self.children.values():
            with contextlib.suppress(OSError):
                os.sched_setscheduler(child.pid, os.SCHED_OTHER,
                                      os.sched_param(0))
            child.kill()
            child.wait()
        self.children.clear()
        for group in (*reversed(calls.GROUPS), ''):
            end = time.monotonic() + 2 * _QUIET_SECONDS
            while os.path.isdir(self._real(group)):
                try:
                    os.rmdir(self._real(group))
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.02)


def campaign(count: int, seed: int) -> dict[str, object]:
    """The report: calls, how many were spared, and disagreements by kind."""
    chosen = random.Random(seed)  # noqa: S311 - not for secrets
    pair = Pair()
    told: collections.Counter[str] = collections.Counter()
    examples: dict[str, list[str]] = {}
    done = spared = 0
    while done < count:
        print(f'{time.monotonic():.3f} {done}', file=sys.stderr, flush=True)
        try:
            pair.begin()
            for _ in range(3):
                pair.start()
            for _ in range(_SEQUENCE):
                calls.one(pair, chosen)
        except Disagreement as error:
            print(error, file=sys.stderr, flush=True)
            told[str(error)] += 1
            examples.setdefault(str(error), pair.log[-12:])
        finally:
            done += len(pair.log)
            spared += sum(each.endswith('spared') for each in pair.log)
            pair.clear()
    return {'interface': pair.name, 'cgroup': pair.version, 'seed': seed,
            'calls': done, 'spared': spared,
            'disagreements': told.total(),
            'sentence': f'{done} calls, {told.total()} disagreements',
            'kinds': dict(told.most_common()), 'examples': examples}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--calls', type=int, default=20_000)
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args(argv)
    privsep.cgroup_pctxt.set_client_mode(False)
    # Ends as after an exception, so that all groups and tasks are removed.
    signal.signal(signal.SIGTERM, lambda *args: sys.exit(1))
    report = campaign(args.calls, args.seed)
    print(json.dumps(report, indent=1))
    return 1 if report['disagreements'] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
