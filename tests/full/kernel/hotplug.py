# SPDX-License-Identifier: Apache-2.0

"""A pCPU goes offline under reservations, and comes back.

Two containers of one pCPU have a reservation: one on the first pCPU, which is
busy, and one on the last pCPU, whose tasks sleep.  The last pCPU goes offline
and comes back; after each step an audit runs as in nova-compute.  As root, on
a host that may die::

    tools/lab.sh KERNEL --cpus 4 -- python -m tests.full.kernel.hotplug

If the kernel refuses to take the pCPU offline, because the other pCPUs cannot
have the bandwidth that is sold, nothing may have changed.  If the kernel does
not return from the write to ``online``, the trial ends at once, and the host
needs a reboot.

Exit status: 0 if both containers hold their reservations in the end, and get
them, and nothing is left; 1 otherwise.
"""

import argparse
from collections.abc import Sequence
import errno
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
from typing import Any

from nova_rt.machine.host import files
from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import reconcile
from rt_operate.doctor.checks import hardware
from rt_operate.doctor import options
from rt_operate.doctor import view
from tests.full.kernel import guests
from tests.full.kernel import host as hosts
from tests.full.kernel import sold as shared

_CPUS = pathlib.Path('/sys/devices/system/cpu')
_RUNTIME_US, _PERIOD_US = 40_000, 100_000
_PATIENCE_SECONDS = 30.0
_RETURNED, _HANGS = 'returned', 'does not return'
#: Writes a word to a file, and exits with the number of the error.
_WRITE = '''
import sys
try:
    with open(sys.argv[2], "w") as file:
        file.write(sys.argv[1])
except OSError as error:
    sys.exit(error.errno)
'''


class Trial:
    """A host, two containers with reservations, and the audit."""

    def __init__(self) -> None:
        self.host, self.machine = hosts.Host.find(), guests.Guests()
        self.audit = reconcile.Reconciler(self.host.enforcer)
        self.last = max(os.sched_getaffinity(0))
        self.sold = [self._start(cpu) for cpu in (0, self.last)]

    def _start(self, cpu: int) -> shared.Sold:
        guest = self.machine.start(1)
        claim = hosts.claim(_RUNTIME_US, _PERIOD_US, cpu)
        self.host.enforcer.apply(guest.pid, claim)
        return shared.Sold(guest, claim, (guest.pid, *guest.threads()))

    def state(self) -> dict[str, Any]:
        """Returns what the host has, for a person."""
        return {
            'online': (_CPUS / 'online').read_text().strip(),
            'offered in ppm': self.host.enforcer.capacity().ppm,
            'holds': [self.host.enforcer.holds(one.guest.pid, one.claim)
                      for one in self.sold],
            'servers': [_servers(one.guest) for one in self.sold],
            'another container': self._another()}

    def _another(self) -> str:
        """Tries one more reservation; returns the outcome."""
        guest = self.machine.start(1)
        try:
            self.host.enforcer.apply(guest.pid, hosts.claim(
                _RUNTIME_US // 4, _PERIOD_US, 0))
            self.host.enforcer.release(guest.pid)
        except exception.RTError as error:
            return str(error)
        finally:
            guest.kill()
            guest.remove()
        return 'got its reservation'

    def correct(self) -> int:
        """Audits the host; returns how many budgets were corrected."""
        self.audit.run(
            [reconcile.RunningGuest(one.guest.name, one.guest.pid,
                                    (one.claim,)) for one in self.sold],
            [one.guest.pid for one in self.sold])
        return self.audit.corrected

    def steps(self) -> dict[str, Any]:
        """Takes the pCPU offline and online; returns what was seen."""
        seen: dict[str, Any] = {'before': self.state()}
        self.sold[1].send(signal.SIGSTOP)
        for name, value in (('offline', 0), ('online', 1)):
            seen[f'{name}: the write'] = outcome = switch(self.last, value)
            if outcome == _HANGS:
                return seen  # All that needs a lock of all CPUs waits, too.
            if outcome != _RETURNED:
                break
            seen[name] = self.state()
            seen[f'{name}: doctor'] = _doctor()
            seen[f'{name}: corrected'] = self.correct()
            seen[f'{name}, after the audit'] = self.state()
        self.sold[1].send(signal.SIGCONT)
        seen['holds'] = self.state()['holds']
        return seen


def _servers(guest: guests.Guest) -> str:
    """Returns the pCPUs on which a group has runtime, and the runtime."""
    local = guest.paths[0] / 'cpu.rt.max.effective.local'
    return '; '.join(line for line in local.read_text().splitlines()
                     if ' runtime=0 ' not in line)


def _doctor() -> list[str]:
    """Returns what doctor says about pCPUs that are offline."""
    host = view.View(files.Host(), options.Options(virt_type='lxc'))
    return [f'{one.level.name}: {one.text}' for one in hardware.offline(host)]


def switch(cpu: int, value: int) -> str:
    """Takes a pCPU offline or online; returns the outcome of the write.

    A process of its own writes.  If the kernel never returns from the write,
    nothing ends this process, and a thread would keep the whole process.
    """
    writer = subprocess.Popen(
        [sys.executable, '-S', '-c', _WRITE, str(value),
         _CPUS / f'cpu{cpu}/online'], start_new_session=True)
    try:
        number = writer.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return _HANGS
    return f'is refused ({errno.errorcode[number]})' if number else _RETURNED


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints two JSON objects, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--tolerance', type=float, default=0.02)
    parsed = parser.parse_args(arguments)
    trial = Trial()
    seen = trial.steps()
    print(json.dumps(seen, indent=1), flush=True)
    if 'holds' not in seen:
        print('The kernel did not return from a write: reboot this host.',
              file=sys.stderr)
        return 1
    held = seen['holds']
    measured = [share for one in trial.sold for share in
                shared.shares([one], parsed.seconds)]
    left = shared.end(trial.host, trial.sold)
    worst = max(abs(share - _RUNTIME_US / _PERIOD_US) for share in measured)
    print(json.dumps({
        'kernel': platform.release(), 'worst': round(worst, 4),
        'shares': [round(share, 4) for share in measured], 'left': left}))
    return int(bool(left) or not all(held) or worst > parsed.tolerance)


if __name__ == '__main__':
    sys.exit(main())
