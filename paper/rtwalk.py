# SPDX-License-Identifier: Apache-2.0

"""Runs ``rt-walk``: its server, its client and its noise."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses
import pathlib
import subprocess
import tempfile

import numpy as np

from nova_rt.rules import exception
from paper import samples
from paper import workload as rt_workload

_HERE = pathlib.Path(__file__).parent
PROGRAM = _HERE / 'build' / 'rt-walk'
#: The program is static, so that it runs in a container without other files.
_COMPILE = ('gcc', '-std=c17', '-D_DEFAULT_SOURCE', '-O2', '-Wall', '-Wextra',
            '-Wconversion', '-Werror', '-static')


class NotReady(exception.RTError):
    """A program that measures or is measured does not start."""

    msg_fmt = '%(name)s does not start.'


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """The address at which a server listens.

    :param prefix: a command that runs another command where clients are
    """

    address: str = '127.0.0.1'
    port: int = 7000
    prefix: tuple[str, ...] = ()


def build() -> None:
    """Compiles PROGRAM.

    :raises subprocess.CalledProcessError: when gcc fails; gcc says why
    """
    PROGRAM.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=PROGRAM.parent) as scratch:
        built = pathlib.Path(scratch) / PROGRAM.name
        subprocess.run([*_COMPILE, '-o', built,
                        *(_HERE / 'rt-walk').glob('*.c')], check=True)
        built.replace(PROGRAM)


@contextlib.contextmanager
def running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Runs a process until the end of the block."""
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def server(endpoint: Endpoint, prefix: Sequence[str] = ()) -> Iterator[int]:
    """Runs a server; yields its process id when the server is ready.

    :param prefix: a command that starts the server
    :raises NotReady: when the server does not start
    """
    with running([*prefix, str(PROGRAM), 'server', endpoint.address,
                  str(endpoint.port)]) as process:
        if not process.stdout or process.stdout.readline() != 'ready\n':
            raise NotReady(name='the server of rt-walk')
        yield process.pid


def ask(endpoint: Endpoint, workload: rt_workload.Workload, requests: int,
        seed: int, prefix: Sequence[str]) -> samples.Samples:
    """Sends requests from a client, started by *prefix*.

    :raises subprocess.CalledProcessError: when the client fails; the client
        says why
    """
    schedule = workload.schedule(requests, seed)
    done = subprocess.run(
        [*endpoint.prefix, *prefix, str(PROGRAM), 'client', endpoint.address,
         str(endpoint.port), workload.transport, str(workload.clients)],
        input=_lines(schedule), stdout=subprocess.PIPE, text=True, check=True)
    return _samples(schedule, done.stdout)


def paced(workload: rt_workload.Workload, requests: int, seed: int,
          enter: Callable[[int], None]) -> samples.Samples:
    """Runs a server whose requests come by its own clock, without a client.

    :param enter: is called with the process id before the first request
    :raises NotReady: when the server fails
    """
    schedule = workload.schedule(requests, seed)
    with subprocess.Popen([str(PROGRAM), 'paced'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            enter(process.pid)
            said, _ = process.communicate(_lines(schedule))
        finally:
            process.kill()
    if process.returncode:
        raise NotReady(name='the paced server of rt-walk')
    return _samples(schedule, said)


def _lines(schedule: rt_workload.Integers) -> str:
    return '\n'.join(' '.join(map(str, row)) for row in schedule.tolist())


def _samples(schedule: rt_workload.Integers, said: str) -> samples.Samples:
    return samples.Samples(
        schedule, np.array(said.split(), np.int64).reshape(-1, 3))
