# SPDX-License-Identifier: Apache-2.0

"""Tests how long an interrupt's thread waits beside a reserved vCPU.

On PREEMPT_RT the handlers of interrupts are tasks.  The test reads a file from
a device whose interrupt comes to the pCPU of a reservation.  Then the test
does word for word what ``nova-rt doctor`` advises, and reads the file again:
beside nothing, beside an ordinary task, and beside a vCPU on the pCPU that the
interrupt has left.  The time beside nothing is the shortest that the lab can
measure: CPUs of the lab take turns, so the thread sometimes waits until the
other CPU has had its turn.  As root, with two CPUs::

    tools/lab.sh debian:13-rt --cpus 2 --icount -- \
        python -m tests.full.kernel.interrupts --seconds 4
"""

import argparse
from collections.abc import Iterator
import contextlib
import io
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from nova_rt.machine.host import files
from nova_rt.machine.host import interrupts
from nova_rt.machine.host import proc
from nova_rt.machine.trial import busy
from rt_operate.commands import main as nova_rt_command
from tests.full.kernel import pinned

#: The longest mean wait in ms beside a vCPU if the advice is followed.
_MOST = 0.1
_PERIOD = 100_000
_BLOCK = 512
_LOOK = 200
_ADVICE = ('interrupts.threads', 'interrupts.default')
_FOLLOWED = '{}, advice followed'


class Device:
    """A file that is read from the device each time, and its interrupt."""

    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_RDONLY)
        before = {each.thread: _waited(each.thread)[1] for each in _all()}
        for _ in range(_LOOK):
            self._read()
        ran = {each.thread: _waited(each.thread)[1] - before[each.thread]
               for each in _all() if each.thread in before}
        self.thread = max(ran, key=ran.__getitem__)
        self.found = next(each for each in _all()
                          if each.thread == self.thread)
        pinned.expect(ran[self.thread] >= _LOOK // 2,
                      f'{path} makes no interrupts: {ran}')

    def _read(self) -> float:
        """Returns the seconds that reading the file took."""
        begin = time.monotonic()
        os.pread(self._handle, _BLOCK, 0)
        return time.monotonic() - begin

    def move(self, cpu: int) -> None:
        """Moves the interrupt and its thread to a CPU."""
        path = f'{interrupts.IRQ}/{self.found.number}/smp_affinity_list'
        pathlib.Path(path).write_text(str(cpu))
        os.sched_setaffinity(self.thread, {cpu})

    def waits(self, seconds: float) -> dict[str, float]:
        """Returns the thread's mean, and the reader's median and maximum."""
        wait, times = _waited(self.thread)
        took = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            took.append(self._read() * 1000)
        later, more = _waited(self.thread)
        return {'mean wait': round((later - wait) / 1e6
                                   / max(1, more - times), 4),
                'times': more - times,
                'median': round(statistics.median(took), 3),
                'longest': round(max(took), 3)}


def _waited(thread: int) -> tuple[int, int]:
    """Returns (ns that the thread waited for its CPU, how often it ran)."""
    text = pathlib.Path(f'/proc/{thread}/schedstat').read_text().split()
    return int(text[1]), int(text[2])


def _all() -> list[interrupts.Interrupt]:
    host = files.Host()
    return list(interrupts.find(host, proc.walk(host).real_time))


@contextlib.contextmanager
def beside(host: pinned.Host, what: str) -> Iterator[None]:
    """Runs nothing, an ordinary busy task, or a vCPU with a share."""
    with contextlib.ExitStack() as stack:
        if what == 'ordinary':
            stack.callback(busy.Busy({host.cpu}, 3600).kill)
        elif what != 'idle':
            guest = stack.enter_context(host.guest())
            host.enforcer.apply(guest.pid, pinned.claim(
                int(float(what) * _PERIOD), _PERIOD, host.cpu))
        yield


def doctor(path: str) -> dict[str, dict[str, Any]]:
    """Returns the doctor's findings on interrupts."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        nova_rt_command.main(['doctor', '-f', 'json', '--config-file', path])
    return {one['id']: one for one
            in json.loads(output.getvalue())['findings']
            if one['id'].startswith('interrupts')}


def follow(path: str) -> dict[str, Any]:
    """Does what the doctor advises, and runs the doctor again."""
    told = doctor(path)
    for name in _ADVICE:
        if told[name]['level'] == 'problem':
            subprocess.run(['/bin/sh', '-c', told[name]['remedy']],
                           check=False, stdout=subprocess.DEVNULL)
    then = doctor(path)
    return {'before': told, 'after': then}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog='python -m tests.full.kernel.interrupts')
    parser.add_argument('--file', default='/lab/settings.sh',
                        help='read from its device each time (default: '
                             '%(default)s, of the lab)')
    parser.add_argument('--seconds', type=float, default=10.0,
                        help='for each figure (default: %(default)s)')
    args = parser.parse_args()
    host = pinned.Host(0.05)
    os.sched_setaffinity(0, {host.cpus[0]})
    device = Device(args.file)
    device.move(host.cpu)
    found: dict[str, Any] = {}
    for what in ('idle', 'ordinary', '0.5', '0.9'):
        with beside(host, what):
            found[what] = device.waits(args.seconds)
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as conf:
        conf.write(f'[nova_rt]\nrt_cpus = {host.cpu}\n'
                   f'[libvirt]\nvirt_type = qemu\n')
        conf.flush()
        told = follow(conf.name)
    for what in ('idle', 'ordinary', '0.9'):
        with beside(host, what):
            found[_FOLLOWED.format(what)] = device.waits(args.seconds)
    host.machines.close()
    wrong = faults(told, found)
    json.dump({'release': platform.release(), 'cpus': len(host.cpus),
               'interrupt': device.found.name, 'ms': found, 'doctor': told,
               'wrong': wrong}, sys.stdout, indent=1)
    print()
    return 1 if wrong else 0


def faults(told: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Returns what is not as it should be.

    :param told: the findings of the doctor, before and after its advice
    :param found: times in ms, by what runs on the pCPU
    """
    wrong = [f'{name} is {told[when][name]["level"]} {when}'
             for when, level in (('before', 'problem'), ('after', 'OK'))
             for name in _ADVICE if told[when][name]['level'] != level]
    wait = found[_FOLLOWED.format('0.9')]['mean wait']
    if wait > _MOST:
        wrong.append(f'the thread waits for {wait} ms with the advice '
                     f'followed, and not for less than {_MOST} ms')
    return wrong


if __name__ == '__main__':
    sys.exit(main())
