# SPDX-License-Identifier: Apache-2.0

"""Runs the paper's noise: periodic tasks of Debian's ``rt-app``."""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import functools
import json
import pathlib
import re
import subprocess
import tempfile

from paper import rtwalk

#: rt-app says at which speed its loop runs, and when a task begins.
_SPEED = re.compile(r'pLoad = (\d+)ns')
_BEGUN = 'starting thread'
#: Ordinary tasks would make the calibration longer, and so each loop shorter.
_UNDISTURBED = ('chrt', '--fifo', '10')


@contextlib.contextmanager
def running(tasks: Sequence[tuple[int, int]], cpu: int) -> Iterator[int]:
    """Runs equal tasks on a CPU; yields the id of their process.

    All threads have begun by then, so that a group gets all of them.

    :param tasks: busy us and period us of each task
    :raises OSError: when rt-app is not installed
    :raises NotReady: when its tasks do not begin
    """
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, 'noise.json')
        path.write_text(json.dumps(configuration(
            tasks, cpu, loop_ns(cpu), folder)))
        with subprocess.Popen(('rt-app', path), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            try:
                begun = (line for line in process.stderr or ()
                         if _BEGUN in line)
                if sum(1 for _, _ in zip(tasks, begun, strict=False)) < len(
                        tasks):
                    raise rtwalk.NotReady(name='rt-app')
                yield process.pid
            finally:
                process.kill()


def configuration(tasks: Sequence[tuple[int, int]], cpu: int,
                  calibration: int | str, folder: str, seconds: int = -1
                  ) -> Mapping[str, object]:
    """Returns the configuration of rt-app for equal tasks.

    :param calibration: ns of its loop, or the name of a CPU to measure it
    :param folder: the directory for the files of rt-app
    :param seconds: how long the tasks run; -1: without end
    """
    busy, period = tasks[0]
    return {
        'global': {'duration': seconds, 'calibration': calibration,
                   'default_policy': 'SCHED_OTHER', 'lock_pages': False,
                   'ftrace': False, 'logdir': folder, 'log_size': 'disable'},
        'tasks': {'noise': {
            'instance': len(tasks), 'loop': -1, 'cpus': [cpu], 'run': busy,
            'timer': {'ref': 'tick', 'period': period,
                      'mode': 'relative'}}}}


@functools.cache
def loop_ns(cpu: int) -> int:
    """Returns the ns that the loop of rt-app takes on a CPU.

    :raises NotReady: when rt-app does not say it
    """
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, 'calibration.json')
        path.write_text(json.dumps(configuration(
            [(1, 1000)], cpu, f'CPU{cpu}', folder, seconds=1)))
        said = subprocess.run(
            (*_UNDISTURBED, 'rt-app', path), text=True, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    found = _SPEED.search(said)
    if found is None:
        raise rtwalk.NotReady(name='the calibration of rt-app')
    return int(found[1])
